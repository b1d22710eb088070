//! `get` as a plain Node-API function.
//!
//! A lookup takes less than a microsecond. The checks around a method of a class (its tag, its
//! wrapped pointer, its borrow state) would take a third of that. So the hot path is a function
//! that has its collection as data and reads the id into a buffer on the stack.

#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use folio::Collection;
use folio::json::ID_PREFIX;
use napi::{Env, Unknown, check_status, sys};

use crate::error::thrown;
use crate::lines::push_document;
use crate::shape::Marker;
use crate::text::create_string;

/// Longer than any valid id, so that a truncated id is invalid.
const ID_SIZE: usize = 1024;

/// The data of the function.
struct Lookup {
    collection: Collection,
    marker: Option<Marker>,
}

/// A function that returns the text of a document, `_id` first, or undefined. The marker, if there
/// is one, marks each returned document.
pub(crate) fn function(
    env: &Env,
    collection: Collection,
    marker: Option<Marker>,
) -> napi::Result<Unknown<'_>> {
    let lookup = Box::new(Lookup { collection, marker });
    let data = Box::into_raw(lookup).cast::<c_void>();
    let mut value = ptr::null_mut();
    // SAFETY: `env` is live; `data` is the box above, which `call` borrows and
    // `finalize` frees once the function is garbage.
    let status = unsafe {
        let created =
            sys::napi_create_function(env.raw(), c"get".as_ptr(), 3, Some(call), data, &mut value);
        if created == sys::Status::napi_ok {
            let (hint, reference) = (ptr::null_mut(), ptr::null_mut());
            sys::napi_add_finalizer(env.raw(), value, data, Some(finalize), hint, reference)
        } else {
            created
        }
    };
    if status != sys::Status::napi_ok {
        // SAFETY: without a finalizer the box is still ours alone; the function,
        // if there is one, has not been handed to anybody.
        drop(unsafe { Box::from_raw(data.cast::<Lookup>()) });
    }
    check_status!(status, "cannot create a function")?;
    // SAFETY: `value` was made in this environment just now.
    Ok(unsafe { Unknown::from_raw_unchecked(env.raw(), value) })
}

/// # Safety
/// Called by Node only, with what [`function`] gave it.
unsafe extern "C" fn finalize(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: `data` is the box of `function`, and this its only end.
    drop(unsafe { Box::from_raw(data.cast::<Lookup>()) });
}

/// # Safety
/// Called by Node only, as the function made by [`function`].
unsafe extern "C" fn call(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let mut id = [MaybeUninit::uninit(); ID_SIZE];
    // SAFETY: `env` and `info` are those of the running call.
    let Some((id, data)) = (unsafe { argument(env, info, &mut id) }) else {
        // SAFETY: as above.
        return unsafe { throw(env, "invalid_input: document id must be a string") };
    };
    // SAFETY: `data` is the box of `function`. The function is being called, so it
    // is no garbage, and nobody changes the box.
    let lookup = unsafe { &*data.cast::<Lookup>() };
    let id = String::from_utf8_lossy(id);
    match lookup.text_of(&id) {
        // SAFETY: `env` is that of the running call.
        Ok(Some(text)) => unsafe { create_string(env, &text) }.unwrap_or(ptr::null_mut()),
        Ok(None) => ptr::null_mut(),
        // SAFETY: as above.
        Err(error) => unsafe { throw(env, &thrown(error).reason) },
    }
}

/// Reads the one argument into `id`; what it holds then, and the data of the function.
///
/// # Safety
/// `env` and `info` are those of the running call.
unsafe fn argument(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    id: &mut [MaybeUninit<u8>; ID_SIZE],
) -> Option<(&[u8], *mut c_void)> {
    let (mut count, mut value, mut data) = (1, ptr::null_mut(), ptr::null_mut());
    let mut size = 0;
    // SAFETY: the out pointers are live, there is room for one argument, and for
    // `ID_SIZE` bytes with the terminating zero, of which the call fills `size`.
    unsafe {
        let this = ptr::null_mut();
        sys::napi_get_cb_info(env, info, &mut count, &mut value, this, &mut data);
        let start = id.as_mut_ptr().cast::<c_char>();
        let status = sys::napi_get_value_string_utf8(env, value, start, ID_SIZE, &mut size);
        let is_read = status == sys::Status::napi_ok && !data.is_null();
        is_read.then(|| (id[..size].assume_init_ref(), data))
    }
}

/// # Safety
/// `env` is that of the running call.
unsafe fn throw(env: sys::napi_env, text: &str) -> sys::napi_value {
    let text = CString::new(text.replace('\0', "")).unwrap_or_default();
    // SAFETY: `text` ends in a zero and outlives the call.
    unsafe { sys::napi_throw_error(env, ptr::null(), text.as_ptr()) };
    ptr::null_mut()
}

impl Lookup {
    fn text_of(&self, id: &str) -> folio::Result<Option<Vec<u8>>> {
        let Some(document) = self.collection.get(id)? else { return Ok(None) };
        let mut text = document.into_raw().into_bytes();
        if !text.starts_with(ID_PREFIX.as_bytes()) {
            let line = std::mem::take(&mut text);
            push_document(&line, false, &mut text)?;
        }
        if let Some(marker) = &self.marker {
            marker.mark_one(&text);
        }
        Ok(Some(text))
    }
}
