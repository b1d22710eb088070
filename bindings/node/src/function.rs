//! JavaScript functions that statements call.
//!
//! A JavaScript function can only run on its own thread. That thread has its functions in a table;
//! a statement has the number of one. A statement that runs on this thread calls it directly. One
//! that runs elsewhere, for a promise, is refused: it would have to wait for this thread, which may
//! be waiting for it, or for a lock that it holds.
//!
//! Arguments are passed as a JSON array in the form of [`crate::value`]. `../lib/function.js`
//! returns `v` and a value in the form of [`crate::parameter`], or `e` and the exception.

#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, ThreadId};

use folio::{ColumnType, Error, ScalarFunction, Value, parse_type, returned_value};
use napi::bindgen_prelude::{JsValue, Unknown};
use napi::{Env, check_status, sys};

use crate::error::thrown;
use crate::parameter::answered;
use crate::text::create_string;
use crate::value::push_values;

thread_local! {
    /// The functions of this JavaScript thread, by number. They are freed explicitly, because the
    /// JavaScript environment ends before its thread.
    static FUNCTIONS: RefCell<HashMap<u64, Held>> = RefCell::default();
    /// Numbers that no statement uses any more.
    static GONE: Arc<Mutex<Vec<u64>>> = Arc::default();
    static NEXT: Cell<u64> = const { Cell::new(0) };
    /// The number of running calls.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A function, as a Node-API reference.
#[derive(Clone, Copy)]
struct Held {
    env: sys::napi_env,
    reference: sys::napi_ref,
}

/// A statement's handle of a function.
struct Ticket {
    thread: ThreadId,
    number: u64,
    gone: Arc<Mutex<Vec<u64>>>,
}

impl Drop for Ticket {
    /// May run on any thread: only notes the number, which is freed on the function's thread.
    fn drop(&mut self) {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

/// The function for SQL, with the names of its types.
///
/// # Errors
/// `syntax` for an invalid type name.
pub(crate) fn scalar_function(
    env: &Env,
    name: String,
    (parameters, returns): (Vec<String>, String),
    (is_volatile, takes_null): (bool, bool),
    called: &Unknown<'_>,
) -> napi::Result<ScalarFunction> {
    let type_of = |name: &String| parse_type(name).map_err(|error| thrown(error.into()));
    let parameters = parameters.iter().map(type_of).collect::<napi::Result<Vec<_>>>()?;
    let returns = type_of(&returns)?;
    let ticket = keep(env, called)?;
    let (takes, answers) = (parameters.clone(), returns.clone());
    let body = Arc::new(move |arguments: &[Value]| {
        let mut text = String::new();
        push_values(arguments, &takes, &mut text);
        value_of(&ticket.call(&text)?, &answers)
    });
    let on_one_thread = true;
    Ok(ScalarFunction { name, parameters, returns, is_volatile, takes_null, on_one_thread, body })
}

/// Adds a function to the table of this thread.
fn keep(env: &Env, called: &Unknown<'_>) -> napi::Result<Ticket> {
    free_gone();
    let (env, mut reference) = (env.raw(), ptr::null_mut());
    // SAFETY: `env` is that of the running call, of which `called` is an argument.
    let status = unsafe { sys::napi_create_reference(env, called.raw(), 1, &mut reference) };
    check_status!(status, "cannot store a function")?;
    let number = NEXT.replace(NEXT.get() + 1);
    FUNCTIONS.with_borrow_mut(|all| all.insert(number, Held { env, reference }));
    Ok(Ticket { thread: thread::current().id(), number, gone: GONE.with(Arc::clone) })
}

/// Frees the functions of this thread that no statement uses any more.
pub(crate) fn free_gone() {
    let gone =
        GONE.with(|gone| std::mem::take(&mut *gone.lock().unwrap_or_else(PoisonError::into_inner)));
    for number in gone {
        if let Some(Held { env, reference }) = FUNCTIONS.with_borrow_mut(|all| all.remove(&number))
        {
            // SAFETY: the environment is that of this thread, which runs JavaScript now;
            // the reference was made in it, and is in nobody's hands any more.
            unsafe { sys::napi_delete_reference(env, reference) };
        }
    }
}

impl Ticket {
    /// Calls the function with the text of its arguments, and returns the text of its result.
    fn call(&self, arguments: &str) -> Result<String, String> {
        if self.thread != thread::current().id() {
            return Err("it is a JavaScript function, which runs only on the thread that \
                        registered it; call sql there instead of sqlAsync, and read the rows with \
                        for or toArray"
                .to_owned());
        }
        let held = FUNCTIONS.with_borrow(|all| all.get(&self.number).copied());
        let held = held.ok_or("it no longer exists")?;
        DEPTH.set(DEPTH.get() + 1);
        // SAFETY: this is the thread of the environment, and a call from JavaScript is what
        // runs statements here.
        let answer = unsafe { held.call(arguments) };
        DEPTH.set(DEPTH.get() - 1);
        answer.ok_or_else(|| "it could not be called; is its thread ending?".to_owned())
    }
}

impl Held {
    /// # Safety
    /// The thread is that of the environment, inside of a call from JavaScript.
    unsafe fn call(self, arguments: &str) -> Option<String> {
        let env = self.env;
        let mut scope = ptr::null_mut();
        // SAFETY: as the caller says; what is made is of this scope, and not used behind it.
        unsafe {
            if sys::napi_open_handle_scope(env, &mut scope) != sys::Status::napi_ok {
                return None;
            }
            let answer = self.call_in_scope(arguments);
            if answer.is_none() {
                let (mut is_pending, mut error) = (false, ptr::null_mut());
                sys::napi_is_exception_pending(env, &mut is_pending);
                if is_pending {
                    sys::napi_get_and_clear_last_exception(env, &mut error);
                }
            }
            sys::napi_close_handle_scope(env, scope);
            answer
        }
    }

    /// # Safety
    /// As [`Held::call`], with a scope open.
    unsafe fn call_in_scope(self, arguments: &str) -> Option<String> {
        let Self { env, reference } = self;
        let (mut function, mut this) = (ptr::null_mut(), ptr::null_mut());
        let (mut answer, mut size) = (ptr::null_mut(), 0);
        let is_ok = |status| status == sys::Status::napi_ok;
        // SAFETY: as the caller says; the out pointers are live, and `bytes` has room for
        // the text and the zero behind it.
        unsafe {
            let argument = create_string(env, arguments.as_bytes()).ok()?;
            let is_called = is_ok(sys::napi_get_reference_value(env, reference, &mut function))
                && is_ok(sys::napi_get_undefined(env, &mut this))
                && is_ok(sys::napi_call_function(env, this, function, 1, &argument, &mut answer))
                && is_ok(sys::napi_get_value_string_utf8(
                    env,
                    answer,
                    ptr::null_mut(),
                    0,
                    &mut size,
                ));
            if !is_called {
                return None;
            }
            let mut bytes = vec![0_u8; size + 1];
            let start = bytes.as_mut_ptr().cast();
            let status =
                sys::napi_get_value_string_utf8(env, answer, start, bytes.len(), &mut size);
            bytes.truncate(size);
            is_ok(status).then(|| String::from_utf8_lossy(&bytes).into_owned())
        }
    }
}

/// Converts the text returned by JavaScript to a value of the type.
fn value_of(text: &str, returns: &ColumnType) -> Result<Value, String> {
    let Some(json) = text.strip_prefix('v') else {
        return Err(text.get(1..).unwrap_or_default().to_owned());
    };
    match answered(json).map_err(|text| format!("its result {text}"))? {
        (value, Some(ty)) => returned_value(&value, &ty, returns)
            .map_err(|error| format!("its result has another type: {error}")),
        (value, None) => Ok(value),
    }
}

/// Whether statements may call functions of this thread.
pub(crate) fn has_functions() -> bool {
    FUNCTIONS.with_borrow(|all| !all.is_empty())
}

/// Whether a statement on this thread is calling a function.
pub(crate) fn is_under_way() -> bool {
    DEPTH.get() > 0
}

/// Locks the state of a statement. A function called by a statement cannot wait for that statement.
///
/// # Errors
/// `invalid_input` where it would have to wait.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> folio::Result<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Ok(guard),
        // A panic elsewhere leaves a session usable: its statements are atomic.
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) if is_under_way() => Err(Error::Invalid(
            "a statement that calls this function is still running; use another session".to_owned(),
        )),
        Err(TryLockError::WouldBlock) => Ok(mutex.lock().unwrap_or_else(PoisonError::into_inner)),
    }
}
