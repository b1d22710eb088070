//! Parts of columns indexes as Parquet files: what a collection's lines become, and how a scan reads
//! them back.
//!
//! A file has a column for each member of the documents, with structs, lists and maps as such, and
//! mixed values as JSON text. The types are those that the collection had when the file was
//! written, and are noted in its metadata under [`NOTE`]. A scan asks for paths with the types that
//! they have now: a part serves it if all are found with the same types, or are known to be missing.
//!
//! The shredder of lines makes the arrays that are written, so a value reads the same from either.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, ListArray, RecordBatch, StructArray, new_null_array,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter;
use bytes::Bytes;
use folio_compute::array::map_of;
use folio_compute::{BATCH_SIZE, Batch, Error as QueryError, Result as QueryResult};
use folio_document::{ColumnPart, IndexDefinition, PartDraft};
use folio_engine::source::{Relation, RelationKind};
use folio_json::{ArrayTest, PathCondition, Tree};
use folio_types::{ColumnType, Value};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::statistics::Statistics;

use super::read::FileBytes;
use super::{damaged, guarded};
use crate::error::Result;
use crate::format::json::{DOCUMENT, LineColumns, schema_of};

/// The key of the metadata that has paths and types.
const NOTE: &str = "folio.columns";

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 16;

/// Bytes of lines of a batch, however few rows they are.
const BATCH_BYTES: usize = 16 << 20;

/// The member that is the key.
const ID: &str = "_id";

/// The number of bytes of a file that its footer ends with: its size, and the magic number.
const END_SIZE: u64 = 8;

/// A column of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PartColumn {
    path: Vec<String>,
    ty: ColumnType,
}

/// What the columns of new parts are.
pub(crate) struct PartLayout {
    relation: Relation,
    /// Their positions in the relation.
    positions: Vec<usize>,
    columns: Vec<PartColumn>,
    /// What is in no column is in no document.
    is_whole: bool,
    keys_are_distinct: bool,
    schema: SchemaRef,
}

impl PartLayout {
    /// The columns of a definition, for documents of these types.
    pub(crate) fn new(types: &Tree, definition: &IndexDefinition) -> Self {
        let (schema, paths) = schema_of(types, "part", Some(ID), Some(DOCUMENT), &[]);
        let relation = Relation::new(RelationKind::Collection, schema, Arc::new(()));
        let relation = Relation { paths, ..relation };
        let known = relation.schema.columns.len() - usize::from(has_document(&relation));
        let mut layout = Self {
            positions: Vec::new(),
            columns: Vec::new(),
            is_whole: definition.fields.is_empty()
                && types.members().filter(|(name, _)| *name != ID).count() + 1 == known,
            keys_are_distinct: types.keys_are_distinct(),
            schema: Arc::new(Schema::empty()),
            relation,
        };
        if definition.fields.is_empty() {
            let width = layout.relation.schema.columns.len();
            (0..width).for_each(|column| layout.add(layout.relation.read_at(column)));
        } else {
            layout.add(0);
            for field in &definition.fields {
                layout.position_of(&field.path).into_iter().for_each(|at| layout.add(at));
            }
        }
        let fields = layout.columns.iter().map(|column| {
            let name = column.path.join(".");
            Field::new(name, column.ty.to_arrow(), column.path != [ID])
        });
        layout.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        layout
    }

    fn position_of(&self, path: &[String]) -> Option<usize> {
        let relation = &self.relation;
        match path {
            [name] => {
                let columns = &relation.schema.columns;
                let position = columns.iter().position(|column| column.name == *name)?;
                Some(relation.read_at(position))
            }
            path => {
                let mut paths = relation.paths.iter();
                paths.find(|(_, own)| own.path == path).map(|(position, _)| position)
            }
        }
    }

