//! Clauses of statements that change rows.

use folio_compute::{Error, Result};
use sqlparser::ast::{self, Spanned};

use super::{refuse_each, unsupported};
use crate::place::Place;

/// The clauses of INSERT that are not read elsewhere.
pub(in super::super) fn insert_clauses(insert: &ast::Insert) -> Result<()> {
    let ast::Insert {
        insert_token: _,
        optimizer_hints: _,
        or,
        ignore,
        into: _,
        table: _table,
        table_alias: _table_alias,
        columns: _columns,
        overwrite,
        source: _source,
        assignments,
        partitioned,
        after_columns,
        has_table_keyword: _,
        on: _on,
        returning: _returning,
        output,
        replace_into,
        priority,
        insert_alias,
        settings,
        format_clause,
        multi_table_insert_type,
        multi_table_into_clauses,
        multi_table_when_clauses,
        multi_table_else_clause,
    } = insert;
    match or {
        // ABORT is the default behaviour.
        None | Some(ast::SqliteOnConflict::Ignore | ast::SqliteOnConflict::Abort) => {}
        Some(ast::SqliteOnConflict::Replace) => {
            let help = "write ON CONFLICT (…) DO UPDATE SET …";
            return Err(unsupported("INSERT OR REPLACE", help));
        }
        Some(other) => {
            return Err(unsupported(
                &format!("INSERT OR {}", word_of(*other)),
                "leave it out: a statement that fails changes nothing",
            ));
        }
    }
    if *replace_into {
        return Err(unsupported("REPLACE INTO", "write INSERT … ON CONFLICT (…) DO UPDATE SET …"));
    }
    if *ignore {
        return Err(unsupported("INSERT IGNORE", "write ON CONFLICT DO NOTHING"));
    }
    if output.is_some() {
        return Err(unsupported("OUTPUT", "write RETURNING"));
    }
    let is_for_several = multi_table_insert_type.is_some()
        || !multi_table_into_clauses.is_empty()
        || !multi_table_when_clauses.is_empty()
        || multi_table_else_clause.is_some();
    let is_parted = partitioned.is_some() || !after_columns.is_empty();
    refuse_each([
        (*overwrite, "INSERT OVERWRITE"),
        (!assignments.is_empty(), "INSERT … SET"),
        (is_parted, "PARTITION of INSERT"),
        (priority.is_some(), "a priority of INSERT"),
        (insert_alias.is_some(), "an alias after VALUES"),
        (settings.is_some(), "SETTINGS"),
        (format_clause.is_some(), "FORMAT of INSERT"),
        (is_for_several, "INSERT into several tables"),
    ])
}

/// SET and WHERE of DO UPDATE.
type DoUpdate<'a> = (&'a [ast::Assignment], Option<&'a ast::Expr>);

/// The clauses of ON CONFLICT, all of which are read.
pub(in super::super) fn conflict_clauses(
    conflict: &ast::OnConflict,
) -> (Option<&ast::ConflictTarget>, Option<DoUpdate<'_>>) {
    let ast::OnConflict { conflict_target, action } = conflict;
    let update = match action {
        ast::OnConflictAction::DoNothing => None,
        ast::OnConflictAction::DoUpdate(ast::DoUpdate { assignments, selection }) => {
            Some((&assignments[..], selection.as_ref()))
        }
    };
    (conflict_target.as_ref(), update)
}

/// The clauses of UPDATE that are not read elsewhere.
pub(in super::super) fn update_clauses(update: &ast::Update) -> Result<()> {
    let ast::Update {
        update_token: _,
        optimizer_hints: _,
        table: _table,
        assignments: _assignments,
        from: _from,
        selection: _selection,
        returning: _returning,
        output,
        or,
        order_by,
        limit,
    } = update;
    if let Some(or) = or.filter(|or| *or != ast::SqliteOnConflict::Abort) {
        return Err(unsupported(
            &format!("UPDATE OR {}", word_of(or)),
            "leave it out: a statement that fails changes nothing",
        ));
    }
    if output.is_some() {
        return Err(unsupported("OUTPUT", "write RETURNING"));
    }
    if limit.is_some() || !order_by.is_empty() {
        let help = "write WHERE id IN (SELECT id FROM … ORDER BY … LIMIT 1)";
        return Err(unsupported("UPDATE … LIMIT", help));
    }
    Ok(())
}

