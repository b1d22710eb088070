//! The columns of new parts, and the bytes that lines become.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use folio_document::{IndexDefinition, PartDraft};
use folio_engine::source::{Relation, RelationKind};
use folio_file::SummedMap;
use folio_json::Tree;

use super::encoding::Packing;
use super::types::has_members;
use super::writer::PartWriter;
use super::{PartColumn, decoded};
use crate::error::Result;
use crate::format::json::{DOCUMENT, LineBatches, LineColumns, schema_of};

/// The member that is the key.
const ID: &str = "_id";

/// What the columns of new parts are.
pub(crate) struct PartLayout {
    pub(super) relation: Relation,
    /// Their positions in the relation.
    pub(super) positions: Vec<usize>,
    pub(super) columns: Vec<PartColumn>,
    /// What is in no column is in no document.
    is_whole: bool,
    pub(super) keys_are_distinct: bool,
    schema: SchemaRef,
}

impl PartLayout {
    /// The columns of a definition, for documents of these types.
    pub(crate) fn new(types: &Tree, definition: &IndexDefinition) -> Self {
        let (schema, paths) = schema_of(types, "part", Some(ID), Some(DOCUMENT), &[]);
        let relation = Relation::new(RelationKind::Collection, schema, Arc::new(()));
        let relation = Relation { paths, ..relation };
        let known = relation.schema.columns.len() - 1; // without the document
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
        let fields = layout
            .columns
            .iter()
            .map(|column| Field::new(&column.name, column.ty.to_arrow(), column.path != [ID]));
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
        if !has_members(&ty) || self.columns.iter().any(|own| own.name == name) {
            self.is_whole = false;
            return;
        }
        self.positions.push(position);
        self.columns.push(PartColumn { path, name, ty });
    }

    /// Whether a part has all that a part of this layout would have.
    pub(crate) fn is_served_by(&self, part: &SummedMap) -> bool {
        let Some(known) = decoded(part) else { return false };
        (known.is_whole || !self.is_whole)
            && self.columns.iter().all(|own| known.spot(&own.path, &own.ty).is_some())
    }

    /// The bytes of a part with the rows of a draft; `None` if its lines have other types by now.
    ///
    /// # Errors
    /// Errors of the scan.
    pub(crate) fn encode(&self, draft: &mut PartDraft) -> Result<Option<Vec<u8>>> {
        let columns =
            LineColumns::new(&self.relation, &self.positions, &[], self.keys_are_distinct);
        let mut batches = LineBatches::of(columns);
        let mut writer =
            PartWriter::new(&self.schema, &self.columns, self.is_whole, Packing::Small);
        loop {
            let line = draft.next_line()?;
            let is_end = line.is_none();
            if line.is_some_and(|line| batches.push(line).is_err()) {
                return Ok(None);
            }
            if (batches.is_full() || is_end)
                && let Some(batch) = batches.finish()
                && writer.write(batch.columns).is_err()
            {
                return Ok(None);
            }
            if is_end {
                return Ok(writer.finish());
            }
        }
    }
}
