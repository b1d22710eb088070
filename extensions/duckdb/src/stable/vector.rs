//! Vectors: columns of a chunk of rows.

use super::value::LogicalType;
use super::value::c_string;
use libduckdb_sys as duckdb;
use std::ffi::c_void;

/// A flat vector that DuckDB lends for a call.
#[derive(Clone, Copy)]
pub(crate) struct Vector(pub(super) duckdb::duckdb_vector);

/// # Safety
///
/// Of all functions: the vector is valid and of a type that has what is asked for, indexes are below
/// their count, and what is returned is used while the chunk lives.
impl Vector {
    /// Does nothing: this interface only passes flat vectors.
    pub(crate) unsafe fn flatten(self) -> Result<(), String> {
        Ok(())
    }

    /// The values.
    pub(crate) unsafe fn data(self) -> *mut c_void {
        // SAFETY: see the impl.
        unsafe { duckdb::duckdb_vector_get_data(self.0) }
    }

    /// One bit per value, set if it is not null; a null pointer if no value is null.
    pub(crate) unsafe fn validity(self) -> *mut u64 {
        // SAFETY: see the impl.
        unsafe { duckdb::duckdb_vector_get_validity(self.0) }
    }

    /// The same, writable.
    pub(crate) unsafe fn writable_validity(self) -> *mut u64 {
        // SAFETY: see the impl.
        unsafe {
            duckdb::duckdb_vector_ensure_validity_writable(self.0);
            duckdb::duckdb_vector_get_validity(self.0)
        }
    }

    /// The vector of a field of structs.
    pub(crate) unsafe fn field(self, index: usize) -> Vector {
        // SAFETY: see the impl.
        Vector(unsafe { duckdb::duckdb_struct_vector_get_child(self.0, index as u64) })
    }

    /// The vector of the elements of lists and maps.
    pub(crate) unsafe fn elements(self) -> Vector {
        // SAFETY: see the impl.
        Vector(unsafe { duckdb::duckdb_list_vector_get_child(self.0) })
    }

    /// The vector of the elements of arrays.
    pub(crate) unsafe fn array_elements(self) -> Vector {
        // SAFETY: see the impl.
        Vector(unsafe { duckdb::duckdb_array_vector_get_child(self.0) })
    }

    /// The vector of the elements of lists, with a capacity of `count`.
    pub(crate) unsafe fn set_elements(self, count: usize) -> Result<Vector, String> {
        // SAFETY: see the impl.
        unsafe {
            let reserved = duckdb::duckdb_list_vector_reserve(self.0, count as u64);
            let sized = duckdb::duckdb_list_vector_set_size(self.0, count as u64);
            let ready = duckdb::duckdb_state_DuckDBSuccess;
            match reserved == ready && sized == ready {
                true => Ok(self.elements()),
                false => Err(format!("cannot allocate {count} list elements")),
            }
        }
    }

    /// Sets the text or blob at `row` to a copy of `bytes`.
    pub(crate) unsafe fn set_bytes(self, row: usize, bytes: &[u8]) {
        let (text, length) = (bytes.as_ptr().cast(), bytes.len() as u64);
        // SAFETY: see the impl.
        unsafe {
            duckdb::duckdb_unsafe_vector_assign_string_element_len(
                self.0, row as u64, text, length,
            );
        }
    }

    /// Makes the value at `row` null.
    pub(crate) unsafe fn set_null(self, row: usize) {
        // SAFETY: see the impl.
        unsafe { duckdb::duckdb_validity_set_row_invalid(self.writable_validity(), row as u64) }
    }

    /// Sets all values of a text vector to one value.
    pub(crate) unsafe fn set_constant(self, text: Option<&str>, _count: usize) {
        // SAFETY: see the impl; the value is copied and released.
        unsafe {
            let mut value = match text {
                Some(text) => duckdb::duckdb_create_varchar(c_string(text).as_ptr()),
                None => duckdb::duckdb_create_null_value(),
            };
            duckdb::duckdb_vector_reference_value(self.0, value);
            duckdb::duckdb_destroy_value(&mut value);
        }
    }

    /// The type of the values.
    pub(crate) unsafe fn logical_type(self) -> LogicalType {
        // SAFETY: see the impl; the type is ours to release.
        LogicalType(unsafe { duckdb::duckdb_vector_get_column_type(self.0) })
    }
}

/// The number of rows of a full vector.
pub(crate) fn vector_size() -> usize {
    // SAFETY: the function takes and touches nothing.
    (unsafe { duckdb::duckdb_vector_size() }) as usize
}