    /// Adds a column, unless it is the whole document, is there already, or has no counterpart in
    /// Parquet.
    fn add(&mut self, position: usize) {
        let relation = &self.relation;
        if relation.document_column() == Some(position) || self.positions.contains(&position) {
            return;
        }
        let ty = relation.column_type(position).clone();
        let path = match relation.paths.get(position) {
            Some(path) => path.path.clone(),
            None => vec![relation.schema.columns[position].name.clone()],
        };
        let name = path.join(".");
        if !has_members(&ty) || self.columns.iter().any(|own| own.path.join(".") == name) {
            self.is_whole = false;
            return;
        }
        self.positions.push(position);
        self.columns.push(PartColumn { path, ty });
    }

    /// Whether a part has all that a part of this layout would have.
    pub(crate) fn is_served_by(&self, part: &ColumnPart) -> bool {
        let Some(known) = decoded(part) else { return false };
        (known.is_whole || !self.is_whole)
            && self.columns.iter().all(|own| known.spot(&own.path, &own.ty).is_some())
    }

    /// The bytes of a part with the rows of a draft; `None` if its lines have other types by now.
    ///
    /// # Errors
    /// Errors of the scan.
    pub(crate) fn encode(&self, draft: &mut PartDraft) -> Result<Option<Vec<u8>>> {
        let note = KeyValue::new(NOTE.to_owned(), self.note().to_string());
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_key_value_metadata(Some(vec![note]))
            .build();
        let writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&self.schema), Some(properties));
        let Ok(mut writer) = writer else { return Ok(None) };
        let mut rows =
            LineColumns::new(&self.relation, &self.positions, &[], self.keys_are_distinct);
        let mut size = 0;
        loop {
            let line = draft.next_line()?;
            let is_end = line.is_none();
            size += line.map_or(0, <[u8]>::len);
            if line.is_some_and(|line| rows.push(line).is_err()) {
                return Ok(None);
            }
            let is_full = rows.row_count() >= BATCH_SIZE || size >= BATCH_BYTES;
            if is_full || is_end && rows.row_count() > 0 {
                size = 0;
                let batch = RecordBatch::try_new(Arc::clone(&self.schema), rows.finish().columns);
                let written =
                    batch.map_err(ParquetError::from).and_then(|rows| writer.write(&rows));
                if written.is_err() {
                    return Ok(None);
                }
            }
            if is_end {
                return Ok(writer.into_inner().ok());
            }
        }
    }

    fn note(&self) -> serde_json::Value {
        let column = |column: &PartColumn| serde_json::json!({"path": column.path, "type": type_to_json(&column.ty)});
        let columns: Vec<_> = self.columns.iter().map(column).collect();
        serde_json::json!({"whole": self.is_whole, "columns": columns})
    }
}

fn has_document(relation: &Relation) -> bool {
    relation.document_column().is_some()
}

/// Whether no struct in a type lacks members: Parquet has none of those.
fn has_members(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Struct(members) => {
            !members.is_empty() && members.iter().all(|(_, ty)| has_members(ty))
        }
        ColumnType::List(item) | ColumnType::Map(item) => has_members(item),
        _ => true,
    }
}

fn type_to_json(ty: &ColumnType) -> serde_json::Value {
    match ty {
        ColumnType::List(item) => serde_json::json!({"list": type_to_json(item)}),
        ColumnType::Map(value) => serde_json::json!({"map": type_to_json(value)}),
        ColumnType::Struct(members) => {
            let member =
                |(name, ty): &(String, ColumnType)| serde_json::json!([name, type_to_json(ty)]);
            serde_json::json!({"struct": members.iter().map(member).collect::<Vec<_>>()})
        }
        ty => ty.to_string().into(),
    }
}

