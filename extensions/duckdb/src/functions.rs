//! The scalar functions: `to_ion`, `to_ion_binary`, `ion_valid`, `ion_extract`.

use crate::guard::guard;
use crate::host::{LogicalType, c_string};
use crate::path::Path;
use crate::vector_value::{Shape, View};
use folio_ion::read_all;
use folio_ion::write::{BinaryWriter, Layout, TextWriter, to_text};
use libduckdb_sys as duckdb;

const ANY: duckdb::DUCKDB_TYPE = duckdb::DUCKDB_TYPE_DUCKDB_TYPE_ANY;
const VARCHAR: duckdb::DUCKDB_TYPE = duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR;
const BLOB: duckdb::DUCKDB_TYPE = duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BLOB;
const BOOLEAN: duckdb::DUCKDB_TYPE = duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN;

type Callback = unsafe extern "C" fn(
    duckdb::duckdb_function_info,
    duckdb::duckdb_data_chunk,
    duckdb::duckdb_vector,
);

/// Registers all functions.
///
/// # Safety
///
/// `connection` is valid.
pub(crate) unsafe fn register(connection: duckdb::duckdb_connection) -> Result<(), String> {
    let functions: [(&str, &[duckdb::DUCKDB_TYPE], duckdb::DUCKDB_TYPE, Callback); 4] = [
        ("to_ion", &[ANY], VARCHAR, to_ion),
        ("to_ion_binary", &[ANY], BLOB, to_ion_binary),
        ("ion_valid", &[ANY], BOOLEAN, ion_valid),
        ("ion_extract", &[ANY, VARCHAR], VARCHAR, ion_extract),
    ];
    for (name, parameters, result, callback) in functions {
        // SAFETY: the connection is valid; DuckDB copies types and names; the function is released.
        let state = unsafe {
            let mut function = duckdb::duckdb_create_scalar_function();
            duckdb::duckdb_scalar_function_set_name(function, c_string(name).as_ptr());
            for id in parameters {
                duckdb::duckdb_scalar_function_add_parameter(function, LogicalType::simple(*id).0);
            }
            duckdb::duckdb_scalar_function_set_return_type(function, LogicalType::simple(result).0);
            duckdb::duckdb_scalar_function_set_function(function, Some(callback));
            // NULL comes in as a value: to_ion(NULL) is the Ion null.
            duckdb::duckdb_scalar_function_set_special_handling(function);
            let state = duckdb::duckdb_register_scalar_function(connection, function);
            duckdb::duckdb_destroy_scalar_function(&mut function);
            state
        };
        if state != duckdb::duckdb_state_DuckDBSuccess {
            return Err(format!("cannot register {name}"));
        }
    }
    Ok(())
}

/// Runs `body` for a chunk and reports what it says.
///
/// # Safety
///
/// `info` is the information of the call at hand.
unsafe fn report(info: duckdb::duckdb_function_info, body: impl FnOnce() -> Result<(), String>) {
    if let Err(message) = guard(body) {
        // SAFETY: the caller's promise; the message is copied.
        unsafe { duckdb::duckdb_scalar_function_set_error(info, c_string(&message).as_ptr()) }
    }
}

/// The vector of a parameter and its shape.
///
/// # Safety
///
/// `chunk` is valid and has a column at `index`.
unsafe fn parameter(
    chunk: duckdb::duckdb_data_chunk,
    index: u64,
) -> Result<(duckdb::duckdb_vector, Shape), String> {
    // SAFETY: the caller's promise; the type is ours to release.
    unsafe {
        let vector = duckdb::duckdb_data_chunk_get_vector(chunk, index);
        let logical_type = LogicalType(duckdb::duckdb_vector_get_column_type(vector));
        Ok((vector, Shape::of(logical_type.0)?))
    }
}

/// Writes `bytes` as the result at `row`.
///
/// # Safety
///
/// `output` holds texts or blobs and has room for `row`.
unsafe fn put(output: duckdb::duckdb_vector, row: usize, bytes: &[u8]) {
    // SAFETY: the caller's promise; DuckDB copies the bytes.
    unsafe {
        let (text, length) = (bytes.as_ptr().cast(), bytes.len() as u64);
        duckdb::duckdb_unsafe_vector_assign_string_element_len(output, row as u64, text, length);
    }
}

