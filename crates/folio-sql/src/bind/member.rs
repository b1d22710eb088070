//! Binds members of structs, maps and JSON: `geo.lat` as a value, and as the target of an assignment.

use std::sync::Arc;

use folio_compute::{Error, Result, Span, type_name};
use folio_engine::expression::coerce::as_member;
use folio_engine::expression::{Column, Expr, Function, function};
use folio_engine::source::Relation;
use folio_types::{ColumnType, Value, same_name};
use sqlparser::ast;

use super::expression::join;
use crate::place::Place;

/// Access to a field of a struct, the value of a key of a map, or a member of JSON.
pub(super) fn member(root: Expr, name: &str, span: Span) -> Result<Expr> {
    match root.ty() {
        ColumnType::Struct(fields) => {
            let exact = fields.iter().position(|(field, _)| field == name);
            let similar = || fields.iter().position(|(field, _)| same_name(field, name));
            let found = exact.or_else(similar);
            let Some(index) = found else {
                let names = fields.iter().map(|(field, _)| &**field);
                let error = Error::not_found(format!("there is no field {name:?}"));
                return Err(error.near(name, names).at(span));
            };
            let returns = fields[index].1.clone();
            let function = Function::field(root.ty(), index, returns);
            Ok(Expr::Function { function: Arc::new(function), arguments: vec![root], span })
        }
        ColumnType::Map(_) => {
            let key = Expr::literal(Value::Text(name.to_owned()), ColumnType::Text);
            function::resolve("map_get", vec![root, key], span)
        }
        ColumnType::Json => {
            let name = Expr::literal(Value::Text(name.to_owned()), ColumnType::Text);
            function::resolve("json_get", vec![root, name], span)
        }
        other => {
            let ty = type_name(&other);
            Err(Error::mismatch(format!("a value of type {ty} has no field {name:?}")).at(span))
        }
    }
}

/// A member below a column, as the target of an assignment.
pub(super) struct MemberPlace {
    pub(super) column: usize,
    names: Vec<String>,
    pub(super) span: Span,
}

/// The member that `geo.lat` names; `None` if the name means a column.
///
/// # Errors
/// `type_mismatch` for a column without members; `unsupported` for a struct of a table.
pub(super) fn member_place(
    name: &ast::ObjectName,
    table: &Relation,
) -> Result<Option<MemberPlace>> {
    let parts = name.0.iter().map(ast::ObjectNamePart::as_ident).collect::<Option<Vec<_>>>();
    let parts = parts.unwrap_or_default();
    let [first, .., last] = &parts[..] else { return Ok(None) };
    let column_at = |at: usize| table.column_index(&parts[at].value);
    let is_its_name = same_name(&first.value, &table.schema.name);
    let is_qualified = is_its_name && column_at(1).is_some();
    let start = usize::from(is_qualified && parts.len() > 2);
    let Some(column) = column_at(start) else { return Ok(None) };
    let span = join(first.span.to_span(), last.span.to_span());
    if is_qualified && start == 0 {
        // Where it is read, it is the column of the relation.
        let (own, name) = (&first.value, &last.value);
        let text = format!("{own}.{name} may be column {name:?}, or a member of column {own:?}");
        let error = Error::invalid(text).at(span);
        return Err(error.help(format!("write {name}, or {own}.{own}.{name}")));
    }
    let ty = table.column_type(column);
    if *ty != ColumnType::Json {
        let (column, name) = (&parts[start].value, &parts[start + 1].value);
        return Err(match ty {
            ColumnType::Struct(_) => {
                let text = format!("column {column:?} is a struct, which is set as a whole");
                Error::unsupported(text).at(span).help(format!("write {column} = row(…)"))
            }
            _ => {
                let text = format!("a value of type {} has no field {name:?}", type_name(ty));
                Error::mismatch(text).at(span)
            }
        });
    }
    let names = parts[start + 1..].iter().map(|part| part.value.clone()).collect();
    Ok(Some(MemberPlace { column, names, span }))
}

impl MemberPlace {
    /// Adds the assignment of a value to those of the column. `row` has the columns as written.
    pub(super) fn set(
        self,
        value: Expr,
        table: &Relation,
        row: &[Column],
        changes: &mut Vec<(usize, Expr)>,
    ) -> Result<()> {
        let (column, span, path) = (self.column, self.span, self.path(table));
        let value = as_member(value).map_err(|error| error.at(span))?;
        let old = changes.iter().position(|(other, _)| *other == column);
        let before = match old {
            Some(old) => changes.remove(old).1,
            None => Expr::Column(row[column].clone()),
        };
        changes.push((column, function::resolve("json_set", vec![before, path, value], span)?));
        Ok(())
    }

    /// The names as a list, in the spelling of the documents.
    fn path(mut self, table: &Relation) -> Expr {
        let mut known = table.paths.typed(self.column);
        for name in &mut self.names {
            let next = known.and_then(|at| table.paths.member_named(at, name));
            if let Some((_, spelling)) = next {
                spelling.clone_into(name);
            }
            known = next.map(|(at, _)| at);
        }
        let names = self.names.into_iter().map(Value::Text).collect();
        Expr::literal(Value::List(names), ColumnType::List(Box::new(ColumnType::Text)))
    }
}