fn type_of_json(json: &serde_json::Value) -> Option<ColumnType> {
    let plain = [
        ColumnType::Boolean,
        ColumnType::Int64,
        ColumnType::Float64,
        ColumnType::Text,
        ColumnType::Json,
    ];
    if let Some(name) = json.as_str() {
        return plain.into_iter().find(|ty| ty.to_string() == name);
    }
    let (kind, inner) = json.as_object()?.iter().next()?;
    match &**kind {
        "list" => type_of_json(inner).map(|item| ColumnType::List(Box::new(item))),
        "map" => type_of_json(inner).map(|value| ColumnType::Map(Box::new(value))),
        "struct" => {
            let member = |member: &serde_json::Value| {
                Some((member.get(0)?.as_str()?.to_owned(), type_of_json(member.get(1)?)?))
            };
            let members = inner.as_array()?.iter().map(member);
            members.collect::<Option<_>>().map(ColumnType::Struct)
        }
        _ => None,
    }
}

/// What is known of an open part.
struct Decoded {
    metadata: ArrowReaderMetadata,
    columns: Vec<PartColumn>,
    is_whole: bool,
}

/// The bytes of a part, as long as somebody reads them.
struct PartBytes(Arc<ColumnPart>);

impl AsRef<[u8]> for PartBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// Footer, paths and types of a part; `None` if it is damaged.
fn decoded(part: &ColumnPart) -> Option<&Decoded> {
    part.decoded(|part| {
        let decoded = decode(part);
        if decoded.is_none() {
            part.mark_damaged();
        }
        decoded
    })
}

fn decode(part: &ColumnPart) -> Option<Decoded> {
    let bytes = part.bytes();
    let size = bytes.len() as u64;
    let end = size.checked_sub(END_SIZE).filter(|end| part.is_intact(*end..size))?;
    let footer = u32::from_le_bytes(bytes.get(end as usize..)?.get(..4)?.try_into().ok()?);
    let start = end.checked_sub(u64::from(footer)).filter(|start| part.is_intact(*start..end))?;
    let footer = Bytes::copy_from_slice(&bytes[start as usize..]);
    let mut reader = parquet::file::metadata::ParquetMetaDataReader::new();
    let metadata = guarded("part", || {
        reader.try_parse_sized(&footer, size)?;
        let metadata = Arc::new(reader.finish()?);
        ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new())
    });
    let metadata = metadata.ok()?;
    let noted = metadata.metadata().file_metadata().key_value_metadata()?;
    let note = noted.iter().find(|pair| pair.key == NOTE)?.value.as_ref()?;
    let note: serde_json::Value = serde_json::from_str(note).ok()?;
    let column = |column: &serde_json::Value| {
        let path = column.get("path")?.as_array()?.iter();
        let path = path.map(|name| name.as_str().map(str::to_owned)).collect::<Option<_>>()?;
        Some(PartColumn { path, ty: type_of_json(column.get("type")?)? })
    };
    let columns = note.get("columns")?.as_array()?.iter().map(column);
    Some(Decoded {
        columns: columns.collect::<Option<_>>()?,
        is_whole: note.get("whole")?.as_bool()?,
        metadata,
    })
}

/// Where a part has a path.
enum Spot<'p> {
    /// In no document.
    Missing,
    /// In a column, below these members, with this type.
    At { column: usize, members: &'p [String], ty: &'p ColumnType },
}

impl Decoded {
    /// Where a path is; `None` if the part does not tell, or tells it in another type.
    fn spot<'p>(&'p self, path: &'p [String], wanted: &ColumnType) -> Option<Spot<'p>> {
        let found = self.columns.iter().enumerate().find(|(_, own)| path.starts_with(&own.path));
        let Some((column, own)) = found else {
            return self.is_whole.then_some(Spot::Missing);
        };
        let members = &path[own.path.len()..];
        let mut ty = &own.ty;
        for name in members {
            let ColumnType::Struct(all) = ty else { return None };
            match all.iter().find(|(own, _)| own == name) {
                Some((_, member)) => ty = member,
                None => return Some(Spot::Missing),
            }
        }
        fits(ty, wanted).then_some(Spot::At { column, members, ty })
    }
}

