//! Clauses of other statements.

use folio_compute::{Error, Result, Span};
use folio_engine::bound::Explained;
use sqlparser::ast;

use super::{refuse, refuse_each, unsupported};
use crate::place::Place;

/// The clauses of DROP that are not read elsewhere. RESTRICT is the default behaviour.
pub(in super::super) fn drop_clauses(statement: &ast::Statement) -> Result<()> {
    let ast::Statement::Drop {
        object_type,
        if_exists: _if_exists,
        names: _names,
        cascade,
        restrict: _,
        purge,
        temporary,
        table,
    } = statement
    else {
        return Ok(());
    };
    let is_table = matches!(object_type, ast::ObjectType::Table);
    if *cascade && !is_table {
        let help = "leave it out: only tables are referenced";
        return Err(unsupported(&format!("DROP {object_type} … CASCADE"), help));
    }
    if table.is_some() {
        let help = "leave ON out: the name of an index is enough";
        return Err(unsupported("DROP INDEX … ON", help));
    }
    refuse_each([(*purge, "PURGE"), (*temporary, "DROP TEMPORARY")])
}

/// The clauses of COPY that are not read elsewhere.
pub(in super::super) fn copy_clauses(statement: &ast::Statement) -> Result<()> {
    let ast::Statement::Copy {
        source: _source,
        to: _to,
        target: _target,
        options: _options,
        legacy_options: _legacy_options,
        values,
    } = statement
    else {
        return Ok(());
    };
    refuse(!values.is_empty(), "COPY with rows after it")
}

/// The options of EXPLAIN.
pub(in super::super) fn explain_clauses(statement: &ast::Statement) -> Result<Explained> {
    let ast::Statement::Explain {
        describe_alias: _,
        analyze,
        verbose,
        query_plan: _,
        estimate,
        statement: _statement,
        format,
        options,
    } = statement
    else {
        return Ok(Explained::default());
    };
    refuse_each([
        (*verbose, "EXPLAIN VERBOSE"),
        (*estimate, "EXPLAIN ESTIMATE"),
        (format.is_some(), "EXPLAIN FORMAT"),
    ])?;
    let mut clauses = Explained { analyze: *analyze, ..Explained::default() };
    for ast::UtilityOption { name, arg } in options.iter().flatten() {
        let word = arg.as_ref().map(|arg| arg.to_string().trim_matches('\'').to_lowercase());
        let is_on = match word.as_deref() {
            None | Some("true" | "on" | "1") => Some(true),
            Some("false" | "off" | "0") => Some(false),
            Some(_) => None,
        };
        match (&*name.value.to_lowercase(), is_on, word.as_deref()) {
            ("analyze", Some(is_on), _) => clauses.analyze = is_on,
            ("estimates", Some(is_on), _) => clauses.estimates = is_on,
            ("advice", Some(is_on), _) => clauses.advice = is_on,
            ("format", _, Some("text")) => {}
            // Options that are switched off.
            ("verbose" | "costs" | "buffers" | "settings" | "timing" | "wal", Some(false), _) => {}
            (option, _, _) => {
                let what = format!("the option {} of EXPLAIN", option.to_uppercase());
                let error = unsupported(&what, "the options are ANALYZE, ESTIMATES and ADVICE");
                return Err(error.at(name.span.to_span()));
            }
        }
    }
    Ok(clauses)
}

/// The clauses of SHOW TABLES and SHOW COLUMNS, and the table of the latter.
pub(in super::super) fn show_clauses(
    statement: &ast::Statement,
) -> Result<Option<&ast::ObjectName>> {
    let options = match statement {
        ast::Statement::ShowTables {
            terse: _,
            history,
            extended: _,
            full: _,
            external,
            show_options,
        } => {
            refuse_each([(*history, "HISTORY"), (*external, "SHOW EXTERNAL TABLES")])?;
            refuse(show_options.show_in.is_some(), "SHOW TABLES … FROM")?;
            show_options
        }
        ast::Statement::ShowColumns { extended: _, full: _, show_options } => show_options,
        _ => return Ok(None),
    };
    let ast::ShowStatementOptions { show_in, starts_with, limit, limit_from, filter_position } =
        options;
    let is_narrowed = starts_with.is_some()
        || limit.is_some()
        || limit_from.is_some()
        || filter_position.is_some();
    if is_narrowed {
        let help = "write SELECT … FROM information_schema.tables, or columns, WHERE …";
        return Err(unsupported("a condition of SHOW", help));
    }
    let Some(ast::ShowStatementIn { clause: _, parent_type: _, parent_name }) = show_in else {
        return Ok(None);
    };
    Ok(parent_name.as_ref())
}

/// The table of DESCRIBE.
pub(in super::super) fn describe_clauses(
    statement: &ast::Statement,
) -> Result<Option<&ast::ObjectName>> {
    let ast::Statement::ExplainTable {
        describe_alias: _,
        hive_format,
        has_table_keyword: _,
        table_name,
    } = statement
    else {
        return Ok(None);
    };
    refuse(hive_format.is_some(), "DESCRIBE EXTENDED")?;
    Ok(Some(table_name))
}

/// Whether BEGIN opens a read-only transaction. Isolation always exceeds the requested level.
pub(in super::super) fn begin_clauses(statement: &ast::Statement) -> Result<bool> {
    let ast::Statement::StartTransaction {
        modes,
        begin: _,
        transaction: _,
        modifier,
        statements,
        exception,
        has_end_keyword: _,
    } = statement
    else {
        return Ok(false);
    };
    if let Some(modifier) = modifier {
        let help = "write BEGIN: the first change waits for its turn to write";
        return Err(unsupported(&format!("BEGIN {modifier}"), help));
    }
    let has_body = !statements.is_empty() || exception.is_some();
    refuse(has_body, "a block of statements")?;
    let is_read_only = |mode: &_| match mode {
        ast::TransactionMode::AccessMode(ast::TransactionAccessMode::ReadOnly) => true,
        ast::TransactionMode::AccessMode(ast::TransactionAccessMode::ReadWrite)
        | ast::TransactionMode::IsolationLevel(_) => false,
    };
    Ok(modes.iter().any(is_read_only))
}

/// The clauses of COMMIT and ROLLBACK, and the savepoint to roll back to.
pub(in super::super) fn commit_clauses(statement: &ast::Statement) -> Result<Option<&ast::Ident>> {
    let (chain, savepoint, modifier) = match statement {
        ast::Statement::Commit { chain, end: _, modifier } => (*chain, None, modifier.is_some()),
        ast::Statement::Rollback { chain, savepoint } => (*chain, savepoint.as_ref(), false),
        _ => return Ok(None),
    };
    if chain {
        return Err(Error::unsupported("AND CHAIN is not supported").help("write BEGIN after it"));
    }
    refuse(modifier, "a modifier of COMMIT").map_err(|error| error.at(Span::NONE))?;
    Ok(savepoint)
}
