//! The table functions in the pinned interface.
//!
//! Batches are numbered by their first row, so that DuckDB puts rows in file order, whichever
//! thread has read them.

use super::files::FileSystem;
use super::filter::left_by_filters;
use super::scope::{Scope, call, get, opaque, str_of};
use super::value::{HostValue, LogicalType};
use super::vector::Vector;
use crate::bind::Call;
use crate::host_type::Kind;
use crate::options::{FOLIO_NAMES, NAMES, unknown};
use crate::pushed::Pushed;
use crate::relation::{Relation, Scan, Worker};
use libduckdb_sys::v2 as duckdb;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// One of the functions.
struct Function {
    name: &'static str,
    parameters: &'static [(&'static str, Kind)],
    options: &'static [(&'static str, Kind)],
    bind: fn(Call) -> Result<Relation, String>,
}

static FUNCTIONS: [Function; 2] = [
    Function {
        name: "read_ion",
        parameters: &[("path", Kind::Any)],
        options: &NAMES,
        bind: Relation::of_files,
    },
    Function {
        name: "read_folio",
        parameters: &[("database", Kind::Varchar), ("name", Kind::Varchar)],
        options: &FOLIO_NAMES,
        bind: Relation::of_database,
    },
];

/// A bound call, and the rows that filters leave; `None` until there are filters.
struct Binding {
    relation: Relation,
    pushed: Mutex<Option<Pushed>>,
}

/// Registers the functions.
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
                duckdb::duckdb_v2_table_function_create(scope.factory, out, error)
            })?;
            let registered =
                describe(made, function).and_then(|()| set_callbacks(made)).and_then(|()| {
                    call(|error| {
                        duckdb::duckdb_v2_extension_register_table_function(extension, made, error)
                    })
                });
            duckdb::duckdb_v2_table_function_destroy(&mut made);
            registered.map_err(|why| format!("cannot register {}: {why}", function.name))?;
        }
    }
    Ok(())
}

/// # Safety
///
/// `made` is valid.
unsafe fn describe(
    made: duckdb::duckdb_v2_table_function_handle,
    function: &'static Function,
) -> Result<(), String> {
    type Place = duckdb::DUCKDB_V2_FUNCTION_PARAMETER_KIND;
    let positional = Place::DUCKDB_V2_FUNCTION_PARAMETER_KIND_POSITIONAL_ONLY;
    let named = Place::DUCKDB_V2_FUNCTION_PARAMETER_KIND_NAMED_VARIADIC;
    // SAFETY: the caller's promise; DuckDB copies texts and types; what it is told to keep lives as
    // long as the library.
    unsafe {
        let name = str_of(function.name);
        call(|error| duckdb::duckdb_v2_table_function_set_name(made, &name, error))?;
        let signature = get(null_mut(), |out, error| {
            duckdb::duckdb_v2_table_function_get_signature(made, out, error)
        })?;
        // Accept options of any type: an omitted option differs from NULL.
        let parameters = function.parameters.iter().map(|(name, kind)| (*name, *kind, positional));
        for (name, kind, place) in parameters.chain([("options", Kind::Any, named)]) {
            let (name, own) = (str_of(name), LogicalType::of_kind(kind)?);
            call(|error| {
                duckdb::duckdb_v2_function_signature_add_parameter(
                    signature,
                    &name,
                    own.0,
                    null_mut(),
                    place,
                    error,
                )
            })?;
        }
        let mut own = duckdb::duckdb_v2_opaque {
            ptr: std::ptr::from_ref(function).cast_mut().cast(),
            destroy: None,
            equals: None,
        };
        call(|error| duckdb::duckdb_v2_table_function_set_user_data(made, &mut own, error))
    }
}

/// # Safety
///
/// `made` is valid.
unsafe fn set_callbacks(made: duckdb::duckdb_v2_table_function_handle) -> Result<(), String> {
    // SAFETY: the caller's promise.
    unsafe {
        call(|error| duckdb::duckdb_v2_table_function_set_bind_callback(made, Some(bind), error))?;
        call(|error| {
            duckdb::duckdb_v2_table_function_set_filter_pushdown_callback(made, Some(filter), error)
        })?;
        call(|error| {
            duckdb::duckdb_v2_table_function_set_init_global_callback(made, Some(init), error)
        })?;
        call(|error| {
            duckdb::duckdb_v2_table_function_set_init_local_callback(made, Some(init_worker), error)
        })?;
        call(|error| duckdb::duckdb_v2_table_function_set_exec_callback(made, Some(scan), error))?;
        call(|error| {
            duckdb::duckdb_v2_table_function_set_partition_data_callback(made, Some(number), error)
        })?;
        call(|error| duckdb::duckdb_v2_table_function_set_projection_pushdown(made, true, error))
    }
}

