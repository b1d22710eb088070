//! The table functions in the stable interface.

use super::files::FileSystem;
use super::logical_type::logical_type;
use super::value::c_string;
use super::value::{HostValue, LogicalType};
use super::vector::Vector;
use crate::bind::Call;
use crate::guard::guard;
use crate::handle::{drop_box, into_host};
use crate::host_type::Kind;
use crate::options::{FOLIO_NAMES, NAMES};
use crate::pushed::Pushed;
use crate::relation::{Relation, Scan, Worker};
use libduckdb_sys as duckdb;
use std::ffi::CStr;

/// Registers the functions.
///
/// # Safety
///
/// `connection` is valid.
pub(crate) unsafe fn register(connection: duckdb::duckdb_connection) -> Result<(), String> {
    let any = LogicalType::of_kind(Kind::Any);
    let text = LogicalType::of_kind(Kind::Varchar);
    // SAFETY: the caller's promise; the types live until both are registered.
    unsafe {
        register_function(connection, c"read_ion", &[&any], &NAMES, bind)?;
        register_function(connection, c"read_folio", &[&text, &text], &FOLIO_NAMES, bind_folio)
    }
}

/// The arguments of a call.
///
/// # Safety
///
/// `info` is the bind information of a call of a function with `count` positional parameters and
/// the named ones of `names`.
unsafe fn call(info: duckdb::duckdb_bind_info, count: u64, names: &[(&'static str, Kind)]) -> Call {
    // SAFETY: the caller's promise; values are ours to release; the file system that the context
    // gives lives as long as the statement.
    unsafe {
        let mut context = std::ptr::null_mut();
        duckdb::duckdb_table_function_get_client_context(info, &mut context);
        let files = FileSystem::of(context);
        let threads = threads(context);
        duckdb::duckdb_destroy_client_context(&mut context);
        let positional = (0..count)
            .filter_map(|index| HostValue::new(duckdb::duckdb_bind_get_parameter(info, index)));
        let named = names.iter().filter_map(|(name, _)| {
            let key = c_string(name);
            let value = duckdb::duckdb_bind_get_named_parameter(info, key.as_ptr());
            Some((*name, HostValue::new(value)?))
        });
        Call { positional: positional.collect(), named: named.collect(), files, threads }
    }
}

/// The number of DuckDB's threads.
///
/// # Safety
///
/// `context` is a valid client context.
unsafe fn threads(context: duckdb::duckdb_client_context) -> usize {
    let mut scope = duckdb::duckdb_config_option_scope_DUCKDB_CONFIG_OPTION_SCOPE_INVALID;
    // SAFETY: the caller's promise; the value is ours to release.
    let value = HostValue::new(unsafe {
        duckdb::duckdb_client_context_get_config_option(context, c"threads".as_ptr(), &mut scope)
    });
    value.and_then(|value| value.text()?.parse().ok()).unwrap_or(1)
}

type Bind = unsafe extern "C" fn(duckdb::duckdb_bind_info);

/// # Safety
///
/// `connection` is valid, and `bind` sets a [`Relation`].
unsafe fn register_function(
    connection: duckdb::duckdb_connection,
    name: &CStr,
    parameters: &[&LogicalType],
    options: &[(&str, Kind)],
    bind: Bind,
) -> Result<(), String> {
    // SAFETY: the connection is valid; DuckDB copies what it is given; the function is released.
    unsafe {
        let mut function = duckdb::duckdb_create_table_function();
        duckdb::duckdb_table_function_set_name(function, name.as_ptr());
        for parameter in parameters {
            duckdb::duckdb_table_function_add_parameter(function, parameter.0);
        }
        for (name, id) in options {
            let value_type = LogicalType::of_kind(*id);
            duckdb::duckdb_table_function_add_named_parameter(
                function,
                c_string(name).as_ptr(),
                value_type.0,
            );
        }
        duckdb::duckdb_table_function_supports_projection_pushdown(function, true);
        duckdb::duckdb_table_function_set_bind(function, Some(bind));
        duckdb::duckdb_table_function_set_init(function, Some(init));
        duckdb::duckdb_table_function_set_local_init(function, Some(init_worker));
        duckdb::duckdb_table_function_set_function(function, Some(scan));
        let state = duckdb::duckdb_register_table_function(connection, function);
        duckdb::duckdb_destroy_table_function(&mut function);
        match state == duckdb::duckdb_state_DuckDBSuccess {
            true => Ok(()),
            false => Err(format!("cannot register {}", name.to_string_lossy())),
        }
    }
}

unsafe extern "C" fn bind(info: duckdb::duckdb_bind_info) {
    // SAFETY: DuckDB calls this for a call of `read_ion`.
    unsafe { bind_as(info, || Relation::of_files(call(info, 1, &NAMES))) }
}

unsafe extern "C" fn bind_folio(info: duckdb::duckdb_bind_info) {
    // SAFETY: DuckDB calls this for a call of `read_folio`.
    unsafe { bind_as(info, || Relation::of_database(call(info, 2, &FOLIO_NAMES))) }
}

/// # Safety
///
/// `info` is the bind information of the call that `relation` binds.
unsafe fn bind_as(
    info: duckdb::duckdb_bind_info,
    relation: impl FnOnce() -> Result<Relation, String>,
) {
    let bound = guard(|| {
        let relation = relation()?;
        // SAFETY: the caller's promise; DuckDB copies names and types.
        unsafe {
            for (name, host_type) in relation.columns() {
                let (name, made) = (c_string(&name), logical_type(&host_type));
                duckdb::duckdb_bind_add_result_column(info, name.as_ptr(), made.0);
            }
            if let Some(count) = relation.row_count() {
                duckdb::duckdb_bind_set_cardinality(info, count, false);
            }
            duckdb::duckdb_bind_set_bind_data(
                info,
                into_host(relation),
                Some(drop_box::<Relation>),
            );
        }
        Ok(())
    });
    if let Err(message) = bound {
        // SAFETY: `info` is valid during the call; the message is copied.
        unsafe { duckdb::duckdb_bind_set_error(info, c_string(&message).as_ptr()) }
    }
}

unsafe extern "C" fn init(info: duckdb::duckdb_init_info) {
    let made = guard(|| {
        // SAFETY: the bind data is a `Relation` that outlives the call; indexes are below the count.
        unsafe {
            let relation = &*duckdb::duckdb_init_get_bind_data(info).cast::<Relation>();
            let count = duckdb::duckdb_init_get_column_count(info);
            let wanted = (0..count).map(|index| duckdb::duckdb_init_get_column_index(info, index));
            let scan = relation.scan(&wanted.collect::<Vec<_>>(), Pushed::default())?;
            duckdb::duckdb_init_set_max_threads(info, relation.threads());
            duckdb::duckdb_init_set_init_data(info, into_host(scan), Some(drop_box::<Scan>));
        }
        Ok(())
    });
    if let Err(message) = made {
        // SAFETY: as in `bind`.
        unsafe { duckdb::duckdb_init_set_error(info, c_string(&message).as_ptr()) }
    }
}

unsafe extern "C" fn init_worker(info: duckdb::duckdb_init_info) {
    let _ = guard(|| {
        // SAFETY: `info` is valid during the call.
        unsafe {
            let worker = into_host(Worker::default());
            duckdb::duckdb_init_set_init_data(info, worker, Some(drop_box::<Worker>));
        }
        Ok(())
    });
}

unsafe extern "C" fn scan(info: duckdb::duckdb_function_info, output: duckdb::duckdb_data_chunk) {
    let scanned = guard(|| {
        // SAFETY: both were set by the functions above; a worker belongs to one thread.
        unsafe {
            let scan = &*duckdb::duckdb_function_get_init_data(info).cast::<Scan>();
            let worker = &mut *duckdb::duckdb_function_get_local_init_data(info).cast::<Worker>();
            let rows = scan.next(worker)?;
            if rows > 0 {
                let vector =
                    |index| Vector(duckdb::duckdb_data_chunk_get_vector(output, index as u64));
                scan.emit_rows(worker, rows, vector)?;
            }
            duckdb::duckdb_data_chunk_set_size(output, rows as u64);
        }
        Ok(())
    });
    if let Err(message) = scanned {
        // SAFETY: as in `bind`.
        unsafe { duckdb::duckdb_function_set_error(info, c_string(&message).as_ptr()) }
    }
}
