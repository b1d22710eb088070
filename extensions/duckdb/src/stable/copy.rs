//! `COPY … TO` in the stable interface.
//!
//! It gives a copy function the types of its columns but not their names. So either the names are
//! an option, `COLUMNS ['a', 'b']`, or the query returns one struct column, which is then the
//! record: `COPY (SELECT {a: a, b: b} FROM t) TO …`.

use super::files::FileSystem;
use super::row_file::RowFile;
use super::value::c_string;
use super::value::{HostValue, LogicalType};
use super::vector::Vector;
use crate::copy::{names_for, read_options, texts};
use crate::guard::guard;
use crate::handle::{drop_box, into_host};
use crate::row_writer::{Names, RowFormat};
use crate::vector_value::{Shape, View};
use libduckdb_sys as duckdb;
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

/// The options of the statement.
struct Target {
    format: RowFormat,
    names: Names,
    shapes: Vec<Shape>,
}

type Open = Mutex<Option<RowFile>>;

/// Registers the function.
///
/// # Safety
///
/// `connection` is valid.
pub(crate) unsafe fn register(connection: duckdb::duckdb_connection) -> Result<(), String> {
    // SAFETY: the connection is valid; DuckDB copies the name; the function is released.
    let state = unsafe {
        let mut function = duckdb::duckdb_create_copy_function();
        duckdb::duckdb_copy_function_set_name(function, c"ion".as_ptr());
        duckdb::duckdb_copy_function_set_bind(function, Some(bind));
        duckdb::duckdb_copy_function_set_global_init(function, Some(open));
        duckdb::duckdb_copy_function_set_sink(function, Some(sink));
        duckdb::duckdb_copy_function_set_finalize(function, Some(finalize));
        let state = duckdb::duckdb_register_copy_function(connection, function);
        duckdb::duckdb_destroy_copy_function(&mut function);
        state
    };
    match state == duckdb::duckdb_state_DuckDBSuccess {
        true => Ok(()),
        false => Err("cannot register the copy function ion".to_owned()),
    }
}

unsafe extern "C" fn bind(info: duckdb::duckdb_copy_function_bind_info) {
    let bound = guard(|| {
        // SAFETY: `info` is valid during the call; types and options are ours to release.
        unsafe {
            let count = duckdb::duckdb_copy_function_bind_get_column_count(info);
            let shape = |index| {
                let column_type =
                    LogicalType(duckdb::duckdb_copy_function_bind_get_column_type(info, index));
                Shape::of(column_type.0)
            };
            let shapes = (0..count).map(shape).collect::<Result<Vec<_>, _>>()?;
            let options = HostValue::new(duckdb::duckdb_copy_function_bind_get_options(info));
            let fields = options.as_ref().map(HostValue::fields).unwrap_or_default();
            let fields: Vec<_> =
                fields.into_iter().map(|(name, value)| (name, texts(&value))).collect();
            let (format, names) = read_options(&fields)?;
            let names = names_for(names, None, &shapes)?;
            let target = into_host(Target { format, names, shapes });
            duckdb::duckdb_copy_function_bind_set_bind_data(info, target, Some(drop_box::<Target>));
        }
        Ok(())
    });
    if let Err(message) = bound {
        // SAFETY: `info` is valid during the call; the message is copied.
        unsafe { duckdb::duckdb_copy_function_bind_set_error(info, c_string(&message).as_ptr()) }
    }
}

unsafe extern "C" fn open(info: duckdb::duckdb_copy_function_global_init_info) {
    let opened = guard(|| {
        // SAFETY: `info` is valid during the call; the bind data is a `Target`; the path lives as
        // long as the call.
        unsafe {
            let target =
                &*duckdb::duckdb_copy_function_global_init_get_bind_data(info).cast::<Target>();
            let path = CStr::from_ptr(duckdb::duckdb_copy_function_global_init_get_file_path(info));
            let path = path.to_string_lossy();
            let mut context = duckdb::duckdb_copy_function_global_init_get_client_context(info);
            let system = FileSystem::of(context);
            duckdb::duckdb_destroy_client_context(&mut context);
            let writer = RowFile::new(system.create(&path)?, &path, &target.format)?;
            let state: *mut _ = into_host::<Open>(Mutex::new(Some(writer)));
            duckdb::duckdb_copy_function_global_init_set_global_state(
                info,
                state,
                Some(drop_box::<Open>),
            );
        }
        Ok(())
    });
    if let Err(message) = opened {
        // SAFETY: as in `bind`.
        unsafe {
            duckdb::duckdb_copy_function_global_init_set_error(info, c_string(&message).as_ptr())
        }
    }
}

unsafe extern "C" fn sink(
    info: duckdb::duckdb_copy_function_sink_info,
    chunk: duckdb::duckdb_data_chunk,
) {
    let written = guard(|| {
        // SAFETY: the state was set by `open`; the chunk has the columns that were bound.
        unsafe {
            let target = &*duckdb::duckdb_copy_function_sink_get_bind_data(info).cast::<Target>();
            let state = &*duckdb::duckdb_copy_function_sink_get_global_state(info).cast::<Open>();
            let column = |index| Vector(duckdb::duckdb_data_chunk_get_vector(chunk, index as u64));
            let shapes = target.shapes.iter().enumerate();
            let columns = shapes.map(|(index, shape)| View::of(column(index), shape));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let count = duckdb::duckdb_data_chunk_get_size(chunk) as usize;
            let mut writer = state.lock().unwrap_or_else(PoisonError::into_inner);
            let writer = writer.as_mut().ok_or("the file is closed")?;
            writer.write(&target.names, &columns, count)
        }
    });
    if let Err(message) = written {
        // SAFETY: as in `bind`.
        unsafe { duckdb::duckdb_copy_function_sink_set_error(info, c_string(&message).as_ptr()) }
    }
}

unsafe extern "C" fn finalize(info: duckdb::duckdb_copy_function_finalize_info) {
    let finished = guard(|| {
        // SAFETY: the state was set by `open`.
        let state = unsafe {
            &*duckdb::duckdb_copy_function_finalize_get_global_state(info).cast::<Open>()
        };
        let writer = state.lock().unwrap_or_else(PoisonError::into_inner).take();
        writer.map_or(Ok(()), RowFile::finish)
    });
    if let Err(message) = finished {
        // SAFETY: as in `bind`.
        unsafe {
            duckdb::duckdb_copy_function_finalize_set_error(info, c_string(&message).as_ptr())
        }
    }
}
