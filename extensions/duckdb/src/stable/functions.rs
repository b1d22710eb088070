//! The scalar functions in the stable interface.

use super::value::LogicalType;
use super::value::c_string;
use super::vector::Vector;
use crate::functions::{FUNCTIONS, Function};
use crate::guard::guard;
use libduckdb_sys as duckdb;

/// Registers all functions.
///
/// # Safety
///
/// `connection` is valid.
pub(crate) unsafe fn register(connection: duckdb::duckdb_connection) -> Result<(), String> {
    for function in &FUNCTIONS {
        // SAFETY: the connection is valid; DuckDB copies types and names; the function is released;
        // what it is told to keep lives as long as the library.
        let state = unsafe {
            let mut made = duckdb::duckdb_create_scalar_function();
            duckdb::duckdb_scalar_function_set_name(made, c_string(function.name).as_ptr());
            for kind in function.parameters {
                duckdb::duckdb_scalar_function_add_parameter(made, LogicalType::of_kind(*kind).0);
            }
            let result = LogicalType::of_kind(function.result);
            duckdb::duckdb_scalar_function_set_return_type(made, result.0);
            let own = std::ptr::from_ref(function).cast_mut().cast();
            duckdb::duckdb_scalar_function_set_extra_info(made, own, None);
            duckdb::duckdb_scalar_function_set_function(made, Some(run));
            duckdb::duckdb_scalar_function_set_special_handling(made);
            let state = duckdb::duckdb_register_scalar_function(connection, made);
            duckdb::duckdb_destroy_scalar_function(&mut made);
            state
        };
        if state != duckdb::duckdb_state_DuckDBSuccess {
            return Err(format!("cannot register {}", function.name));
        }
    }
    Ok(())
}

unsafe extern "C" fn run(
    info: duckdb::duckdb_function_info,
    chunk: duckdb::duckdb_data_chunk,
    output: duckdb::duckdb_vector,
) {
    // SAFETY: DuckDB passes a valid chunk of flat vectors, one for each parameter, a vector of the
    // results with room for them, and the function that was registered.
    let done = guard(|| unsafe {
        let function = &*duckdb::duckdb_scalar_function_get_extra_info(info).cast::<Function>();
        let count = duckdb::duckdb_data_chunk_get_size(chunk) as usize;
        let vector = |index| Vector(duckdb::duckdb_data_chunk_get_vector(chunk, index as u64));
        let arguments: Vec<Vector> = (0..function.parameters.len()).map(vector).collect();
        (function.body)(&arguments, count, Vector(output))
    });
    if let Err(message) = done {
        // SAFETY: `info` is valid during the call; the message is copied.
        unsafe { duckdb::duckdb_scalar_function_set_error(info, c_string(&message).as_ptr()) }
    }
}
