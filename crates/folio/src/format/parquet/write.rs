//! Rows as a Parquet file, compressed with Snappy.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use folio_compute::{Batch, Error as QueryError, Result as QueryResult};
use folio_types::{ColumnType, ErrorCode};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, LogicalType, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::format::RowWriter;
use crate::format::row_writer::Shared;

/// Bytes of encoded rows to buffer before a row group is written.
const GROUP_SIZE: usize = 64 << 20;

pub(crate) struct ParquetRows {
    /// `None` once the footer is written.
    writer: Option<ArrowWriter<Shared>>,
    bytes: Shared,
    schema: SchemaRef,
}

impl ParquetRows {
    /// # Errors
    /// `unsupported` for types that Parquet lacks.
    pub(crate) fn new(schema: Schema, types: &[ColumnType]) -> QueryResult<Self> {
        schema.fields().iter().try_for_each(check_type)?;
        let (bytes, schema) = (Shared::default(), Arc::new(schema));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = parquet_schema(&schema, types).and_then(|parquet_schema| {
            let options = ArrowWriterOptions::new()
                .with_properties(properties)
                .with_parquet_schema(parquet_schema);
            ArrowWriter::try_new_with_options(bytes.clone(), Arc::clone(&schema), options)
        });
        Ok(Self { writer: Some(writer.map_err(|error| refused(&error))?), bytes, schema })
    }
}

/// Refuses a column with intervals: those of Parquet count milliseconds, and cannot be negative.
fn check_type(column: &FieldRef) -> QueryResult<()> {
    if !has_intervals(column.data_type()) {
        return Ok(());
    }
    let name = column.name();
    let text = format!("column {name:?} has intervals, which Parquet cannot hold");
    Err(QueryError::new(ErrorCode::Unsupported, text)
        .help("leave the column out, or cast it to text"))
}

fn has_intervals(ty: &DataType) -> bool {
    match ty {
        DataType::Interval(_) => true,
        DataType::List(item) | DataType::Map(item, _) => has_intervals(item.data_type()),
        DataType::Struct(members) => members.iter().any(|it| has_intervals(it.data_type())),
        _ => false,
    }
}

/// The schema of a file: that of the Arrow project's converter, with the types UUID, and JSON within
/// lists, structs and maps. A column of JSON is text: Arrow's own note, in the file, says the rest.
fn parquet_schema(schema: &Schema, types: &[ColumnType]) -> Result<SchemaDescriptor, ParquetError> {
    let converted = ArrowSchemaConverter::new().convert(schema)?;
    let root = converted.root_schema();
    let fields = root.get_fields().iter().zip(types);
    let fields = fields.map(|(field, own)| match own {
        ColumnType::Json => Ok(Arc::clone(field)),
        own => with_own_types(field, own).map(Arc::new),
    });
    let fields = fields.collect::<Result<_, _>>()?;
    let root = Type::group_type_builder(root.name()).with_fields(fields).build()?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}

fn with_own_types(ty: &Type, own: &ColumnType) -> Result<Type, ParquetError> {
    let info = ty.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match (ty, own) {
        (Type::GroupType { fields, .. }, _) => {
            let fields = fields.iter().enumerate();
            let fields =
                fields.map(|(at, field)| with_own_types(field, &part_of(own, at)).map(Arc::new));
            let mut group = Type::group_type_builder(info.name())
                .with_fields(fields.collect::<Result<_, _>>()?)
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id);
            if info.has_repetition() {
                group = group.with_repetition(info.repetition());
            }
            group.build()
        }
        (Type::PrimitiveType { physical_type, type_length, .. }, own) => {
            let logical = match (own, physical_type) {
                (ColumnType::Uuid, PhysicalType::FIXED_LEN_BYTE_ARRAY) => LogicalType::Uuid,
                (ColumnType::Json, PhysicalType::BYTE_ARRAY) => LogicalType::Json,
                _ => return Ok(ty.clone()),
            };
            Type::primitive_type_builder(info.name(), *physical_type)
                .with_length(*type_length)
                .with_repetition(info.repetition())
                .with_logical_type(Some(logical))
                .with_id(id)
                .build()
        }
    }
}

/// The type of a group's part, by its number. A list is a group of a repeated group of its items, a
/// map one of keys and values.
fn part_of(group: &ColumnType, at: usize) -> ColumnType {
    match group {
        ColumnType::List(item) => ColumnType::Struct(vec![("item".to_owned(), (**item).clone())]),
        ColumnType::Map(value) => ColumnType::entry(value),
        ColumnType::Struct(members) => {
            members.get(at).map_or(ColumnType::Text, |(_, own)| own.clone())
        }
        other => other.clone(),
    }
}

impl RowWriter for ParquetRows {
    fn write(&mut self, batch: Batch, out: &mut Vec<u8>) -> QueryResult<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns)?;
        writer.write(&batch).map_err(|error| refused(&error))?;
        if writer.in_progress_size() > GROUP_SIZE {
            writer.flush().map_err(|error| refused(&error))?;
        }
        self.bytes.take(out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> QueryResult<()> {
        if let Some(writer) = self.writer.take() {
            writer.close().map_err(|error| refused(&error))?;
        }
        self.bytes.take(out);
        Ok(())
    }
}

fn refused(error: &ParquetError) -> QueryError {
    let text = format!("the rows cannot be written as Parquet: {error}");
    QueryError::new(ErrorCode::Unsupported, text)
}
