//! Clauses after a star: `* EXCLUDE (a)`, `* REPLACE (a + 1 AS a)`, `* RENAME (a AS b)`.

use folio_compute::{Error, Result, Span};
use folio_types::same_name;
use sqlparser::ast;

use super::scope::ScopeColumn;
use super::unsupported;
use crate::place::Place;

/// The change of a column in a star.
#[derive(Clone, Copy)]
pub(super) enum What<'s> {
    LeftOut,
    Replaced(&'s ast::Expr),
    Renamed(&'s ast::Ident),
}

/// A column named after a star, and its change.
pub(super) struct Change<'s> {
    table: Option<String>,
    name: String,
    span: Span,
    what: What<'s>,
    is_used: bool,
}

/// Reads the changes after a star.
///
/// # Errors
/// `unsupported` for other clauses; `invalid_input` for a column that is changed twice.
pub(super) fn changes(options: &ast::WildcardAdditionalOptions) -> Result<Vec<Change<'_>>> {
    let (exclude, replace, rename) = unsupported::star_clauses(options)?;
    let mut changes: Vec<Change<'_>> = Vec::new();
    let mut add = |names: &[ast::Ident], what| -> Result<()> {
        let [rest @ .., last] = names else { return Err(Error::syntax("a name is empty")) };
        let change = Change {
            table: rest.last().map(|table| table.value.clone()),
            name: last.value.clone(),
            span: last.span.to_span(),
            what,
            is_used: false,
        };
        let is_same = |other: &Change<'_>| {
            same_name(&other.name, &change.name)
                && other.table.as_deref() == change.table.as_deref()
        };
        if changes.iter().any(is_same) {
            let text = format!("the star names column {:?} twice", change.name);
            return Err(Error::invalid(text).at(change.span).help("name it once"));
        }
        changes.push(change);
        Ok(())
    };
    let excluded = match exclude {
        None => &[][..],
        Some(ast::ExcludeSelectItem::Single(name)) => std::slice::from_ref(name),
        Some(ast::ExcludeSelectItem::Multiple(names)) => names,
    };
    for name in excluded {
        let parts = name.0.iter().map(|part| {
            part.as_ident().cloned().ok_or_else(|| Error::syntax("EXCLUDE takes names of columns"))
        });
        add(&parts.collect::<Result<Vec<_>>>()?, What::LeftOut)?;
    }
    for item in replace.into_iter().flat_map(|replace| &replace.items) {
        let ast::ReplaceSelectElement { expr, column_name, as_keyword: _ } = &**item;
        add(std::slice::from_ref(column_name), What::Replaced(expr))?;
    }
    let renamed = match rename {
        None => &[][..],
        Some(ast::RenameSelectItem::Single(item)) => std::slice::from_ref(item),
        Some(ast::RenameSelectItem::Multiple(items)) => items,
    };
    for ast::IdentWithAlias { ident, alias } in renamed {
        add(std::slice::from_ref(ident), What::Renamed(alias))?;
    }
    Ok(changes)
}

/// The change of a column.
pub(super) fn change_of<'s>(changes: &mut [Change<'s>], column: &ScopeColumn) -> Option<What<'s>> {
    let found = changes.iter_mut().find(|change| {
        let is_of_table =
            |table: &str| column.table.as_deref().is_some_and(|own| same_name(own, table));
        same_name(&change.name, &column.name) && change.table.as_deref().is_none_or(is_of_table)
    })?;
    found.is_used = true;
    Some(found.what)
}

/// Refuses changes of columns that are not in the star.
pub(super) fn check_used(changes: &[Change<'_>], names: &[&str]) -> Result<()> {
    let Some(unused) = changes.iter().find(|change| !change.is_used) else { return Ok(()) };
    Err(Error::not_found(format!("the star has no column {:?}", unused.name))
        .near_or_all(&unused.name, names.iter().copied())
        .at(unused.span))
}
