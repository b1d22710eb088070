//! `COPY … TO 'x.ion' (FORMAT ION)` in the pinned interface.
//!
//! DuckDB formats batches of rows in any threads, and writes them in order. The names of the
//! columns are known when the statement is bound, and so are their symbols in binary Ion. They are
//! defined once, at the start of the file. A batch that needs others (names of map entries) is a
//! separate stream, after which the definitions are repeated.

use super::files::FileSystem;
use super::row_file::{Batch, RowFile};
use super::scope::{Scope, call, get, opaque, str_of, string};
use super::value::{HostValue, LogicalType};
use super::vector::Vector;
use crate::copy::{names_for, read_options, texts};
use crate::row_writer::{Names, RowFormat};
use crate::vector_value::{Shape, View};
use libduckdb_sys::v2 as duckdb;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// Rows of a batch.
const BATCH_ROWS: u64 = 20_480;

/// The options of the statement.
struct Target {
    format: RowFormat,
    names: Names,
    shapes: Vec<Shape>,
    types: Vec<LogicalType>,
}

type Open = Mutex<Option<RowFile>>;

/// Registers the function.
///
/// # Safety
///
/// `extension` is the one being loaded.
pub(super) unsafe fn register(
    scope: Scope,
    extension: duckdb::duckdb_v2_extension_handle,
) -> Result<(), String> {
    // SAFETY: the caller's promise; DuckDB copies the name; the function is released.
    unsafe {
        let mut made = get(null_mut(), |out, error| {
            duckdb::duckdb_v2_copy_function_create(scope.factory, out, error)
        })?;
        let name = str_of("ion");
        let registered = call(|error| duckdb::duckdb_v2_copy_function_set_name(made, &name, error))
            .and_then(|()| {
                call(|error| duckdb::duckdb_v2_copy_function_set_file_extension(made, &name, error))
            })
            .and_then(|()| set_callbacks(made))
            .and_then(|()| {
                call(|error| {
                    duckdb::duckdb_v2_extension_register_copy_function(extension, made, error)
                })
            });
        duckdb::duckdb_v2_copy_function_destroy(&mut made);
        registered.map_err(|why| format!("cannot register the copy function ion: {why}"))
    }
}

/// # Safety
///
/// `made` is valid.
unsafe fn set_callbacks(made: duckdb::duckdb_v2_copy_function_handle) -> Result<(), String> {
    // SAFETY: the caller's promise.
    unsafe {
        call(|error| duckdb::duckdb_v2_copy_to_set_bind_callback(made, Some(bind), error))?;
        call(|error| {
            duckdb::duckdb_v2_copy_to_set_batch_size_callback(made, Some(batch_size), error)
        })?;
        call(|error| duckdb::duckdb_v2_copy_to_set_init_callback(made, Some(open), error))?;
        call(|error| duckdb::duckdb_v2_copy_to_set_batch_callback(made, Some(spell), error))?;
        call(|error| duckdb::duckdb_v2_copy_to_set_flush_callback(made, Some(flush), error))?;
        call(|error| duckdb::duckdb_v2_copy_to_set_finalize_callback(made, Some(finish), error))
    }
}

unsafe extern "C" fn bind(
    info: duckdb::duckdb_v2_copy_to_bind_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call.
    unsafe {
        Scope::bind(context, error, |_| {
            let (known, types) = columns(info)?;
            let shapes = types.iter().map(|own| Shape::of(own.0)).collect::<Result<Vec<_>, _>>()?;
            let (format, given) = read_options(&options(info)?)?;
            let names = names_for(given, Some(known), &shapes)?;
            let mut target = opaque(Target { format, names, shapes, types });
            call(|error| duckdb::duckdb_v2_copy_to_bind_set_bind_data(info, &mut target, error))
        });
    }
}

/// # Safety
///
/// `info` is that of the call at hand.
unsafe fn columns(
    info: duckdb::duckdb_v2_copy_to_bind_info_handle,
) -> Result<(Vec<String>, Vec<LogicalType>), String> {
    let (mut names, mut types) = (Vec::new(), Vec::new());
    // SAFETY: the caller's promise; indexes are below the count.
    unsafe {
        let count =
            get(0, |out, error| duckdb::duckdb_v2_copy_to_bind_get_column_count(info, out, error))?;
        for index in 0..count {
            let name = get(str_of(""), |out, error| {
                duckdb::duckdb_v2_copy_to_bind_get_column_name(info, index, out, error)
            })?;
            names.push(string(name));
            types.push(LogicalType::take(|out, error| {
                duckdb::duckdb_v2_copy_to_bind_get_column_type(info, index, out, error)
            })?);
        }
    }
    Ok((names, types))
}

/// # Safety
///
/// `info` is that of the call at hand.
unsafe fn options(
    info: duckdb::duckdb_v2_copy_to_bind_info_handle,
) -> Result<Vec<(String, Vec<String>)>, String> {
    // SAFETY: the caller's promise; indexes are below the count.
    unsafe {
        let count =
            get(0, |out, error| duckdb::duckdb_v2_copy_to_bind_get_option_count(info, out, error))?;
        let option = |index| {
            let name = get(str_of(""), |out, error| {
                duckdb::duckdb_v2_copy_to_bind_get_option_name(info, index, out, error)
            })?;
            let value = HostValue::take(|out, error| {
                duckdb::duckdb_v2_copy_to_bind_get_option_value(info, index, out, error)
            })?;
            Ok((string(name).to_uppercase(), texts(&value)))
        };
        (0..count).map(option).collect()
    }
}

