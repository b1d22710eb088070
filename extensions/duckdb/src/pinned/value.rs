//! Owning wrappers of DuckDB's values and types.

use super::scope::{Scope, call, get, str_of, string};
use crate::host_type::{HostType, Kind};
use libduckdb_sys::v2 as duckdb;
use std::ptr::null_mut;

pub(super) type TypeId = duckdb::DUCKDB_V2_LOGICAL_TYPE_ID;

/// A value from DuckDB.
pub(crate) struct HostValue(pub(super) duckdb::duckdb_v2_value_handle);

impl HostValue {
    /// Takes ownership of a function's result.
    pub(super) fn take(
        function: impl FnOnce(
            *mut duckdb::duckdb_v2_value_handle,
            *mut duckdb::duckdb_v2_error_info_handle,
        ) -> duckdb::DUCKDB_V2_ERROR,
    ) -> Result<HostValue, String> {
        get(null_mut(), function).map(HostValue)
    }

    /// A text.
    pub(super) fn of_text(text: &str) -> Result<HostValue, String> {
        let factory = Scope::current()?.factory;
        let text = str_of(text);
        // SAFETY: the factory is that of the call at hand; DuckDB copies the text.
        HostValue::take(|out, error| unsafe {
            duckdb::duckdb_v2_value_create_varchar(factory, &text, out, error)
        })
    }

    /// Casts the value to the type of an option; returns it unchanged for `Any`.
    ///
    /// # Errors
    ///
    /// Why it cannot be cast.
    pub(super) fn cast(self, kind: Kind) -> Result<HostValue, String> {
        if kind == Kind::Any {
            return Ok(self);
        }
        let factory = Scope::current()?.factory;
        let wanted = LogicalType::of_kind(kind)?;
        // SAFETY: the factory is that of the call at hand, value and type are valid.
        HostValue::take(|out, error| unsafe {
            duckdb::duckdb_v2_value_cast(factory, self.0, wanted.0, out, error)
        })
    }

    /// Whether it is SQL's NULL.
    pub(crate) fn is_null(&self) -> bool {
        // SAFETY: the value is valid until dropped.
        get(true, |out, error| unsafe { duckdb::duckdb_v2_value_is_null(self.0, out, error) })
            .unwrap_or(true)
    }

    /// Whether it is a text.
    pub(crate) fn is_text(&self) -> bool {
        self.type_id() == Some(TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_VARCHAR)
    }

    /// Whether it is an integer that fits a column of a table.
    pub(crate) fn is_integer(&self) -> bool {
        matches!(
            self.type_id(),
            Some(
                TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_SMALLINT
                    | TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_INTEGER
                    | TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_BIGINT
            )
        )
    }

    /// Whether it is a list. COPY passes lists of options as structs without names.
    pub(crate) fn is_list(&self) -> bool {
        matches!(
            self.type_id(),
            Some(TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_LIST | TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TUPLE)
        )
    }

    /// Whether it is a struct.
    pub(crate) fn is_struct(&self) -> bool {
        self.type_id() == Some(TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_STRUCT)
    }

    fn logical_type(&self) -> Result<LogicalType, String> {
        // SAFETY: the value is valid until dropped.
        LogicalType::take(|out, error| unsafe {
            duckdb::duckdb_v2_value_get_logical_type(self.0, out, error)
        })
    }

    fn type_id(&self) -> Option<TypeId> {
        self.logical_type().and_then(|found| found.id()).ok()
    }

    /// The value as text.
    pub(crate) fn text(&self) -> Option<String> {
        if self.is_null() {
            return None;
        }
        let factory = Scope::current().ok()?.factory;
        let wanted = LogicalType::of_kind(Kind::Varchar).ok()?;
        // SAFETY: the factory is that of the call at hand, value and type are valid; the text lives
        // as long as the value.
        unsafe {
            let cast = HostValue::take(|out, error| {
                duckdb::duckdb_v2_value_cast(factory, self.0, wanted.0, out, error)
            });
            let cast = cast.ok()?;
            let text = get(str_of(""), |out, error| {
                duckdb::duckdb_v2_value_get_varchar(cast.0, out, error)
            });
            text.ok().map(|text| string(text))
        }
    }

    /// The value as a boolean.
    pub(crate) fn boolean(&self) -> bool {
        // SAFETY: the value is valid until dropped.
        get(false, |out, error| unsafe { duckdb::duckdb_v2_value_get_bool(self.0, out, error) })
            .unwrap_or(false)
    }

    /// The elements of a list value, or the values of a struct.
    pub(crate) fn elements(&self) -> Vec<HostValue> {
        // SAFETY: the value is valid until dropped; indexes are below the count.
        let count = get(0, |out, error| unsafe {
            duckdb::duckdb_v2_value_get_child_count(self.0, out, error)
        });
        let child = |index| {
            HostValue::take(|out, error| {
                // SAFETY: as above.
                unsafe { duckdb::duckdb_v2_value_get_child(self.0, index, out, error) }
            })
        };
        (0..count.unwrap_or(0)).filter_map(|index| child(index).ok()).collect()
    }

    /// The names and values of a struct value.
    pub(crate) fn fields(&self) -> Vec<(String, HostValue)> {
        let names = self.logical_type().and_then(|found| found.parameters()).unwrap_or_default();
        names.into_iter().map(|(name, _)| name).zip(self.elements()).collect()
    }
}

