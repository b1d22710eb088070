//! Texts that a reader takes as dictionaries: those of columns that are nothing else in any row group.
//!
//! A test then looks at each different text once, and texts that nobody wants are never copied.
//! Decimals are read as the integers that they are stored as, for the same reason.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{DECIMAL64_MAX_PRECISION, DataType, Field, FieldRef, Fields, Schema};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Encoding;
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

/// The metadata of a file, with dictionaries in its schema.
///
/// # Errors
/// None for a file of ours.
pub(super) fn with_dictionaries(plain: &ArrowReaderMetadata) -> Result<ArrowReaderMetadata> {
    let fields = of_fields(plain.schema().fields(), plain.metadata(), &mut 0);
    let fields: Vec<FieldRef> = fields.into_iter().map(|field| as_stored(&field)).collect();
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
    ArrowReaderMetadata::try_new(Arc::clone(plain.metadata()), options)
}

/// Fields with dictionaries. `leaf` is the number of the first column that they are in the file.
fn of_fields(fields: &Fields, file: &ParquetMetaData, leaf: &mut usize) -> Vec<FieldRef> {
    fields.iter().map(|field| of_field(field, file, leaf)).collect()
}

fn of_field(field: &FieldRef, file: &ParquetMetaData, leaf: &mut usize) -> FieldRef {
    let ty = match field.data_type() {
        DataType::Struct(members) => DataType::Struct(of_fields(members, file, leaf).into()),
        DataType::Utf8 if is_dictionary(file, *leaf) => {
            *leaf += 1;
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        ty => {
            *leaf += leaf_count(ty);
            ty.clone()
        }
    };
    Arc::new(Field::clone(field).with_data_type(ty))
}

/// A field whose decimals have 64 bits, if they are stored as integers. Tests look at them, and only
/// those of an answer become as wide as others.
fn as_stored(field: &FieldRef) -> FieldRef {
    match field.data_type() {
        DataType::Decimal128(precision, scale) if *precision <= DECIMAL64_MAX_PRECISION => {
            let ty = DataType::Decimal64(*precision, *scale);
            Arc::new(Field::clone(field).with_data_type(ty))
        }
        _ => Arc::clone(field),
    }
}

fn leaf_count(ty: &DataType) -> usize {
    match ty {
        DataType::Struct(members) => {
            members.iter().map(|member| leaf_count(member.data_type())).sum()
        }
        DataType::List(item) | DataType::Map(item, _) => leaf_count(item.data_type()),
        _ => 1,
    }
}

fn is_dictionary(file: &ParquetMetaData, leaf: usize) -> bool {
    let is_dictionary = |column: &ColumnChunkMetaData| {
        let mask = column.page_encoding_stats_mask();
        mask.is_some_and(|mask| mask.is_only(Encoding::RLE_DICTIONARY))
    };
    file.row_groups().iter().all(|group| is_dictionary(group.column(leaf)))
}

/// An array without dictionaries, and with decimals of full width.
pub(super) fn plain(array: &ArrayRef) -> ArrayRef {
    let Some(own) = array.as_struct_opt() else { return folio_compute::array::plain(array) };
    let columns: Vec<ArrayRef> = own.columns().iter().map(plain).collect();
    let fields = own.fields().iter().zip(&columns).map(|(field, column)| {
        Arc::new(Field::clone(field).with_data_type(column.data_type().clone()))
    });
    let (fields, nulls) = (fields.collect(), own.nulls().cloned());
    let made = StructArray::try_new_with_length(fields, columns, nulls, own.len());
    Arc::new(made.expect("each column has the type of its field"))
}
