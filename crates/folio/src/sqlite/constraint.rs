//! Constraints: keys, indexes, checks and references, each imported if the rows satisfy it.
//!
//! SQLite checks foreign keys only on request, and never checks existing rows against a CHECK that
//! was added later. So a file may hold rows that violate them. Such rows are imported, and the
//! constraint is left out, with a note.

use folio_engine::{OnDelete, OnUpdate, Reference};
use folio_sqlite::{
    Note, ReferenceDefinition, SourceIndex, TablePlan, name_list, quoted_name, same_names,
};
use folio_types::ErrorCode;

use super::report::SqliteReport;
use crate::dump::{breaks_check, breaks_reference};
use crate::error::{Error, Result};
use crate::session::Session;

/// Runs a statement; the inner error is why it was refused.
pub(super) fn attempt(
    session: &mut Session,
    text: &str,
) -> Result<std::result::Result<(), String>> {
    use ErrorCode::{Conflict, InvalidInput, NotFound, Syntax, TypeMismatch, Unsupported};
    match session.execute(text, &[]) {
        Ok(_) => Ok(Ok(())),
        Err(error) => match error.code() {
            Conflict | InvalidInput | NotFound | Syntax | TypeMismatch | Unsupported => {
                Ok(Err(reason(&error)))
            }
            _ => Err(error),
        },
    }
}

/// An error as one line.
pub(super) fn reason(error: &Error) -> String {
    match error {
        Error::Query(error) if error.code() == ErrorCode::Syntax => {
            "FolioDB has no such expression".to_owned()
        }
        Error::Query(error) => error.message().to_owned(),
        other => other.to_string(),
    }
}

/// Creates a table, with those defaults and checks that our SQL accepts.
///
/// # Errors
/// Why the table itself is refused.
pub(super) fn create(
    session: &mut Session,
    plan: &mut TablePlan<'_>,
    report: &mut SqliteReport,
) -> Result<()> {
    if attempt(session, &plan.statement(|_| true, |_| true))?.is_ok() {
        return Ok(());
    }
    // If the bare table is refused, none of its parts is at fault.
    let bare = plan.statement(|_| false, |_| false);
    if try_out(session, &bare)?.is_err() {
        return session.execute(&bare, &[]).map(drop);
    }
    let table = plan.source.name.clone();
    for at in 0..plan.columns.len() {
        if plan.columns[at].default.is_none() {
            continue;
        }
        if let Err(reason) = try_out(session, &plan.statement(|own| own == at, |_| false))? {
            let text = plan.columns[at].default.take();
            let name = &plan.columns[at].name;
            report.notes.push(Note::left_out(format!(
                "DEFAULT {} of column {name:?} of table {table:?} left out: {reason}",
                shortened(&text.unwrap_or_default())
            )));
        }
    }
    let mut kept = Vec::new();
    for (at, check) in plan.checks.iter().enumerate() {
        match try_out(session, &plan.statement(|_| false, |own| own == at))? {
            Ok(()) => kept.push(check.clone()),
            Err(reason) => report.notes.push(check_left_out(&table, &check.1, &reason)),
        }
    }
    plan.checks = kept;
    session.execute(&plan.statement(|_| true, |_| true), &[]).map(drop)
}

/// Tries a statement and undoes it. Returns whether it succeeded.
fn try_out(session: &mut Session, text: &str) -> Result<std::result::Result<(), String>> {
    session.execute("SAVEPOINT folio_sqlite", &[])?;
    let outcome = attempt(session, text)?;
    session.execute("ROLLBACK TO folio_sqlite", &[])?;
    session.execute("RELEASE folio_sqlite", &[])?;
    Ok(outcome)
}

fn check_left_out(table: &str, text: &str, reason: &str) -> Note {
    let text = shortened(text);
    Note::left_out(format!("CHECK ({text}) of table {table:?} left out: {reason}"))
}

