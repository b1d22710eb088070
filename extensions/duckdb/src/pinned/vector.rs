//! Vectors: columns of a chunk of rows.

use super::scope::{Scope, call, get};
use super::value::{HostValue, LogicalType};
use crate::host_type::Kind;
use crate::string_view::{SHORT, string_view};
use libduckdb_sys::v2 as duckdb;
use std::ffi::c_void;
use std::ptr::null_mut;

/// A vector that DuckDB lends for a call.
#[derive(Clone, Copy)]
pub(crate) struct Vector(pub(super) duckdb::duckdb_v2_vector_handle);

/// # Safety
///
/// Of all functions: the vector is valid and of a type that has what is asked for, indexes are below
/// their count, and what is returned is used while the chunk lives.
impl Vector {
    /// Flattens the vector and its children, so that each value is at its row.
    pub(crate) unsafe fn flatten(self) -> Result<(), String> {
        // SAFETY: see the impl.
        call(|error| unsafe { duckdb::duckdb_v2_vector_flatten(self.0, error) })
    }

    /// The values; null for structs, which have only children.
    pub(crate) unsafe fn data(self) -> *mut c_void {
        // SAFETY: see the impl.
        get(null_mut(), |out, error| unsafe {
            duckdb::duckdb_v2_vector_get_data_mutable(self.0, out, error)
        })
        .unwrap_or(null_mut())
    }

    /// One bit per value, set if it is not null; a null pointer if no value is null.
    pub(crate) unsafe fn validity(self) -> *mut u64 {
        let view = duckdb::duckdb_v2_vector_view {
            data: null_mut(),
            validity: null_mut(),
            sel: null_mut(),
            count: 0,
        };
        // SAFETY: see the impl.
        let view = get(view, |out, error| unsafe {
            duckdb::duckdb_v2_vector_get_view(self.0, out, error)
        });
        view.map_or(null_mut(), |view| view.validity.cast_mut())
    }

    /// The same, writable.
    pub(crate) unsafe fn writable_validity(self) -> *mut u64 {
        // SAFETY: see the impl.
        get(null_mut(), |out, error| unsafe {
            duckdb::duckdb_v2_vector_flat_get_validity_mutable(self.0, out, error)
        })
        .expect("a flat vector has a mask")
    }

    unsafe fn child(self, index: usize) -> Vector {
        // SAFETY: see the impl.
        let child = get(null_mut(), |out, error| unsafe {
            duckdb::duckdb_v2_vector_get_child(self.0, index as u64, out, error)
        });
        Vector(child.expect("a vector has the children of its type"))
    }

    /// The vector of a field of structs.
    pub(crate) unsafe fn field(self, index: usize) -> Vector {
        // SAFETY: see the impl.
        unsafe { self.child(index) }
    }

    /// The vector of the elements of lists and maps.
    pub(crate) unsafe fn elements(self) -> Vector {
        // SAFETY: see the impl.
        unsafe { self.child(0) }
    }

    /// The vector of the elements of arrays.
    pub(crate) unsafe fn array_elements(self) -> Vector {
        // SAFETY: see the impl.
        unsafe { self.child(0) }
    }

    /// The vector of the elements of lists, with a capacity of `count`.
    pub(crate) unsafe fn set_elements(self, count: usize) -> Result<Vector, String> {
        // SAFETY: see the impl.
        unsafe {
            let child = self.child(0);
            child.set_size(count)?;
            Ok(child)
        }
    }

    /// Sets the number of values.
    pub(super) unsafe fn set_size(self, count: usize) -> Result<(), String> {
        // SAFETY: see the impl.
        call(|error| unsafe { duckdb::duckdb_v2_vector_set_size(self.0, count as u64, error) })
    }

    /// Sets the text or blob at `row` to a copy of `bytes`.
    pub(crate) unsafe fn set_bytes(self, row: usize, bytes: &[u8]) {
        let mut view = string_view(bytes);
        // SAFETY: see the impl; the arena's memory lives as long as the vector.
        unsafe {
            if bytes.len() > SHORT {
                let arena = get(null_mut(), |out, error| {
                    duckdb::duckdb_v2_vector_get_arena(self.0, out, error)
                });
                let place = arena.and_then(|arena| {
                    get(null_mut(), |out, error| {
                        let size = bytes.len() as u64;
                        duckdb::duckdb_v2_arena_allocate(arena, size, out, error)
                    })
                });
                let place: *mut u8 = place.expect("a vector of texts has memory for them");
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
                view[8..].copy_from_slice(&(place as u64).to_le_bytes());
            }
            self.data().cast::<[u8; 16]>().add(row).write_unaligned(view);
        }
    }

    /// Makes the value at `row` null.
    pub(crate) unsafe fn set_null(self, row: usize) {
        // SAFETY: see the impl.
        unsafe {
            let word = self.writable_validity().add(row / 64);
            *word &= !(1 << (row % 64));
        }
    }

    /// Sets all `count` values of a text vector to one value.
    pub(crate) unsafe fn set_constant(self, text: Option<&str>, count: usize) {
        let made = match text {
            Some(text) => HostValue::of_text(text),
            None => Scope::current().and_then(|scope| {
                let own = LogicalType::of_kind(Kind::Varchar)?;
                // SAFETY: the factory is that of the call at hand, the type is valid.
                HostValue::take(|out, error| unsafe {
                    duckdb::duckdb_v2_value_create_null(scope.factory, own.0, out, error)
                })
            }),
        };
        // SAFETY: see the impl; DuckDB copies the value.
        let set = made.and_then(|value| unsafe {
            call(|error| {
                duckdb::duckdb_v2_vector_make_constant(self.0, value.0, count as u64, error)
            })
        });
        set.expect("a vector of texts takes a text");
    }

    /// The type of the values.
    pub(crate) unsafe fn logical_type(self) -> LogicalType {
        // SAFETY: see the impl.
        let found = LogicalType::take(|out, error| unsafe {
            duckdb::duckdb_v2_vector_get_logical_type(self.0, out, error)
        });
        found.expect("a vector has a type")
    }
}

/// The number of rows of a full vector.
pub(crate) fn vector_size() -> usize {
    2048
}