/// The arguments of a call.
///
/// # Safety
///
/// `info` and `context` are those of the call at hand, of `function`.
unsafe fn arguments(
    info: duckdb::duckdb_v2_function_bind_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    function: &Function,
) -> Result<Call, String> {
    // SAFETY: the caller's promise; indexes are below the count; values are ours to release.
    unsafe {
        let value = |index| {
            HostValue::take(|out, error| {
                duckdb::duckdb_v2_function_bind_get_arg_value(info, index, out, error)
            })
        };
        let positional = (0..function.parameters.len() as u64).map(value);
        let positional = positional.collect::<Result<Vec<_>, _>>()?;
        let mut counts = [0u64; 4];
        let [fixed, variadic, named_fixed, named] = &mut counts;
        call(|error| {
            duckdb::duckdb_v2_function_bind_get_arg_count(
                info,
                fixed,
                variadic,
                named_fixed,
                named,
                error,
            )
        })?;
        let first = counts[0] + counts[1] + counts[2];
        let mut named = Vec::new();
        for index in first..first + counts[3] {
            let given = super::scope::string(get(str_of(""), |out, error| {
                duckdb::duckdb_v2_function_bind_get_arg_name(info, index, out, error)
            })?);
            let known = function.options.iter().find(|(name, _)| name.eq_ignore_ascii_case(&given));
            let Some((name, kind)) = known else {
                let names: Vec<&str> = function.options.iter().map(|(name, _)| *name).collect();
                return Err(unknown(&given, &names));
            };
            let cast = value(index)?.cast(*kind);
            named.push((*name, cast.map_err(|why| format!("option '{name}': {why}"))?));
        }
        Ok(Call { positional, named, files: FileSystem, threads: threads(context)? })
    }
}

/// The number of DuckDB's threads.
///
/// # Safety
///
/// `context` is that of the call at hand.
unsafe fn threads(context: duckdb::duckdb_v2_context_handle) -> Result<usize, String> {
    // SAFETY: the caller's promise; the configuration is lent, the value ours to release.
    let value = unsafe {
        let config = get(null_mut(), |out, error| {
            duckdb::duckdb_v2_context_get_config(context, out, error)
        })?;
        let mut scope = duckdb::DUCKDB_V2_SETTING_SCOPE::DUCKDB_V2_SETTING_SCOPE_DEFAULT;
        let name = str_of("threads");
        HostValue::take(|out, error| {
            duckdb::duckdb_v2_config_get_option_value(config, &name, out, &mut scope, error)
        })?
    };
    Ok(value.text().and_then(|text| text.parse().ok()).unwrap_or(1))
}

unsafe extern "C" fn bind(
    info: duckdb::duckdb_v2_function_bind_info_handle,
    result: duckdb::duckdb_v2_table_function_bind_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call, and it hands on the function that was
    // registered; names and types are copied.
    unsafe {
        Scope::bind(context, error, |_| {
            let function = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_function_bind_get_user_data(info, out, error)
            })?;
            let function = &*function.cast::<Function>();
            let relation = (function.bind)(arguments(info, context, function)?)?;
            for (name, host_type) in relation.columns() {
                let (name, own) = (str_of(&name), LogicalType::of(&host_type)?);
                call(|error| {
                    duckdb::duckdb_v2_table_function_bind_add_result_column(
                        result, &name, own.0, error,
                    )
                })?;
            }
            if let Some(count) = relation.row_count() {
                call(|error| {
                    duckdb::duckdb_v2_table_function_bind_set_cardinality(
                        result, count, false, error,
                    )
                })?;
            }
            let mut data = opaque(Binding { relation, pushed: Mutex::default() });
            call(|error| duckdb::duckdb_v2_function_bind_set_bind_data(info, &mut data, error))
        });
    }
}