/// The start of an expression, for a note.
fn shortened(text: &str) -> String {
    const LENGTH_MAX: usize = 100;
    match text.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Creates the indexes of a filled table.
///
/// # Errors
/// Errors of the store.
pub(super) fn index(
    session: &mut Session,
    plan: &TablePlan<'_>,
    indexes: &[SourceIndex],
    report: &mut SqliteReport,
) -> Result<()> {
    let table = &plan.source.name;
    let mut made: Vec<Vec<String>> = Vec::new();
    for names in &plan.unique {
        if made.iter().any(|other| same_names(other, names)) {
            continue;
        }
        let name = format!("{table}_{}_key", names.join("_"));
        let text = index_text(&name, table, true, &name_list(names));
        match attempt(session, &text)? {
            Ok(()) => report.index_count += 1,
            Err(reason) => report.notes.push(Note::left_out(format!(
                "UNIQUE ({}) of table {table:?} left out: {reason}",
                names.join(", ")
            ))),
        }
        made.push(names.clone());
    }
    for index in indexes.iter().filter(|index| index.table.eq_ignore_ascii_case(table)) {
        let outcome = match &index.columns {
            Err(reason) => Err((*reason).to_owned()),
            Ok(columns) if columns.iter().any(|(name, _)| plan.position(name).is_none()) => {
                Err("it indexes an expression or a computed column".to_owned())
            }
            Ok(columns) => {
                let columns: Vec<String> = columns
                    .iter()
                    .map(|(name, is_descending)| {
                        format!(
                            "{}{}",
                            quoted_name(name),
                            if *is_descending { " DESC" } else { "" }
                        )
                    })
                    .collect();
                let columns = columns.join(", ");
                attempt(session, &index_text(&index.name, table, index.is_unique, &columns))?
            }
        };
        match outcome {
            Ok(()) => report.index_count += 1,
            Err(reason) => report.notes.push(Note::left_out(format!(
                "index {:?} of table {table:?} left out: {reason}",
                index.name
            ))),
        }
    }
    Ok(())
}

fn index_text(name: &str, table: &str, is_unique: bool, columns: &str) -> String {
    let unique = if is_unique { "UNIQUE " } else { "" };
    format!("CREATE {unique}INDEX {} ON {} ({columns})", quoted_name(name), quoted_name(table))
}

/// Adds the checks and references that the rows satisfy.
///
/// # Errors
/// Errors of the store.
pub(super) fn constrain(
    session: &mut Session,
    plan: &TablePlan<'_>,
    report: &mut SqliteReport,
) -> Result<()> {
    let table = &plan.source.name;
    let mut broken = Vec::new();
    for (name, text) in &plan.checks {
        if breaks_check(session, table, text)? {
            report.notes.push(check_left_out(table, text, "a row violates it"));
            broken.push(name.as_str());
        }
    }
    let mut kept: Vec<Reference> = Vec::new();
    for definition in plan.references() {
        let mut reference = reference_of(definition, table);
        while kept.iter().any(|other| other.name == reference.name) {
            reference.name.push('_');
        }
        let shown = format!(
            "FOREIGN KEY ({}) of table {table:?}, which references {:?},",
            reference.columns.join(", "),
            reference.table
        );
        match problem_of(session, plan, &reference)? {
            Some(problem) => {
                report.notes.push(Note::left_out(format!("{shown} left out: {problem}")));
            }
            None => {
                note_actions(definition, &shown, report);
                kept.push(reference);
            }
        }
    }
    if broken.is_empty() && kept.is_empty() {
        return Ok(());
    }
    session.amend(table, |constraints| {
        constraints.checks.retain(|check| !broken.contains(&check.name.as_str()));
        constraints.references = kept;
    })
}

fn reference_of(definition: &ReferenceDefinition, table: &str) -> Reference {
    let name = definition.name.clone();
    Reference {
        name: name.unwrap_or_else(|| format!("{table}_{}_fkey", definition.columns.join("_"))),
        columns: definition.columns.clone(),
        table: definition.table.clone(),
        target: definition.target.clone(),
        on_delete: match definition.on_delete.as_str() {
            "CASCADE" => OnDelete::Cascade,
            "SET NULL" => OnDelete::SetNull,
            "SET DEFAULT" => OnDelete::SetDefault,
            _ => OnDelete::Restrict,
        },
        on_update: match definition.on_update.as_str() {
            "CASCADE" => OnUpdate::Cascade,
            "SET NULL" => OnUpdate::SetNull,
            "SET DEFAULT" => OnUpdate::SetDefault,
            _ => OnUpdate::Restrict,
        },
    }
}

/// Notes which parts of a reference have changed.
fn note_actions(definition: &ReferenceDefinition, shown: &str, report: &mut SqliteReport) {
    let mut note = |text: &str| report.notes.push(Note::changed(format!("{shown} {text}")));
    if definition.is_deferred {
        note("is checked at the end of each statement, not of the transaction");
    }
}

/// Why a reference cannot be created.
fn problem_of(
    session: &mut Session,
    plan: &TablePlan<'_>,
    reference: &Reference,
) -> Result<Option<String>> {
    let Some(target) = session.find_table(&reference.table)? else {
        return Ok(Some("there is no such table".to_owned()));
    };
    let key = &target.schema.primary_key;
    let columns: Option<Vec<usize>> = match &reference.target[..] {
        [] => Some(key.clone()),
        names => names.iter().map(|name| target.column_index(name)).collect(),
    };
    let own: Option<Vec<usize>> =
        reference.columns.iter().map(|name| plan.position(name)).collect();
    let (Some(own), Some(columns)) = (own, columns) else {
        return Ok(Some("there is no such column".to_owned()));
    };
    let is_index = |index: &folio_engine::source::IndexInfo| {
        index.unique && index.columns.iter().map(|(at, _)| *at).eq(columns.iter().copied())
    };
    if columns.is_empty() || (*key != columns && !target.indexes.iter().any(is_index)) {
        return Ok(Some("the referenced columns are not a key".to_owned()));
    }
    if own.len() != columns.len() {
        return Ok(Some("it has a different number of columns than the key".to_owned()));
    }
    let differs = |(own, other): (&usize, &usize)| {
        plan.columns[*own].ty != target.schema.columns[*other].column_type
    };
    if own.iter().zip(&columns).any(differs) {
        return Ok(Some("the columns differ in type".to_owned()));
    }
    let is_broken = breaks_reference(session, &plan.source.name, reference)?;
    Ok(is_broken.then(|| "a row references a missing row".to_owned()))
}
