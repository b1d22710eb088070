//! A scan, or the result of a lookup, batch by batch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio::{Documents, Fetched, Result};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::error::thrown;
use crate::lines::Lines;
use crate::shape::NativeShapes;
use crate::task::{Work, promise};
use crate::text::Text;

/// Documents that are read or have been looked up. Batches are taken one after another, from any thread.
#[napi]
pub struct NativeScan {
    lines: Arc<Mutex<Lines>>,
    exact: bool,
}

impl NativeScan {
    pub(crate) fn new(documents: Documents, exact: bool) -> Self {
        Self { lines: Arc::new(Mutex::new(Lines::of_scan(documents))), exact }
    }

    pub(crate) fn of_fetched(fetched: Fetched) -> Self {
        Self { lines: Arc::new(Mutex::new(Lines::of_fetched(fetched))), exact: false }
    }
}

#[napi]
impl NativeScan {
    /// The next documents as a JSON array of about `size` bytes; null at the end.
    #[napi]
    pub fn next_array(&self, size: u32) -> napi::Result<Option<Text>> {
        next_array(&self.lines, size as usize, self.exact).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn next_array_async(&self, size: u32) -> AsyncTask<Work<Option<Text>>> {
        let (lines, exact) = (Arc::clone(&self.lines), self.exact);
        promise(move || next_array(&lines, size as usize, exact))
    }

    /// The next documents: a few with marks, or as an array of at most about `size`
    /// bytes; null at the end.
    #[napi]
    pub fn next_marked(&self, size: u32, shapes: &NativeShapes) -> napi::Result<Option<Text>> {
        let mut lines = lock(&self.lines);
        lines.next_marked(size as usize, &shapes.marker()).map_err(thrown)
    }

    /// The next lines of about `size` bytes, each with its line end; null at the end.
    #[napi]
    pub fn next_lines(&self, size: u32) -> napi::Result<Option<Text>> {
        next_lines(&self.lines, size as usize).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn next_lines_async(&self, size: u32) -> AsyncTask<Work<Option<Text>>> {
        let lines = Arc::clone(&self.lines);
        promise(move || next_lines(&lines, size as usize))
    }
}

fn lock(lines: &Mutex<Lines>) -> MutexGuard<'_, Lines> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

fn next_array(lines: &Mutex<Lines>, size: usize, exact: bool) -> Result<Option<Text>> {
    lock(lines).next_array(size, exact)
}

fn next_lines(lines: &Mutex<Lines>, size: usize) -> Result<Option<Text>> {
    lock(lines).next_lines(size)
}
