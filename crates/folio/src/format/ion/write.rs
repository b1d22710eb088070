//! Rows of a query as Ion, a struct per row, text or binary.
//!
//! Every value keeps its type where Ion has one, including nulls (`null.decimal`), so that even a
//! file of nulls has the same columns when read again. Types that Ion lacks (`time`, `interval`,
//! `uuid`) become strings. JSON becomes the value that it represents.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use folio_compute::array::value_at;
use folio_compute::{Batch, Error as QueryError, Result as QueryResult, cast};
use folio_ion::write::{BinaryWriter, Container, Layout, TextWriter, ValueWriter, write_element};
use folio_ion::{Decimal, IonType, Symbol, Timestamp};
use folio_types::{ColumnType, ErrorCode};

use super::lines::of_json;
use crate::format::RowWriter;

/// Writes rows.
pub(crate) struct IonRows {
    spelling: Spelling,
    columns: Vec<(Symbol, ColumnShape)>,
    row_count: u64,
}

enum Spelling {
    Text(TextWriter),
    Binary(BinaryWriter),
}

/// A type with its field names in Ion's form.
struct ColumnShape {
    ty: ColumnType,
    children: Vec<(Symbol, ColumnShape)>,
}

impl ColumnShape {
    fn of(ty: &ColumnType) -> Self {
        let children = match ty {
            ColumnType::List(item) => vec![(Symbol::ZERO, Self::of(item))],
            ColumnType::Map(value) => vec![(Symbol::ZERO, Self::of(value))],
            ColumnType::Struct(fields) => {
                fields.iter().map(|(name, ty)| (Symbol::from(&**name), Self::of(ty))).collect()
            }
            _ => Vec::new(),
        };
        Self { ty: ty.clone(), children }
    }

    fn ion_type(&self) -> IonType {
        match &self.ty {
            ColumnType::Boolean => IonType::Bool,
            ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => IonType::Int,
            ColumnType::Float32 | ColumnType::Float64 => IonType::Float,
            ColumnType::Decimal { .. } => IonType::Decimal,
            ColumnType::Binary => IonType::Blob,
            ColumnType::Date | ColumnType::Timestamp { .. } => IonType::Timestamp,
            ColumnType::List(_) => IonType::List,
            ColumnType::Struct(_) | ColumnType::Map(_) => IonType::Struct,
            // JSON holds values of any type.
            ColumnType::Json => IonType::Null,
            _ => IonType::String,
        }
    }
}

impl IonRows {
    /// A writer of rows of columns of these names and types.
    pub(crate) fn new(names: &[String], types: &[ColumnType], is_binary: bool) -> Self {
        let columns = names.iter().zip(types);
        let columns = columns.map(|(name, ty)| (Symbol::from(&**name), ColumnShape::of(ty)));
        Self {
            spelling: match is_binary {
                true => Spelling::Binary(BinaryWriter::new()),
                false => Spelling::Text(TextWriter::new(Layout::Compact)),
            },
            columns: columns.collect(),
            row_count: 0,
        }
    }
}

impl RowWriter for IonRows {
    fn write(&mut self, batch: Batch, out: &mut Vec<u8>) -> QueryResult<()> {
        for row in 0..batch.row_count {
            match &mut self.spelling {
                Spelling::Text(writer) => write_row(writer, &self.columns, &batch.columns, row)?,
                Spelling::Binary(writer) => write_row(writer, &self.columns, &batch.columns, row)?,
            }
        }
        self.row_count += batch.row_count as u64;
        out.append(&mut match &mut self.spelling {
            Spelling::Text(writer) => writer.take(),
            Spelling::Binary(writer) => writer.take(),
        });
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> QueryResult<()> {
        match &mut self.spelling {
            Spelling::Text(writer) => {
                out.append(&mut writer.take());
                // Line feeds separate rows; the last row gets one too.
                if self.row_count > 0 {
                    out.push(b'\n');
                }
            }
            Spelling::Binary(writer) => out.append(&mut writer.take()),
        }
        Ok(())
    }
}

fn write_row(
    writer: &mut impl ValueWriter,
    shapes: &[(Symbol, ColumnShape)],
    columns: &[ArrayRef],
    row: usize,
) -> QueryResult<()> {
    writer.begin(Container::Struct);
    for ((name, shape), column) in shapes.iter().zip(columns) {
        writer.field(name);
        let named = |error: QueryError| {
            let name = name.text().unwrap_or_default();
            QueryError::new(error.code(), format!("column {name:?}: {error}"))
        };
        write_value(writer, column, shape, row).map_err(named)?;
    }
    writer.end();
    Ok(())
}

fn write_value(
    writer: &mut impl ValueWriter,
    array: &ArrayRef,
    shape: &ColumnShape,
    row: usize,
) -> QueryResult<()> {
    if array.is_null(row) {
        writer.null(shape.ion_type());
        return Ok(());
    }
    match &shape.ty {
        ColumnType::Boolean => writer.bool(array.as_boolean().value(row)),
        ColumnType::Int16 => writer.int64(array.as_primitive::<Int16Type>().value(row).into()),
        ColumnType::Int32 => writer.int64(array.as_primitive::<Int32Type>().value(row).into()),
        ColumnType::Int64 => writer.int64(array.as_primitive::<Int64Type>().value(row)),
        ColumnType::Float32 => writer.float(array.as_primitive::<Float32Type>().value(row).into()),
        ColumnType::Float64 => writer.float(array.as_primitive::<Float64Type>().value(row)),
        ColumnType::Decimal { scale, .. } => {
            let units = array.as_primitive::<Decimal128Type>().value(row);
            match (i64::try_from(units), u8::try_from(*scale)) {
                (Ok(units), Ok(scale)) => writer.decimal64(units, scale),
                _ => writer.decimal(&Decimal::new(units, -i32::from(*scale))),
            }
        }
        ColumnType::Text => writer.string(array.as_string::<i32>().value(row)),
        ColumnType::Binary => writer.blob(array.as_binary::<i32>().value(row)),
        ColumnType::Json => {
            let text = array.as_string::<i32>().value(row);
            let element = of_json(text.as_bytes());
            write_element(writer, &element.map_err(|error| invalid(&error.to_string()))?);
        }
        ColumnType::Date => {
            let day = Timestamp::from_days(array.as_primitive::<Date32Type>().value(row));
            writer.timestamp(&day.ok_or_else(beyond)?);
        }
        ColumnType::Timestamp { utc } => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
            if !writer.timestamp_micros(micros, *utc) {
                return Err(beyond());
            }
        }
        ColumnType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            writer.begin(Container::List);
            for at in 0..items.len() {
                write_value(writer, &items, &shape.children[0].1, at)?;
            }
            writer.end();
        }
        ColumnType::Struct(_) => {
            write_row(writer, &shape.children, array.as_struct().columns(), row)?;
        }
        ColumnType::Map(_) => {
            let map = array.as_map();
            let keys = map.keys().as_string::<i32>();
            writer.begin(Container::Struct);
            for at in map.value_offsets()[row] as usize..map.value_offsets()[row + 1] as usize {
                writer.field(&Symbol::from(keys.value(at)));
                write_value(writer, map.values(), &shape.children[0].1, at)?;
            }
            writer.end();
        }
        // Time, interval and UUID.
        ty => writer.string(&cast::format(&value_at(array, row, ty), ty)),
    }
    Ok(())
}

fn beyond() -> QueryError {
    invalid("Ion timestamps cover the years 1 to 9999 only")
}

fn invalid(problem: &str) -> QueryError {
    QueryError::new(ErrorCode::InvalidInput, problem)
}