/// The clauses of DELETE that are not read elsewhere.
pub(in super::super) fn delete_clauses(delete: &ast::Delete) -> Result<()> {
    let ast::Delete {
        delete_token: _,
        optimizer_hints: _,
        tables,
        from: _from,
        using: _using,
        selection: _selection,
        returning: _returning,
        output,
        order_by,
        limit,
    } = delete;
    if !tables.is_empty() {
        return Err(unsupported("a table before FROM", "write DELETE FROM t USING …"));
    }
    if output.is_some() {
        return Err(unsupported("OUTPUT", "write RETURNING"));
    }
    if limit.is_some() || !order_by.is_empty() {
        let help = "write WHERE id IN (SELECT id FROM … ORDER BY … LIMIT 1)";
        return Err(unsupported("DELETE … LIMIT", help));
    }
    Ok(())
}

/// The clauses of MERGE: the table, the source, the condition, and the actions.
#[allow(clippy::type_complexity, reason = "these are its parts")]
pub(in super::super) fn merge_clauses(
    merge: &ast::Merge,
) -> Result<(&ast::TableFactor, &ast::TableFactor, &ast::Expr, &[ast::MergeClause])> {
    let ast::Merge { merge_token, optimizer_hints: _, into: _, table, source, on, clauses, output } =
        merge;
    let span = merge_token.0.span.to_span();
    if output.is_some() {
        let help = "read the table in a statement after it";
        return Err(unsupported("RETURNING of MERGE", help).at(span));
    }
    if clauses.is_empty() {
        return Err(Error::syntax("MERGE does nothing").at(span).help("add WHEN MATCHED THEN …"));
    }
    Ok((table, source, on, clauses))
}

/// The name and the alias of a changed table.
pub(in super::super) fn target_clauses(
    factor: &ast::TableFactor,
) -> Result<(&ast::ObjectName, Option<&ast::Ident>)> {
    let ast::TableFactor::Table { name, alias, args: None, .. } = factor else {
        return Err(Error::unsupported("only a table can be changed"));
    };
    super::factor_clauses(factor)?;
    if let Some(alias) = alias.as_ref().filter(|alias| !alias.columns.is_empty()) {
        let error =
            unsupported("renaming columns of the table that changes", "leave the names out");
        return Err(error.at(alias.name.span.to_span()));
    }
    Ok((name, alias.as_ref().map(|alias| &alias.name)))
}

/// Both sides of `a = 1`.
pub(in super::super) fn assignment_clauses(
    assignment: &ast::Assignment,
) -> (&ast::AssignmentTarget, &ast::Expr) {
    let ast::Assignment { target, value } = assignment;
    (target, value)
}

fn word_of(or: ast::SqliteOnConflict) -> String {
    or.to_string().trim_start_matches("OR ").to_owned()
}

/// The clauses of TRUNCATE. ONLY and `*` concern table inheritance, which does not exist here.
pub(in super::super) fn truncate_clauses(truncate: &ast::Truncate) -> Result<()> {
    let ast::Truncate {
        table_names,
        partitions,
        table: _,
        if_exists: _if_exists,
        identity: _identity,
        cascade,
        on_cluster,
    } = truncate;
    for ast::TruncateTableTarget { name: _name, only: _, has_asterisk: _ } in table_names {}
    if matches!(cascade, Some(ast::CascadeOption::Cascade)) {
        return Err(unsupported("TRUNCATE … CASCADE", "name all tables: TRUNCATE a, b"));
    }
    refuse_each([
        (partitions.is_some(), "TRUNCATE … PARTITION"),
        (on_cluster.is_some(), "ON CLUSTER"),
    ])
    .map_err(|error| error.at(truncate.span().to_span()))
}
