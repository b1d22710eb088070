//! Binds what a statement writes into a collection that none of its documents has had.
//!
//! A collection's columns are those of its documents so far, and so are their types. A number of
//! another type is stored as it is, and an open or empty collection takes fields that are new. Which
//! these are is known once the statement is bound: then it is bound again, over the collection with
//! them ([`Relation::widened`]).

use std::sync::Arc;

use folio_compute::type_rules::{is_integer, is_numeric};
use folio_compute::{Result, Span};
use folio_engine::expression::coerce::{as_member, assign, text_as_member};
use folio_engine::expression::{Column, ColumnId, Expr};
use folio_engine::source::{DOCUMENT, Relation, RelationKind};
use folio_types::ColumnType;
use sqlparser::ast;

use super::Binder;
use super::change::column_of;
use super::insert::takes_value;
use crate::place::Place;

/// What a statement writes that no document of its collection has had.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unseen {
    /// Columns of numbers that get numbers of other types.
    wider: Vec<String>,
    /// Fields.
    added: Vec<String>,
    /// Whether some were found since the statement was begun.
    is_more: bool,
}

impl Unseen {
    /// Everything, if some of it was not known when the statement was begun.
    pub(crate) fn take_more(&mut self) -> Option<Self> {
        std::mem::take(&mut self.is_more).then(|| std::mem::take(self))
    }

    /// The relation with them.
    pub(super) fn in_relation(&self, relation: Arc<Relation>) -> Arc<Relation> {
        let is_usual = self.wider.is_empty() && self.added.is_empty();
        match is_usual || relation.kind != RelationKind::Collection {
            true => relation,
            false => Arc::new(relation.widened(&self.wider, &self.added)),
        }
    }
}

fn push(names: &mut Vec<String>, name: &str) -> bool {
    let is_new = !names.iter().any(|known| known == name);
    if is_new {
        names.push(name.to_owned());
    }
    is_new
}

impl Binder<'_> {
    /// Knows what the statement writes, before it is bound again.
    pub(crate) fn know(&mut self, unseen: Unseen) {
        self.unseen = unseen;
    }

    /// What the statement writes, if it has to be bound again.
    pub(crate) fn take_unseen(&mut self) -> Option<Unseen> {
        self.unseen.take_more()
    }

    /// The position of a column that the statement writes.
    ///
    /// # Errors
    /// `not_found`; also for a field that is new, which is there when the statement is bound again.
    pub(super) fn written_column(
        &mut self,
        table: &Relation,
        name: &str,
        span: Span,
    ) -> Result<usize> {
        column_of(table, name, span).inspect_err(|_| {
            let is_empty = table.schema.columns.iter().all(|column| {
                column.name == DOCUMENT || table.column_index(&column.name) == Some(0)
            });
            let takes_any =
                table.constraints.has_open_paths || is_empty || !self.unseen.added.is_empty();
            if table.kind == RelationKind::Collection && takes_any {
                self.unseen.is_more |= push(&mut self.unseen.added, name);
            }
        })
    }

    /// Casts a value to the type of a column. Into a collection it is written as it is: as JSON
    /// where documents have values of several types or of none, and as the number that it is.
    pub(super) fn assigned_to(
        &mut self,
        value: Expr,
        table: &Relation,
        target: usize,
        span: Span,
    ) -> Result<Expr> {
        let column = &table.schema.columns[target];
        takes_value(table, target, span)?;
        let ty = &column.column_type;
        if table.kind == RelationKind::Collection {
            let is_document = table.document_column() == Some(target);
            if *ty == ColumnType::Json && !(is_document && value.is_untyped()) {
                return as_member(value).map_err(|error| error.at(span));
            }
            if is_other_number(&value.ty(), ty) {
                self.unseen.is_more |= push(&mut self.unseen.wider, &column.name);
                return Ok(Expr::null(ty.clone()));
            }
        }
        assign(value, ty, &column.name).map_err(|error| error.at(span))
    }

    /// The same for a column of a query. A text may be the JSON of an object or a list where
    /// documents have nothing else.
    pub(super) fn selected_to(
        &mut self,
        source: &Column,
        table: &Relation,
        target: usize,
    ) -> Result<Expr> {
        let column = &table.schema.columns[target];
        let value = Expr::Column(source.clone());
        if table.kind != RelationKind::Collection {
            return assign(value, &column.column_type, &column.name);
        }
        let is_nested = table.paths.typed(target).is_some() && !table.is_widened(target);
        match is_nested && source.ty == ColumnType::Text {
            true => text_as_member(value),
            false => self.assigned_to(value, table, target, Span::NONE),
        }
    }
}

/// Whether a column of numbers cannot hold a number of another type as it is written.
fn is_other_number(from: &ColumnType, column: &ColumnType) -> bool {
    match column {
        _ if from == column || !is_numeric(from) => false,
        ColumnType::Int64 => !is_integer(from),
        ColumnType::Float64 => *from != ColumnType::Float32,
        _ => false,
    }
}

/// The columns of a row as they are written, by position.
pub(super) fn written_columns(table: &Relation) -> Vec<Column> {
    let columns = table.schema.columns.iter().enumerate().map(|(index, column)| Column {
        id: ColumnId(u32::try_from(index).unwrap_or(u32::MAX)),
        ty: column.column_type.clone(),
        name: (&*column.name).into(),
    });
    columns.collect()
}

/// The type that expressions over a row read a column as.
pub(super) fn read_type(table: &Relation, index: usize) -> ColumnType {
    match table.is_widened(index) {
        true => ColumnType::Float64,
        false => table.schema.columns[index].column_type.clone(),
    }
}

/// Makes an expression over some rows of a table, one after another, read the columns as they are
/// written: numbers in JSON are cast. One that is written again as it was stays as it is.
pub(super) fn read_as_written(value: &mut Expr, table: &Relation, row_count: usize) {
    let width = table.schema.columns.len();
    if !(0..width).any(|index| table.is_widened(index)) {
        return;
    }
    value.transform(&mut |part| match part {
        Expr::Column(column) => {
            let at = column.id.0 as usize;
            if at < row_count * width && table.is_widened(at % width) {
                let written = Column { ty: ColumnType::Json, ..column.clone() };
                *part = Expr::Cast {
                    input: Box::new(Expr::Column(written)),
                    to: ColumnType::Float64,
                    is_try: false,
                    span: Span::NONE,
                };
            }
        }
        Expr::Function { function, arguments, .. } if function.name == "to_json" => {
            if let [Expr::Cast { input, to: ColumnType::Float64, .. }] = &arguments[..]
                && matches!(&**input, Expr::Column(column) if column.ty == ColumnType::Json)
            {
                *part = (**input).clone();
            }
        }
        _ => {}
    });
}

/// The place of the field that a path begins with, if the collection has no such field.
pub(super) fn unseen_field<'n>(
    name: &'n ast::ObjectName,
    table: &Relation,
) -> Option<(&'n str, Span)> {
    let parts = name.0.iter().map(ast::ObjectNamePart::as_ident).collect::<Option<Vec<_>>>()?;
    let own = parts.first()?.value.eq_ignore_ascii_case(&table.schema.name);
    let parts = if own { &parts[1..] } else { &parts[..] };
    let [first, _, ..] = parts else { return None };
    let is_unseen =
        table.kind == RelationKind::Collection && table.column_index(&first.value).is_none();
    is_unseen.then(|| (&*first.value, first.span.to_span()))
}