/// Whether values of a part's type are those of a wanted one, with members left out or added.
fn fits(own: &ColumnType, wanted: &ColumnType) -> bool {
    match (own, wanted) {
        (ColumnType::Struct(own), ColumnType::Struct(wanted)) => wanted.iter().all(|(name, ty)| {
            own.iter().find(|(own, _)| own == name).is_none_or(|(_, own)| fits(own, ty))
        }),
        (ColumnType::List(own), ColumnType::List(wanted))
        | (ColumnType::Map(own), ColumnType::Map(wanted)) => fits(own, wanted),
        (own, wanted) => own == wanted,
    }
}

/// An array of a part's type as one of a wanted type that it fits.
fn adapted(array: &ArrayRef, own: &ColumnType, wanted: &ColumnType) -> ArrayRef {
    if own == wanted {
        return Arc::clone(array);
    }
    match (own, wanted, wanted.to_arrow()) {
        (ColumnType::Struct(own), ColumnType::Struct(wanted), DataType::Struct(fields)) => {
            let given = array.as_struct();
            let columns = wanted.iter().map(|(name, ty)| {
                let place = own.iter().find(|(own, _)| own == name);
                match place.and_then(|(_, own)| Some((given.column_by_name(name)?, own))) {
                    Some((column, own)) => adapted(column, own, ty),
                    None => new_null_array(&ty.to_arrow(), array.len()),
                }
            });
            let columns = columns.collect();
            let made = StructArray::try_new_with_length(
                fields,
                columns,
                given.nulls().cloned(),
                array.len(),
            );
            Arc::new(made.expect("each column has the type of its field"))
        }
        (ColumnType::List(own), ColumnType::List(wanted), DataType::List(field)) => {
            let (_, offsets, items, nulls) = array.as_list::<i32>().clone().into_parts();
            Arc::new(ListArray::new(field, offsets, adapted(&items, own, wanted), nulls))
        }
        (ColumnType::Map(own), ColumnType::Map(value), _) => {
            let map = array.as_map();
            let columns = vec![Arc::clone(map.keys()), adapted(map.values(), own, value)];
            map_of(wanted, map.offsets().clone(), columns, map.nulls().cloned())
                .expect("each column has the type of its field")
        }
        _ => Arc::clone(array),
    }
}

/// What a scan wants of parts: paths with types, and tests of rows.
pub(crate) struct PartRequest {
    /// Columns of the result.
    pub(crate) columns: Vec<(Vec<String>, ColumnType)>,
    /// Every row must pass these.
    pub(crate) tests: Vec<(PathCondition, ColumnType, ArrayTest)>,
}

/// A row group of a part that a scan reads.
pub(crate) struct PartGroup {
    part: Arc<ColumnPart>,
    dead: Arc<[u32]>,
    group: usize,
    first_row: u64,
    pub(crate) row_count: u64,
}

/// What a scan reads of a part.
pub(crate) struct PartGroups {
    pub(crate) groups: Vec<PartGroup>,
    /// How many row groups have no row that passes.
    pub(crate) skipped_count: usize,
}

impl PartRequest {
    fn paths(&self) -> impl Iterator<Item = (&[String], &ColumnType)> {
        let columns = self.columns.iter().map(|(path, ty)| (&path[..], ty));
        columns.chain(self.tests.iter().map(|(test, ty, _)| (&test.path[..], ty)))
    }

    /// Whether a part has all that is wanted, in the wanted types, and what is read of it is intact.
    pub(crate) fn is_served_by(&self, part: &Arc<ColumnPart>) -> bool {
        let Some(known) = decoded(part) else { return false };
        let spots: Option<Vec<_>> = self.paths().map(|(path, ty)| known.spot(path, ty)).collect();
        let Some(spots) = spots else { return false };
        let leaves = leaves(known, &spots);
        let groups = known.metadata.metadata().row_groups().iter();
        groups.filter(|group| self.may_pass(known, group)).all(|group| {
            leaves.iter().all(|leaf| {
                let (start, size) = group.column(*leaf).byte_range();
                part.is_intact(start..start.saturating_add(size))
            })
        })
    }

