//! Owning wrappers of DuckDB's values, types and texts.

use crate::host_type::Kind;
use libduckdb_sys as duckdb;
use std::ffi::{CStr, CString, c_char, c_void};

/// A text for DuckDB; a zero byte, which it cannot hold, becomes a space.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Takes ownership of a text allocated by DuckDB.
///
/// # Safety
///
/// `text` is null or a zero-terminated text from DuckDB that nobody else frees.
pub(crate) unsafe fn take_text(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: checked for null; the caller promises the rest.
    unsafe {
        let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
        duckdb::duckdb_free(text.cast::<c_void>());
        Some(owned)
    }
}

/// A value from DuckDB.
pub(crate) struct HostValue(duckdb::duckdb_value);

impl HostValue {
    /// Takes ownership of `value`; `None` if it is null.
    pub(crate) fn new(value: duckdb::duckdb_value) -> Option<HostValue> {
        (!value.is_null()).then_some(HostValue(value))
    }

    /// Whether it is SQL's NULL.
    pub(crate) fn is_null(&self) -> bool {
        // SAFETY: the value is valid until dropped.
        unsafe { duckdb::duckdb_is_null_value(self.0) }
    }

    /// Whether it is a text.
    pub(crate) fn is_text(&self) -> bool {
        self.type_id() == duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR
    }

    /// Whether it is a list.
    pub(crate) fn is_list(&self) -> bool {
        self.type_id() == duckdb::DUCKDB_TYPE_DUCKDB_TYPE_LIST
    }

    /// Whether it is a struct.
    pub(crate) fn is_struct(&self) -> bool {
        self.type_id() == duckdb::DUCKDB_TYPE_DUCKDB_TYPE_STRUCT
    }

    fn type_id(&self) -> duckdb::duckdb_type {
        // SAFETY: the value is valid; its type is borrowed from it and not freed.
        unsafe { duckdb::duckdb_get_type_id(duckdb::duckdb_get_value_type(self.0)) }
    }

    /// The value as text.
    pub(crate) fn text(&self) -> Option<String> {
        // SAFETY: the value is valid, and the text is ours to free.
        unsafe { take_text(duckdb::duckdb_get_varchar(self.0)) }
    }

    /// The value as a boolean.
    pub(crate) fn boolean(&self) -> bool {
        // SAFETY: the value is valid.
        unsafe { duckdb::duckdb_get_bool(self.0) }
    }

    /// The elements of a list value.
    pub(crate) fn elements(&self) -> Vec<HostValue> {
        // SAFETY: the value is valid, and the indexes are below its size.
        let child = |index| unsafe { duckdb::duckdb_get_list_child(self.0, index) };
        // SAFETY: as above.
        let count = unsafe { duckdb::duckdb_get_list_size(self.0) };
        (0..count).filter_map(|index| HostValue::new(child(index))).collect()
    }

    /// The names and values of a struct value.
    pub(crate) fn fields(&self) -> Vec<(String, HostValue)> {
        // SAFETY: the value is valid; its type is borrowed from it; the names are ours to free.
        unsafe {
            let value_type = duckdb::duckdb_get_value_type(self.0);
            let count = duckdb::duckdb_struct_type_child_count(value_type);
            let field = |index| {
                let name = take_text(duckdb::duckdb_struct_type_child_name(value_type, index))?;
                let value = HostValue::new(duckdb::duckdb_get_struct_child(self.0, index))?;
                Some((name, value))
            };
            (0..count).filter_map(field).collect()
        }
    }
}

impl Drop for HostValue {
    fn drop(&mut self) {
        // SAFETY: the value is ours and is released once.
        unsafe { duckdb::duckdb_destroy_value(&mut self.0) }
    }
}

/// An owned logical type.
pub(crate) struct LogicalType(pub(crate) duckdb::duckdb_logical_type);

impl LogicalType {
    /// A type without parameters.
    pub(crate) fn of_kind(kind: Kind) -> LogicalType {
        // SAFETY: any number is answered with a type; the name is copied.
        unsafe {
            let made = LogicalType(duckdb::duckdb_create_logical_type(id_of(kind)));
            if kind == Kind::Json {
                duckdb::duckdb_logical_type_set_alias(made.0, c"JSON".as_ptr());
            }
            made
        }
    }
}

impl Drop for LogicalType {
    fn drop(&mut self) {
        // SAFETY: the type is ours and is released once.
        unsafe { duckdb::duckdb_destroy_logical_type(&mut self.0) }
    }
}

fn id_of(kind: Kind) -> duckdb::DUCKDB_TYPE {
    match kind {
        Kind::Any => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_ANY,
        Kind::Boolean => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN,
        Kind::TinyInt => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT,
        Kind::SmallInt => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT,
        Kind::Integer => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER,
        Kind::Bigint => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT,
        Kind::HugeInt => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT,
        Kind::UTinyInt => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT,
        Kind::USmallInt => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT,
        Kind::UInteger => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER,
        Kind::UBigint => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT,
        Kind::Float => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT,
        Kind::Double => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE,
        Kind::Date => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DATE,
        Kind::Time => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME,
        Kind::Timestamp => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP,
        Kind::TimestampTz => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ,
        Kind::Interval => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTERVAL,
        Kind::Uuid => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UUID,
        Kind::Varchar | Kind::Json => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR,
        Kind::Blob => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BLOB,
    }
}