unsafe extern "C" fn filter(
    info: duckdb::duckdb_v2_table_function_filter_pushdown_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call; the bind data is a `Binding`.
    unsafe {
        Scope::run(context, error, |_| {
            let binding = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_table_function_filter_pushdown_get_bind_data(info, out, error)
            })?;
            let binding = &*binding.cast::<Binding>();
            let new = left_by_filters(info, &binding.relation)?;
            let mut pushed = binding.pushed.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *pushed {
                // A second set of filters may be for another scan of the same call.
                Some(pushed) => pushed.widen(new),
                none => *none = Some(new),
            }
            Ok(())
        });
    }
}

unsafe extern "C" fn init(
    info: duckdb::duckdb_v2_table_function_init_global_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call; the bind data is a `Binding`; indexes are
    // below the count.
    unsafe {
        Scope::run(context, error, |_| {
            let binding = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_table_function_init_global_get_bind_data(info, out, error)
            })?;
            let binding = &*binding.cast::<Binding>();
            let count = get(0, |out, error| {
                duckdb::duckdb_v2_table_function_init_global_get_column_count(info, out, error)
            })?;
            let place = |index| {
                get(0, |out, error| {
                    duckdb::duckdb_v2_table_function_init_global_get_column_index(
                        info, index, out, error,
                    )
                })
            };
            let wanted = (0..count).map(place).collect::<Result<Vec<_>, _>>()?;
            let pushed = binding.pushed.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let scan = binding.relation.scan(&wanted, pushed.unwrap_or_default())?;
            let threads = binding.relation.threads();
            call(|error| {
                duckdb::duckdb_v2_table_function_init_global_set_max_threads(info, threads, error)
            })?;
            let mut state = opaque(scan);
            call(|error| {
                duckdb::duckdb_v2_table_function_init_global_set_global_state(
                    info, &mut state, error,
                )
            })
        });
    }
}

unsafe extern "C" fn init_worker(
    info: duckdb::duckdb_v2_table_function_init_local_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call.
    unsafe {
        Scope::run(context, error, |_| {
            let mut state = opaque(Worker::default());
            call(|error| {
                duckdb::duckdb_v2_table_function_init_local_set_local_state(info, &mut state, error)
            })
        });
    }
}

unsafe extern "C" fn scan(
    info: duckdb::duckdb_v2_table_function_exec_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: the data were set by the functions above; a worker belongs to one thread.
    unsafe {
        Scope::run(context, error, |_| {
            let scan = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_table_function_exec_get_global_state(info, out, error)
            })?;
            let worker = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_table_function_exec_get_local_state(info, out, error)
            })?;
            let chunk = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_table_function_exec_get_output_chunk(info, out, error)
            })?;
            fill(&*scan.cast::<Scan>(), &mut *worker.cast::<Worker>(), chunk)
        });
    }
}

/// # Safety
///
/// `chunk` has a vector for each output of `scan`, and one at least.
unsafe fn fill(
    scan: &Scan,
    worker: &mut Worker,
    chunk: duckdb::duckdb_v2_data_chunk_handle,
) -> Result<(), String> {
    let count = scan.next(worker)?;
    // SAFETY: the caller's promise.
    unsafe {
        let total =
            get(0, |out, error| duckdb::duckdb_v2_data_chunk_get_vector_count(chunk, out, error))?;
        let vector = |index| {
            get(null_mut(), |out, error| {
                duckdb::duckdb_v2_data_chunk_get_vector(chunk, index, out, error)
            })
            .map(Vector)
        };
        let vectors = (0..total).map(vector).collect::<Result<Vec<_>, _>>()?;
        for vector in &vectors {
            vector.set_size(count)?;
        }
        match count {
            0 => Ok(()),
            _ => scan.emit_rows(worker, count, |index| vectors[index]),
        }
    }
}

unsafe extern "C" fn number(
    info: duckdb::duckdb_v2_table_function_partition_data_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: the data were set by `init` and `init_worker`.
    unsafe {
        Scope::run(context, error, |_| {
            let scan = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_table_function_partition_data_get_global_state(info, out, error)
            })?;
            let worker = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_table_function_partition_data_get_local_state(info, out, error)
            })?;
            let number = (*scan.cast::<Scan>()).batch_number(&*worker.cast::<Worker>());
            call(|error| {
                duckdb::duckdb_v2_table_function_partition_data_set_batch_index(info, number, error)
            })
        });
    }
}
