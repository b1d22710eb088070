//! Text as JavaScript strings: the one place that calls Node-API itself.

#![allow(unsafe_code)]

use std::ptr;

use napi::bindgen_prelude::{ToNapiValue, TypeName};
use napi::{ValueType, check_status, sys};

/// JSON text that is about to become a JavaScript string.
///
/// V8 keeps a string as one byte per character where it can. ASCII is handed
/// over as Latin-1, which is a copy; the rest goes through the UTF-8 decoder.
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
        let (start, size) = (text.0.as_ptr().cast(), text.0.len() as isize);
        let mut value = ptr::null_mut();
        // SAFETY: `env` is the environment of the running call, as the trait asks;
        // `start` and `size` describe the live vector, which V8 copies from before
        // the call returns. Bytes that are no UTF-8 become replacement characters.
        let status = unsafe {
            if text.0.is_ascii() {
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
}