impl Drop for HostValue {
    fn drop(&mut self) {
        // SAFETY: the value is ours and is released once.
        unsafe { duckdb::duckdb_v2_value_destroy(&mut self.0) };
    }
}

/// A type from DuckDB.
pub(crate) struct LogicalType(pub(crate) duckdb::duckdb_v2_logical_type_handle);

impl LogicalType {
    /// Takes ownership of a function's result.
    pub(super) fn take(
        function: impl FnOnce(
            *mut duckdb::duckdb_v2_logical_type_handle,
            *mut duckdb::duckdb_v2_error_info_handle,
        ) -> duckdb::DUCKDB_V2_ERROR,
    ) -> Result<LogicalType, String> {
        get(null_mut(), function).map(LogicalType)
    }

    /// A type without parameters.
    pub(super) fn of_kind(kind: Kind) -> Result<LogicalType, String> {
        let id = match kind {
            Kind::Any => TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_ANY,
            // Needed once per name of an enum; the others are only needed while binding.
            Kind::Varchar => TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_VARCHAR,
            _ => return LogicalType::of(&HostType::Simple(kind)),
        };
        let factory = Scope::current()?.factory;
        // SAFETY: the factory is that of the call at hand; there are no parameters.
        LogicalType::take(|out, error| unsafe {
            let (names, values) = (std::ptr::null(), std::ptr::null());
            duckdb::duckdb_v2_factory_create_type_from_id(factory, id, names, values, 0, out, error)
        })
    }

    /// The type of a result column.
    pub(super) fn of(host_type: &HostType) -> Result<LogicalType, String> {
        let factory = Scope::current()?.factory;
        let sql = sql_of(host_type);
        let text = str_of(&sql);
        // SAFETY: the factory is that of the call at hand; the text lives during the call.
        LogicalType::take(|out, error| unsafe {
            duckdb::duckdb_v2_factory_create_type_from_text(factory, &text, out, error)
        })
    }

    pub(super) fn id(&self) -> Result<TypeId, String> {
        let none = TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_INVALID;
        // SAFETY: the type is valid until dropped.
        get(none, |out, error| unsafe { duckdb::duckdb_v2_logical_type_get_id(self.0, out, error) })
    }

    /// The name: that of an extension's own type, such as `JSON`, or of the type it is stored as.
    pub(super) fn name(&self) -> Result<String, String> {
        // SAFETY: the type is valid until dropped, and its name lives as long as it.
        unsafe {
            let name = get(str_of(""), |out, error| {
                duckdb::duckdb_v2_logical_type_get_name(self.0, out, error)
            });
            name.map(|name| string(name))
        }
    }

    /// The parameters of the type: fields and their types, precision and scale, names of an enum.
    pub(super) fn parameters(&self) -> Result<Vec<(String, HostValue)>, String> {
        // SAFETY: the type is valid until dropped; indexes are below the count; names live as long
        // as the type.
        let count = get(0, |out, error| unsafe {
            duckdb::duckdb_v2_logical_type_get_param_count(self.0, out, error)
        })?;
        let parameter = |index| {
            let (mut name, mut value) = (str_of(""), null_mut());
            // SAFETY: as above.
            unsafe {
                call(|error| {
                    duckdb::duckdb_v2_logical_type_get_param(
                        self.0, index, &mut name, &mut value, error,
                    )
                })?;
                Ok((string(name), HostValue(value)))
            }
        };
        (0..count).map(parameter).collect()
    }

    /// The type in a type value.
    pub(super) fn of_value(value: &HostValue) -> Result<LogicalType, String> {
        // SAFETY: the value is valid until dropped.
        LogicalType::take(|out, error| unsafe {
            duckdb::duckdb_v2_value_get_type(value.0, out, error)
        })
    }
}

impl Drop for LogicalType {
    fn drop(&mut self) {
        // SAFETY: the type is ours and is released once.
        unsafe { duckdb::duckdb_v2_logical_type_destroy(&mut self.0) };
    }
}

/// A type in SQL syntax, with every name quoted.
fn sql_of(host_type: &HostType) -> String {
    match host_type {
        HostType::Simple(kind) => name_of(*kind).to_owned(),
        HostType::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
        HostType::List(element) => format!("{}[]", sql_of(element)),
        HostType::Map(value) => format!("MAP(VARCHAR, {})", sql_of(value)),
        HostType::Struct(fields) => {
            let field = |(name, field): &(String, HostType)| {
                format!("\"{}\" {}", name.replace('"', "\"\""), sql_of(field))
            };
            format!("STRUCT({})", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
    }
}

fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Any => "ANY",
        Kind::Boolean => "BOOLEAN",
        Kind::TinyInt => "TINYINT",
        Kind::SmallInt => "SMALLINT",
        Kind::Integer => "INTEGER",
        Kind::Bigint => "BIGINT",
        Kind::HugeInt => "HUGEINT",
        Kind::UTinyInt => "UTINYINT",
        Kind::USmallInt => "USMALLINT",
        Kind::UInteger => "UINTEGER",
        Kind::UBigint => "UBIGINT",
        Kind::Float => "FLOAT",
        Kind::Double => "DOUBLE",
        Kind::Date => "DATE",
        Kind::Time => "TIME",
        Kind::Timestamp => "TIMESTAMP",
        Kind::TimestampTz => "TIMESTAMP WITH TIME ZONE",
        Kind::Interval => "INTERVAL",
        Kind::Uuid => "UUID",
        Kind::Varchar => "VARCHAR",
        Kind::Json => "JSON",
        Kind::Blob => "BLOB",
    }
}