    /// The row groups of a part that serves, without those that have no row that passes.
    pub(crate) fn groups(&self, part: &Arc<ColumnPart>, dead: &Arc<[u32]>) -> PartGroups {
        let mut found = PartGroups { groups: Vec::new(), skipped_count: 0 };
        let Some(known) = decoded(part) else { return found };
        let mut first_row = 0;
        for (number, group) in known.metadata.metadata().row_groups().iter().enumerate() {
            let row_count = u64::try_from(group.num_rows()).unwrap_or_default();
            match self.may_pass(known, group) {
                true => found.groups.push(PartGroup {
                    part: Arc::clone(part),
                    dead: Arc::clone(dead),
                    group: number,
                    first_row,
                    row_count,
                }),
                false => found.skipped_count += 1,
            }
            first_row += row_count;
        }
        found
    }

    /// Whether a row of a group may pass, by the least and the greatest values of its columns.
    fn may_pass(&self, known: &Decoded, group: &RowGroupMetaData) -> bool {
        self.tests.iter().all(|(condition, ty, test)| {
            match known.spot(&condition.path, ty) {
                Some(spot @ Spot::At { .. }) => {
                    let [leaf] = leaves(known, &[spot])[..] else { return true };
                    let Some(statistics) = group.column(leaf).statistics() else { return true };
                    if statistics.null_count_opt() == u64::try_from(group.num_rows()).ok() {
                        return false;
                    }
                    bounds(statistics).is_none_or(|(least, most)| test.may_pass(&least, &most))
                }
                Some(Spot::Missing) => false, // null passes no test
                None => true,
            }
        })
    }
}

/// Bounds of the values of a column.
fn bounds(statistics: &Statistics) -> Option<(Value, Value)> {
    Some(match statistics {
        Statistics::Boolean(own) => {
            (Value::Boolean(*own.min_opt()?), Value::Boolean(*own.max_opt()?))
        }
        Statistics::Int64(own) => {
            (Value::Integer(*own.min_opt()?), Value::Integer(*own.max_opt()?))
        }
        Statistics::Double(own) => (Value::Float(*own.min_opt()?), Value::Float(*own.max_opt()?)),
        Statistics::ByteArray(own) => {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok().map(Value::Text);
            (text(own.min_opt()?.data())?, text(own.max_opt()?.data())?)
        }
        _ => return None,
    })
}

/// The leaves of the columns in a file that spots need.
fn leaves(known: &Decoded, spots: &[Spot<'_>]) -> Vec<usize> {
    let schema = known.metadata.parquet_schema();
    let mut found = Vec::new();
    for (number, leaf) in schema.columns().iter().enumerate() {
        let root = schema.get_column_root_idx(number);
        let is_wanted = |spot: &Spot<'_>| match spot {
            Spot::Missing => false,
            Spot::At { column, members, .. } => {
                *column == root && leaf.path().parts()[1..].starts_with(members)
            }
        };
        if spots.iter().any(is_wanted) {
            found.push(number);
        }
    }
    found
}

/// The rows of row groups, in order.
pub(crate) struct PartRows {
    request: Arc<PartRequest>,
    group: PartGroup,
    reader: ParquetRecordBatchReader,
    /// Rows of the group that were read.
    at: u64,
}

