//! The columns of new parts of tables: the key, and the columns of the index.
//!
//! A column is noted by its position in the table, which no renaming changes. Its name in the file is
//! for other programs.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{Field, Schema, SchemaRef};
use folio_compute::array::value_at;
use folio_table::{ColumnsIndex, ROW_NUMBER, Table};
use folio_types::{ColumnType, Value, borrowed};

use super::encoding::Packing;
use super::types::has_members;
use super::writer::{GROUP_ROWS, PartWriter};
use super::{PartColumn, PartRequest};

/// The name of the hidden row number.
const ROW_NUMBER_NAME: &str = "_row";

/// What the columns of new parts of a table are.
pub(crate) struct TableLayout {
    table: Arc<Table>,
    /// Their positions in the table.
    positions: Vec<usize>,
    columns: Vec<PartColumn>,
    schema: SchemaRef,
    /// The places of the key's columns among them.
    key: Vec<usize>,
}

/// A part that was encoded.
pub(crate) struct Encoded {
    pub(crate) columns: Vec<u8>,
    pub(crate) row_count: u64,
    /// The key of the last row of each row group.
    pub(crate) group_keys: Vec<Vec<u8>>,
}

/// The path by which a part knows a column of a table.
pub(crate) fn column_path(position: usize) -> Vec<String> {
    vec![match position {
        ROW_NUMBER => ROW_NUMBER_NAME.to_owned(),
        position => position.to_string(),
    }]
}

/// The position of the column of a table at a path.
pub(crate) fn column_at(path: &[String]) -> Option<usize> {
    match path {
        [name] if name == ROW_NUMBER_NAME => Some(ROW_NUMBER),
        [position] => position.parse().ok(),
        _ => None,
    }
}

/// The columns that make the key of a row.
pub(crate) fn key_positions(table: &Table) -> Vec<usize> {
    match &table.schema().primary_key[..] {
        [] => vec![ROW_NUMBER],
        key => key.to_vec(),
    }
}

/// The type of a column, or of the row number.
pub(crate) fn column_type(table: &Table, position: usize) -> ColumnType {
    let column = table.schema().columns.get(position);
    column.map_or(ColumnType::Int64, |column| column.column_type.clone())
}

/// Whether values of a type have a counterpart in Parquet.
fn is_stored(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Interval => false,
        ColumnType::List(item) | ColumnType::Map(item) => is_stored(item),
        ColumnType::Struct(members) => {
            has_members(ty) && members.iter().all(|(_, member)| is_stored(member))
        }
        _ => true,
    }
}

impl TableLayout {
    pub(crate) fn new(table: &Arc<Table>, index: &ColumnsIndex) -> Self {
        let own = &table.schema().columns;
        let mut positions = key_positions(table);
        let key = (0..positions.len()).collect();
        let listed = match &index.columns[..] {
            [] => (0..own.len()).collect(),
            columns => columns.to_vec(),
        };
        for column in listed {
            if !positions.contains(&column) && is_stored(&own[column].column_type) {
                positions.push(column);
            }
        }
        let is_taken = |name: &str| own.iter().any(|column| column.name == name);
        let column = |position: &usize| {
            let name = match own.get(*position) {
                Some(column) => column.name.clone(),
                None if is_taken(ROW_NUMBER_NAME) => format!("_{ROW_NUMBER_NAME}"),
                None => ROW_NUMBER_NAME.to_owned(),
            };
            PartColumn { path: column_path(*position), name, ty: column_type(table, *position) }
        };
        let columns: Vec<PartColumn> = positions.iter().map(column).collect();
        let field = |(column, position): (&PartColumn, &usize)| {
            let is_nullable = own.get(*position).is_some_and(|own| own.nullable);
            Field::new(&column.name, column.ty.to_arrow(), is_nullable)
        };
        let fields: Vec<Field> = columns.iter().zip(&positions).map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        Self { table: Arc::clone(table), positions, columns, schema, key }
    }

    /// The columns to read for a part.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// All columns of a part.
    pub(crate) fn request(&self) -> PartRequest {
        let columns = self.columns.iter().map(|own| (own.path.clone(), own.ty.clone()));
        PartRequest { columns: columns.collect(), tests: Vec::new(), as_stored: Vec::new() }
    }

    /// The bytes of a part with the rows that `next` returns; `None` if there are none.
    ///
    /// # Errors
    /// Errors of `next`; `unsupported` if the format refuses the rows.
    pub(crate) fn encode(
        &self,
        next: &mut dyn FnMut() -> crate::Result<Option<Vec<ArrayRef>>>,
    ) -> crate::Result<Option<Encoded>> {
        let mut writer = PartWriter::new(&self.schema, &self.columns, false, Packing::Quick);
        let (mut row_count, mut group_keys, mut last) = (0_usize, Vec::new(), None);
        while let Some(columns) = next()? {
            let count = columns.first().map_or(0, |column| column.len());
            let groups_before = row_count / GROUP_ROWS;
            row_count += count;
            // The last row of a group may be in the middle of a batch.
            for group in groups_before + 1..=row_count / GROUP_ROWS {
                let row = count - (row_count - group * GROUP_ROWS) - 1;
                group_keys.push(self.key(&columns, row)?);
            }
            let refused = |error| crate::Error::Invalid(format!("cannot write columns: {error}"));
            writer.write(columns.clone()).map_err(refused)?;
            last = Some((columns, count - 1));
        }
        if !row_count.is_multiple_of(GROUP_ROWS)
            && let Some((columns, row)) = &last
        {
            group_keys.push(self.key(columns, *row)?);
        }
        let row_count = row_count as u64;
        Ok(writer.finish().map(|columns| Encoded { columns, row_count, group_keys }))
    }

    fn key(&self, columns: &[ArrayRef], row: usize) -> crate::Result<Vec<u8>> {
        let column = |place: &usize| value_at(&columns[*place], row, &self.columns[*place].ty);
        let values: Vec<Value> = self.key.iter().map(column).collect();
        Ok(self.table.encoded_key(&borrowed(&values))?)
    }
}
