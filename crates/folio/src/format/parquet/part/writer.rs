//! The bytes of a new part.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::encoding::{Packing, with_encodings};
use super::types::type_to_json;
use super::{NOTE, PartColumn};

/// Rows of a row group.
pub(crate) const GROUP_ROWS: usize = 1 << 16;

/// A part under construction.
pub(super) struct PartWriter<'l> {
    schema: &'l SchemaRef,
    columns: &'l [PartColumn],
    /// What is in no column is in no document.
    is_whole: bool,
    packing: Packing,
    /// From the first rows on.
    writer: Option<ArrowWriter<Vec<u8>>>,
}

impl<'l> PartWriter<'l> {
    pub(super) fn new(
        schema: &'l SchemaRef,
        columns: &'l [PartColumn],
        is_whole: bool,
        packing: Packing,
    ) -> Self {
        Self { schema, columns, is_whole, packing, writer: None }
    }

    /// Writes some rows. The first ones tell the encodings of the columns.
    pub(super) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), ParquetError> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => {
                let writer = self.begin(&columns)?;
                self.writer.insert(writer)
            }
        };
        writer.write(&RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    fn begin(&self, sample: &[ArrayRef]) -> Result<ArrowWriter<Vec<u8>>, ParquetError> {
        let note = KeyValue::new(NOTE.to_owned(), self.note().to_string());
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_key_value_metadata(Some(vec![note]));
        let schema = ArrowSchemaConverter::new().convert(self.schema)?;
        let properties = with_encodings(properties, &schema, sample, self.packing).build();
        ArrowWriter::try_new(Vec::new(), self.schema.clone(), Some(properties))
    }

    fn note(&self) -> serde_json::Value {
        let column = |column: &PartColumn| {
            let mut noted =
                serde_json::json!({"path": column.path, "type": type_to_json(&column.ty)});
            if column.name != column.path.join(".") {
                noted["name"] = column.name.as_str().into();
            }
            noted
        };
        let columns: Vec<_> = self.columns.iter().map(column).collect();
        serde_json::json!({"whole": self.is_whole, "columns": columns})
    }

    /// The bytes of the file; `None` if no rows were written, or the format refuses them.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        self.writer?.into_inner().ok()
    }
}
