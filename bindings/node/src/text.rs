//! Text as JavaScript strings.

#![allow(unsafe_code)]

use std::ptr;

use napi::bindgen_prelude::{ToNapiValue, TypeName};
use napi::{ValueType, check_status, sys};

/// JSON text to be converted to a JavaScript string.
///
/// V8 stores a string as one byte per character if possible. ASCII is passed as Latin-1, which is a
/// copy; the rest goes through the UTF-8 decoder.
#[derive(Debug, Default)]
pub struct Text(pub(crate) Vec<u8>);

impl Text {
    /// Text that is valid UTF-8 by its type.
    pub(crate) fn of(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl TypeName for Text {
    fn type_name() -> &'static str {
        "string"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ToNapiValue for Text {
    #[inline]
    unsafe fn to_napi_value(env: sys::napi_env, text: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: the caller vouches for `env`, as the trait asks.
        unsafe { ToNapiValue::to_napi_value(env, &text) }
    }
}

impl ToNapiValue for &Text {
    #[inline]
    unsafe fn to_napi_value(env: sys::napi_env, text: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: as above.
        unsafe { create_string(env, &text.0) }
    }
}

/// A JavaScript string from UTF-8 text; invalid bytes become replacement characters.
///
/// # Safety
/// `env` is the environment of the running call.
#[inline]
pub(crate) unsafe fn create_string(
    env: sys::napi_env,
    text: &[u8],
) -> napi::Result<sys::napi_value> {
    let (start, size) = (text.as_ptr().cast(), text.len() as isize);
    let mut value = ptr::null_mut();
    // SAFETY: `start` and `size` describe a live slice, which V8 copies from before
    // the call returns.
    let status = unsafe {
        if text.is_ascii() {
            sys::napi_create_string_latin1(env, start, size, &mut value)
        } else {
            sys::napi_create_string_utf8(env, start, size, &mut value)
        }
    };
    check_status!(
        status,
        "invalid_input: {size} bytes do not fit a JavaScript string; read the document with another tool"
    )?;
    Ok(value)
}