/// # Safety
///
/// `output` has room for `row`.
unsafe fn put_null(output: duckdb::duckdb_vector, row: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        duckdb::duckdb_vector_ensure_validity_writable(output);
        let validity = duckdb::duckdb_vector_get_validity(output);
        duckdb::duckdb_validity_set_row_invalid(validity, row as u64);
    }
}

unsafe extern "C" fn to_ion(
    info: duckdb::duckdb_function_info,
    chunk: duckdb::duckdb_data_chunk,
    output: duckdb::duckdb_vector,
) {
    // SAFETY: DuckDB passes a valid chunk of one column and a vector of texts with room for it.
    unsafe {
        report(info, || {
            let (vector, shape) = parameter(chunk, 0)?;
            let view = View::of(vector, &shape);
            let mut writer = TextWriter::new(Layout::Compact);
            for row in 0..duckdb::duckdb_data_chunk_get_size(chunk) as usize {
                writer.restart();
                view.write(row, &mut writer)?;
                put(output, row, writer.bytes());
            }
            Ok(())
        });
    }
}

unsafe extern "C" fn to_ion_binary(
    info: duckdb::duckdb_function_info,
    chunk: duckdb::duckdb_data_chunk,
    output: duckdb::duckdb_vector,
) {
    // SAFETY: as in `to_ion`.
    unsafe {
        report(info, || {
            let (vector, shape) = parameter(chunk, 0)?;
            let view = View::of(vector, &shape);
            for row in 0..duckdb::duckdb_data_chunk_get_size(chunk) as usize {
                let mut writer = BinaryWriter::new();
                view.write(row, &mut writer)?;
                put(output, row, &writer.take());
            }
            Ok(())
        });
    }
}

unsafe extern "C" fn ion_valid(
    info: duckdb::duckdb_function_info,
    chunk: duckdb::duckdb_data_chunk,
    output: duckdb::duckdb_vector,
) {
    // SAFETY: as in `to_ion`; the output holds booleans.
    unsafe {
        report(info, || {
            let (vector, shape) = parameter(chunk, 0)?;
            check_stream(&shape)?;
            let view = View::of(vector, &shape);
            let target = duckdb::duckdb_vector_get_data(output).cast::<bool>();
            for row in 0..duckdb::duckdb_data_chunk_get_size(chunk) as usize {
                match shape.is_null() || view.is_null(row) {
                    true => put_null(output, row),
                    false => target.add(row).write(read_all(view.bytes(row)).is_ok()),
                }
            }
            Ok(())
        });
    }
}

unsafe extern "C" fn ion_extract(
    info: duckdb::duckdb_function_info,
    chunk: duckdb::duckdb_data_chunk,
    output: duckdb::duckdb_vector,
) {
    // SAFETY: as in `to_ion`, with a second column of texts.
    unsafe {
        report(info, || {
            let (vector, shape) = parameter(chunk, 0)?;
            check_stream(&shape)?;
            let view = View::of(vector, &shape);
            let paths = View::of(duckdb::duckdb_data_chunk_get_vector(chunk, 1), &Shape::Text);
            for row in 0..duckdb::duckdb_data_chunk_get_size(chunk) as usize {
                if shape.is_null() || view.is_null(row) || paths.is_null(row) {
                    put_null(output, row);
                    continue;
                }
                let path = Path::parse(&String::from_utf8_lossy(paths.bytes(row)))?;
                let values =
                    read_all(view.bytes(row)).map_err(|error| format!("ion_extract: {error}"))?;
                match values.first().and_then(|value| path.find(value)) {
                    Some(found) => put(output, row, to_text(found).as_bytes()),
                    None => put_null(output, row),
                }
            }
            Ok(())
        });
    }
}

/// Only texts and blobs hold Ion.
fn check_stream(shape: &Shape) -> Result<(), String> {
    match shape {
        Shape::Text | Shape::Blob | Shape::Null => Ok(()),
        _ => Err("ion functions read VARCHAR (text Ion) or BLOB (binary Ion); use to_ion first"
            .to_owned()),
    }
}
