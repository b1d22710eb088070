//! The scalar functions in the pinned interface.

use super::scope::{Scope, call, get, str_of};
use super::value::LogicalType;
use super::vector::Vector;
use crate::functions::{FUNCTIONS, Function};
use libduckdb_sys::v2 as duckdb;
use std::ptr::null_mut;

/// Registers all functions.
///
/// # Safety
///
/// `extension` is the one being loaded.
pub(super) unsafe fn register(
    scope: Scope,
    extension: duckdb::duckdb_v2_extension_handle,
) -> Result<(), String> {
    for function in &FUNCTIONS {
        // SAFETY: the caller's promise; the function is released.
        unsafe {
            let mut made = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_scalar_function_create(scope.factory, out, error)
            })?;
            let registered = describe(made, function).and_then(|()| {
                call(|error| {
                    duckdb::duckdb_v2_extension_register_scalar_function(extension, made, error)
                })
            });
            duckdb::duckdb_v2_scalar_function_destroy(&mut made);
            registered.map_err(|why| format!("cannot register {}: {why}", function.name))?;
        }
    }
    Ok(())
}

/// # Safety
///
/// `made` is valid.
unsafe fn describe(
    made: duckdb::duckdb_v2_scalar_function_handle,
    function: &'static Function,
) -> Result<(), String> {
    // SAFETY: the caller's promise; DuckDB copies texts and types; what it is told to keep lives as
    // long as the library.
    unsafe {
        let name = str_of(function.name);
        call(|error| duckdb::duckdb_v2_scalar_function_set_name(made, &name, error))?;
        let signature = get(null_mut(), |out, error| {
            duckdb::duckdb_v2_scalar_function_get_signature(made, out, error)
        })?;
        for (index, kind) in function.parameters.iter().enumerate() {
            let (own, name) = (LogicalType::of_kind(*kind)?, format!("argument_{index}"));
            let kind = duckdb::DUCKDB_V2_FUNCTION_PARAMETER_KIND::DUCKDB_V2_FUNCTION_PARAMETER_KIND_POSITIONAL_ONLY;
            let name = str_of(&name);
            call(|error| {
                duckdb::duckdb_v2_function_signature_add_parameter(
                    signature,
                    &name,
                    own.0,
                    null_mut(),
                    kind,
                    error,
                )
            })?;
        }
        let result = LogicalType::of_kind(function.result)?;
        call(|error| {
            duckdb::duckdb_v2_function_signature_set_return_type(signature, result.0, error)
        })?;
        let mut own = duckdb::duckdb_v2_opaque {
            ptr: std::ptr::from_ref(function).cast_mut().cast(),
            destroy: None,
            equals: None,
        };
        call(|error| duckdb::duckdb_v2_scalar_function_set_user_data(made, &mut own, error))?;
        call(|error| {
            let key =
                duckdb::DUCKDB_V2_FUNCTION_PROPERTY_KEY::DUCKDB_V2_FUNCTION_PROPERTY_NULL_HANDLING;
            let value = duckdb::DUCKDB_V2_FUNCTION_PROPERTY_VALUE::DUCKDB_V2_FUNCTION_PROPERTY_NULL_HANDLING_SPECIAL;
            duckdb::duckdb_v2_scalar_function_set_property(made, key, value, error)
        })?;
        call(|error| duckdb::duckdb_v2_scalar_function_set_exec_callback(made, Some(run), error))
    }
}

unsafe extern "C" fn run(
    info: duckdb::duckdb_v2_scalar_function_exec_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call, and it hands on the function that was
    // registered.
    unsafe {
        Scope::run(context, error, |_| {
            let function = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_scalar_function_exec_get_user_data(info, out, error)
            })?;
            let function = &*function.cast::<Function>();
            let count = get(0, |out, error| {
                duckdb::duckdb_v2_scalar_function_exec_get_row_count(info, out, error)
            })? as usize;
            let argument = |index| {
                let vector = get(null_mut(), |out, error| {
                    duckdb::duckdb_v2_scalar_function_exec_get_arg(info, index, out, error)
                });
                vector.map(Vector)
            };
            let arguments = (0..function.parameters.len() as u64).map(argument);
            let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
            let output = Vector(get(null_mut(), |out, error| {
                duckdb::duckdb_v2_scalar_function_exec_get_result(info, out, error)
            })?);
            output.set_size(count)?;
            (function.body)(&arguments, count, output)
        });
    }
}
