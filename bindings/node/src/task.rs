//! Work on Node's thread pool, for the promise form of every operation.
//!
//! Writes are counted per JavaScript thread and collection. An open batch makes them wait. A
//! JavaScript thread that is terminated while it fills a batch waits for its work before the batch
//! can be dropped, so it would wait forever. So a batch opens only after the thread's writes to its
//! collection are done, and no write begins while it is open.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use folio::Result;
use napi::bindgen_prelude::{AsyncTask, ToNapiValue, TypeName};
use napi::{Env, Task};

use crate::error::{closed, thrown};

type Job<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// One call of the facade, to be made on another thread.
pub struct Work<T> {
    job: Option<Job<T>>,
    /// Held by a write until it is done.
    under_way: Option<UnderWay>,
}

impl<T: ToNapiValue + TypeName + Send + 'static> Task for Work<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        let job = self.job.take().ok_or_else(|| closed("the work was done already"))?;
        let done = job().map_err(thrown);
        self.under_way = None;
        done
    }

    fn resolve(&mut self, _env: Env, output: T) -> napi::Result<T> {
        Ok(output)
    }
}

/// A promise of the job's result.
pub(crate) fn promise<T>(job: impl FnOnce() -> Result<T> + Send + 'static) -> AsyncTask<Work<T>>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    AsyncTask::new(Work { job: Some(Box::new(job)), under_way: None })
}

/// A promise of the result of a write to a collection, or to all of them if the name is empty.
pub(crate) fn promise_write<T>(
    collection: &str,
    job: impl FnOnce() -> Result<T> + Send + 'static,
) -> AsyncTask<Work<T>>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    let writes = Writes::of(collection);
    if writes.filling_count.load(Ordering::Relaxed) > 0 {
        let text = "putMany is storing a batch in this thread; write after it is done";
        return promise(move || Err(folio::Error::Invalid(text.to_owned())));
    }
    *writes.count() += 1;
    AsyncTask::new(Work { job: Some(Box::new(job)), under_way: Some(UnderWay(writes)) })
}

thread_local! {
    /// The writes of this JavaScript thread, by the name of the collection.
    static WRITES: RefCell<HashMap<String, Arc<Writes>>> = RefCell::default();
}

#[derive(Default)]
struct Writes {
    under_way: Mutex<usize>,
    done: Condvar,
    /// The number of batches being filled.
    filling_count: AtomicUsize,
}

impl Writes {
    fn of(collection: &str) -> Arc<Self> {
        WRITES.with_borrow_mut(|all| Arc::clone(all.entry(collection.to_owned()).or_default()))
    }

    fn count(&self) -> MutexGuard<'_, usize> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) {
        drop(self.done.wait_while(self.count(), |count| *count > 0));
    }
}

/// One unfinished write.
struct UnderWay(Arc<Writes>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.done.notify_all();
    }
}

/// Marks that this JavaScript thread is filling a batch of a collection.
pub(crate) struct Filling([Arc<Writes>; 2]);

impl Filling {
    /// Waits for the writes of this thread to the collection.
    pub(crate) fn begin(collection: &str) -> Self {
        let writes = [Writes::of(collection), Writes::of("")];
        for writes in &writes {
            writes.wait();
            writes.filling_count.fetch_add(1, Ordering::Relaxed);
        }
        Self(writes)
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        for writes in &self.0 {
            writes.filling_count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