unsafe extern "C" fn batch_size(
    info: duckdb::duckdb_v2_copy_to_batch_size_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call.
    unsafe {
        Scope::run(context, error, |_| {
            call(|error| duckdb::duckdb_v2_copy_to_batch_size_set_target(info, BATCH_ROWS, error))
        });
    }
}

unsafe extern "C" fn open(
    info: duckdb::duckdb_v2_copy_to_init_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call; the bind data is a `Target`.
    unsafe {
        Scope::run(context, error, |_| {
            let target = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_copy_to_init_get_bind_data(info, out, error)
            })?;
            let target = &*target.cast::<Target>();
            let path = string(get(str_of(""), |out, error| {
                duckdb::duckdb_v2_copy_to_init_get_file_path(info, out, error)
            })?);
            let file = FileSystem.create(&path)?;
            let file = RowFile::new(file, &path, &target.format, &target.names, &target.shapes)?;
            let mut state = opaque::<Open>(Mutex::new(Some(file)));
            call(|error| duckdb::duckdb_v2_copy_to_init_set_init_data(info, &mut state, error))
        });
    }
}

unsafe extern "C" fn spell(
    info: duckdb::duckdb_v2_copy_to_batch_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call; its data are those set above; rows are
    // taken once and released.
    unsafe {
        Scope::run(context, error, |scope| {
            let target = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_copy_to_batch_get_bind_data(info, out, error)
            })?;
            let target = &*target.cast::<Target>();
            let state = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_copy_to_batch_get_init_data(info, out, error)
            })?;
            let state = &*state.cast::<Open>();
            let mut batch = {
                let file = state.lock().unwrap_or_else(PoisonError::into_inner);
                file.as_ref().ok_or("the file is closed")?.batch()
            };
            let mut rows = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_copy_to_batch_take_input(info, out, error)
            })?;
            let written = spell_rows(scope, rows, target, &mut batch);
            duckdb::duckdb_v2_column_data_collection_destroy(&mut rows);
            written?;
            let mut data = opaque::<Mutex<Option<Batch>>>(Mutex::new(Some(batch)));
            call(|error| duckdb::duckdb_v2_copy_to_batch_set_batch_data(info, &mut data, error))
        });
    }
}

/// # Safety
///
/// `rows` has the columns of `target`.
unsafe fn spell_rows(
    scope: Scope,
    rows: duckdb::duckdb_v2_column_data_collection_handle,
    target: &Target,
    batch: &mut Batch,
) -> Result<(), String> {
    // SAFETY: the caller's promise; what is made here is released here.
    unsafe {
        let types: Vec<_> = target.types.iter().map(|own| own.0).collect();
        let mut chunk = get(null_mut(), |out, error| {
            let (types, count) = (types.as_ptr(), types.len() as u64);
            duckdb::duckdb_v2_data_chunk_create(scope.factory, types, count, out, error)
        })?;
        let mut shared = null_mut();
        let mut own = null_mut();
        let done = call(|error| {
            duckdb::duckdb_v2_column_data_collection_shared_scan_state_create(
                rows,
                &mut shared,
                error,
            )
        })
        .and_then(|()| {
            call(|error| {
                duckdb::duckdb_v2_column_data_collection_worker_scan_state_create(
                    rows, &mut own, error,
                )
            })
        })
        .and_then(|()| {
            let next = || {
                get(false, |out, error| {
                    duckdb::duckdb_v2_column_data_collection_scan(
                        rows, shared, own, chunk, out, error,
                    )
                })
            };
            while next()? {
                spell_chunk(chunk, target, batch)?;
            }
            Ok(())
        });
        duckdb::duckdb_v2_column_data_collection_worker_scan_state_destroy(&mut own);
        duckdb::duckdb_v2_column_data_collection_shared_scan_state_destroy(&mut shared);
        duckdb::duckdb_v2_data_chunk_destroy(&mut chunk);
        done
    }
}

/// # Safety
///
/// `chunk` has the columns of `target`.
unsafe fn spell_chunk(
    chunk: duckdb::duckdb_v2_data_chunk_handle,
    target: &Target,
    batch: &mut Batch,
) -> Result<(), String> {
    // SAFETY: the caller's promise.
    unsafe {
        let count =
            get(0, |out, error| duckdb::duckdb_v2_data_chunk_get_size(chunk, out, error))? as usize;
        let view = |(index, shape)| {
            let vector = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_data_chunk_get_vector(chunk, index as u64, out, error)
            })?;
            View::of(Vector(vector), shape)
        };
        let columns = target.shapes.iter().enumerate().map(view);
        let columns = columns.collect::<Result<Vec<_>, String>>()?;
        batch.write(&target.names, &columns, count)
    }
}

unsafe extern "C" fn flush(
    info: duckdb::duckdb_v2_copy_to_flush_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call; its data are those set above.
    unsafe {
        Scope::run(context, error, |_| {
            let state = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_copy_to_flush_get_init_data(info, out, error)
            })?;
            let batch = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_copy_to_flush_get_batch_data(info, out, error)
            })?;
            let batch = &*batch.cast::<Mutex<Option<Batch>>>();
            let batch = batch.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut file = (*state.cast::<Open>()).lock().unwrap_or_else(PoisonError::into_inner);
            let file = file.as_mut().ok_or("the file is closed")?;
            batch.map_or(Ok(()), |batch| file.append(batch))
        });
    }
}

unsafe extern "C" fn finish(
    info: duckdb::duckdb_v2_copy_to_finalize_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call; its data are those set above.
    unsafe {
        Scope::run(context, error, |_| {
            let state = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_copy_to_finalize_get_init_data(info, out, error)
            })?;
            let file =
                (*state.cast::<Open>()).lock().unwrap_or_else(PoisonError::into_inner).take();
            file.map_or(Ok(()), RowFile::finish)
        });
    }
}
