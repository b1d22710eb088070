//! Work on Node's thread pool, for the promise twin of every operation.

use folio::Result;
use napi::bindgen_prelude::{AsyncTask, ToNapiValue, TypeName};
use napi::{Env, Task};

use crate::error::{closed, thrown};

type Job<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// One call of the facade, to be made on another thread.
pub struct Work<T>(Option<Job<T>>);

impl<T: ToNapiValue + TypeName + Send + 'static> Task for Work<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        let job = self.0.take().ok_or_else(|| closed("the work was done already"))?;
        job().map_err(thrown)
    }

    fn resolve(&mut self, _env: Env, output: T) -> napi::Result<T> {
        Ok(output)
    }
}

/// A promise of what the job answers.
pub(crate) fn promise<T>(job: impl FnOnce() -> Result<T> + Send + 'static) -> AsyncTask<Work<T>>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    AsyncTask::new(Work(Some(Box::new(job))))
}
