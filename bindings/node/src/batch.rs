//! Atomic batches: many documents as JSON arrays, or collected changes.
//!
//! While JavaScript writes the text of the next array, a thread of the batch parses the previous
//! one and appends it. The first array is processed on the caller's thread: most batches have no
//! second one, and a thread costs more than that. An error in an array is reported with the next
//! one, or at the commit.
//!
//! An open batch makes other writers wait. So JavaScript must never be responsible for ending one:
//! it might be awaiting something that waits for the batch. `putMany` opens and ends it in one
//! call, and `batch()` collects its changes in JavaScript.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use folio::{Batch, BatchCounts, Collection, Result};
use napi_derive::napi;

use crate::error::{closed, thrown};
use crate::report::NativeCounts;
use crate::task::Filling;

/// The capacity of the thread's queue: enough that neither side waits, and small enough to limit
/// memory.
const QUEUE_COUNT: usize = 8;

/// An open batch. It ends by `commit` or `rollback`, not by being forgotten: nobody
/// knows when the collector would come, and writers wait until then.
#[napi]
pub struct NativeBatch {
    state: State,
    id_field: Option<String>,
    filling: Option<Filling>,
}

enum State {
    /// No array or one so far.
    Here(Box<Batch>),
    Threaded(Filler),
    Ended,
}

/// The thread that fills a batch.
struct Filler {
    arrays: SyncSender<String>,
    /// The batch was abandoned: queued arrays need not be stored.
    is_given_up: Arc<AtomicBool>,
    thread: JoinHandle<Result<Batch>>,
}

impl Filler {
    fn start(batch: Batch, id_field: Option<String>) -> std::io::Result<Self> {
        let (arrays, queue) = sync_channel::<String>(QUEUE_COUNT);
        let is_given_up = Arc::new(AtomicBool::new(false));
        let has_ended = Arc::clone(&is_given_up);
        let thread = thread::Builder::new().name("foliodb-batch".to_owned());
        let thread = thread.spawn(move || {
            let wanted = queue.into_iter().take_while(|_| !has_ended.load(Ordering::Relaxed));
            put_arrays(batch, wanted, id_field.as_deref())
        })?;
        Ok(Self { arrays, is_given_up, thread })
    }

    /// Waits for the queued arrays, and returns the batch.
    fn finish(self) -> napi::Result<Batch> {
        drop(self.arrays);
        let batch = self.thread.join().map_err(|_| closed("the batch was abandoned"))?;
        batch.map_err(thrown)
    }
}

impl NativeBatch {
    /// Opens a batch, after the writes of this thread are done.
    pub(crate) fn begin(collection: &Collection, id_field: Option<String>) -> Result<Self> {
        let filling = Some(Filling::begin(collection.name()));
        let state = State::Here(Box::new(collection.batch()?));
        Ok(Self { state, id_field, filling })
    }

    /// Waits for the thread, if there is one, and returns the batch, which is ended then.
    fn take(&mut self) -> napi::Result<Batch> {
        match mem::replace(&mut self.state, State::Ended) {
            State::Here(batch) => Ok(*batch),
            State::Threaded(filler) => filler.finish(),
            State::Ended => Err(closed("the batch has ended")),
        }
    }

    /// Undoes the batch, if it has not ended. Its thread has stopped afterwards.
    fn give_up(&mut self) {
        match mem::replace(&mut self.state, State::Ended) {
            State::Here(batch) => drop(batch),
            State::Threaded(filler) => {
                filler.is_given_up.store(true, Ordering::Relaxed);
                drop(filler.finish());
            }
            State::Ended => {}
        }
        self.filling = None;
    }
}

/// A worker terminated in the middle of `putMany` runs no `finally`. The batch then ends with its
/// environment, which waits for all writes to stop.
impl Drop for NativeBatch {
    fn drop(&mut self) {
        self.give_up();
    }
}

#[napi]
impl NativeBatch {
    /// Adds the documents of a JSON array.
    #[napi]
    pub fn put_array(&mut self, json: String) -> napi::Result<()> {
        match &mut self.state {
            State::Here(batch) if batch.size() == 0 => {
                batch.put_array(&json, self.id_field.as_deref()).map_err(thrown)
            }
            State::Here(_) => {
                let filler =
                    Filler::start(self.take()?, self.id_field.clone()).map_err(|error| {
                        closed(format!("cannot start a thread for the batch: {error}"))
                    })?;
                self.state = State::Threaded(filler);
                self.put_array(json)
            }
            State::Threaded(filler) => match filler.arrays.send(json) {
                Ok(()) => Ok(()),
                Err(_) => self.take().map(drop), // the thread has ended early: why, it says here
            },
            State::Ended => Err(closed("the batch has ended")),
        }
    }

    /// Stores the batch.
    #[napi]
    pub fn commit(&mut self) -> napi::Result<NativeCounts> {
        let batch = self.take();
        self.filling = None;
        batch?.commit().map(Into::into).map_err(thrown)
    }

    /// Undoes the batch, if it has not ended.
    #[napi]
    pub fn rollback(&mut self) {
        self.give_up();
    }
}

fn put_arrays(
    mut batch: Batch,
    arrays: impl IntoIterator<Item = String>,
    id_field: Option<&str>,
) -> Result<Batch> {
    for array in arrays {
        batch.put_array(&array, id_field)?;
    }
    Ok(batch)
}

/// Stores arrays as one batch.
pub(crate) fn put_all(
    collection: &Collection,
    arrays: Vec<String>,
    id_field: Option<&str>,
) -> Result<BatchCounts> {
    put_arrays(collection.batch()?, arrays, id_field)?.commit()
}

/// Stores collected changes as one batch: an id with a text is put, one without is deleted.
pub(crate) fn apply(
    collection: &Collection,
    ids: &[String],
    texts: &[Option<String>],
) -> Result<BatchCounts> {
    let mut batch = collection.batch()?;
    for (id, text) in ids.iter().zip(texts) {
        match text {
            Some(text) => batch.put_raw(Some(id), text)?,
            None => batch.delete(id)?,
        }
    }
    batch.commit()
}