impl PartRows {
    /// # Errors
    /// `corrupted`, which checksums have made impossible.
    pub(crate) fn new(
        request: &Arc<PartRequest>,
        group: PartGroup,
        batch_size: usize,
    ) -> QueryResult<Self> {
        let known = decoded(&group.part).ok_or_else(|| unread(&group.part))?;
        let spots = request.paths().filter_map(|(path, ty)| known.spot(path, ty));
        let leaves = leaves(known, &spots.collect::<Vec<_>>());
        let mask = ProjectionMask::leaves(known.metadata.parquet_schema(), leaves);
        let bytes = FileBytes::Mapped(Bytes::from_owner(PartBytes(Arc::clone(&group.part))));
        let reader = guarded("part", || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, known.metadata.clone())
                .with_projection(mask)
                .with_row_groups(vec![group.group])
                .with_batch_size(batch_size)
                .build()
        });
        let reader = reader.map_err(|_| unread(&group.part))?;
        Ok(Self { request: Arc::clone(request), group, reader, at: 0 })
    }

    /// The next rows that pass and are not dead; `None` at the end of the group.
    ///
    /// # Errors
    /// As [`PartRows::new`].
    pub(crate) fn next(&mut self) -> QueryResult<Option<Batch>> {
        let reader = &mut self.reader;
        let next = guarded("part", || reader.next().transpose().map_err(super::read::unwrapped));
        let Some(batch) = next.map_err(|_| unread(&self.group.part))? else { return Ok(None) };
        let known = decoded(&self.group.part).ok_or_else(|| unread(&self.group.part))?;
        let count = batch.num_rows();
        let first = self.group.first_row + self.at;
        self.at += count as u64;
        let mut kept = living(&self.group.dead, first, count);
        for (condition, ty, test) in &self.request.tests {
            let column = column_at(known, &batch, &condition.path, ty)
                .ok_or_else(|| unread(&self.group.part))?;
            let passed = test.passes(&column).ok_or_else(|| unread(&self.group.part))?;
            kept = Some(kept.map_or(passed.clone(), |kept| &kept & &passed));
        }
        let columns = self.request.columns.iter().map(|(path, ty)| {
            column_at(known, &batch, path, ty).ok_or_else(|| unread(&self.group.part))
        });
        let columns: Vec<ArrayRef> = columns.collect::<QueryResult<_>>()?;
        let Some(kept) = kept else { return Ok(Some(Batch::new(columns, count))) };
        let left = kept.count_set_bits();
        if left == count {
            return Ok(Some(Batch::new(columns, count)));
        }
        let kept = BooleanArray::new(kept, None);
        let columns = columns.iter().map(|column| filter(column, &kept));
        Ok(Some(Batch::new(columns.collect::<std::result::Result<_, _>>()?, left)))
    }
}

/// Which of `count` rows from `first` on are not among the dead; `None` if none of them is.
fn living(dead: &[u32], first: u64, count: usize) -> Option<BooleanBuffer> {
    let end = first + count as u64;
    let from = dead.partition_point(|row| u64::from(*row) < first);
    let dead = dead[from..].iter().take_while(|row| u64::from(**row) < end);
    let mut dead = dead.peekable();
    dead.peek()?;
    let mut living = BooleanBufferBuilder::new(count);
    living.append_n(count, true);
    dead.for_each(|row| living.set_bit((u64::from(*row) - first) as usize, false));
    Some(living.finish())
}

/// The values at a path in a batch of a part.
fn column_at(
    known: &Decoded,
    batch: &RecordBatch,
    path: &[String],
    wanted: &ColumnType,
) -> Option<ArrayRef> {
    let (column, members, ty) = match known.spot(path, wanted)? {
        Spot::Missing => return Some(new_null_array(&wanted.to_arrow(), batch.num_rows())),
        Spot::At { column, members, ty } => (column, members, ty),
    };
    let name = known.columns[column].path.join(".");
    let mut array = Arc::clone(batch.column_by_name(&name)?);
    for name in members {
        array = Arc::clone(array.as_struct_opt()?.column_by_name(name)?);
    }
    Some(adapted(&array, ty, wanted))
}

/// The error for a part that cannot be read although its checksums are right.
#[cold]
fn unread(part: &ColumnPart) -> QueryError {
    part.mark_damaged();
    damaged("part of columns", "it is not as it was written").help("run the statement again")
}
