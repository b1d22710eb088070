//! The import: read all rows, plan all tables, then create them in one transaction.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use folio_document::Progress;
use folio_sqlite::{Catalog, Note, Pages, Seen, SourceTable, SourceView, TablePlan};
use folio_types::{ErrorCode, near_match};

use super::constraint::{attempt, constrain, create, index, reason};
use super::report::{ImportedTable, SqliteOptions, SqliteReport};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::session::Session;

/// Rows between two calls of `progress`.
const PROGRESS_ROWS: u64 = 1_024;

/// Imports the tables of an SQLite file in one transaction: all of them or none.
///
/// `progress` gets the number of bytes read and the maximum, both over two passes. Returning
/// `false` stops the import.
///
/// # Errors
/// `not_found` for a missing file or name; `corrupted` for a damaged file, with table and page;
/// `locked` while a process writes to it; `conflict` for a table whose name is in use, and when the
/// file changed meanwhile; `cancelled`; errors of the store.
pub fn import(
    database: &Database,
    path: impl AsRef<Path>,
    options: &SqliteOptions,
    progress: Progress<'_>,
) -> Result<SqliteReport> {
    let files = Arc::clone(database.host());
    let pages = Pages::open(&*files, path.as_ref())?;
    let catalog = Catalog::read(&pages)?;
    let mut report = SqliteReport::default();
    let (tables, views) = wanted(&catalog, options, &pages, &mut report.notes)?;
    refuse_taken(database, &tables, &views)?;
    let mut import = Import { pages: &pages, catalog: &catalog, progress, reported: 0 };
    let plans = import.plan(&tables, &mut report.notes)?;
    database.handle().check_writable()?;
    let mut session = database.session()?;
    session.execute("BEGIN", &[])?;
    let outcome = import
        .write(&mut session, plans, &views, &mut report)
        .and_then(|()| Ok(pages.check_unchanged(&*files)?));
    let end = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = session.execute(end, &[]);
    outcome?;
    ended?;
    Ok(report)
}

/// The requested tables and views; without names, all except internal tables of modules.
fn wanted<'c>(
    catalog: &'c Catalog,
    options: &SqliteOptions,
    pages: &Pages,
    notes: &mut Vec<Note>,
) -> Result<(Vec<&'c SourceTable>, Vec<&'c SourceView>)> {
    if options.tables.is_empty() {
        notes.extend(catalog.left_out.iter().map(|(_, note)| note.clone()));
        let own = catalog.tables.iter().filter(|table| !table.is_shadow).collect();
        return Ok((own, catalog.views.iter().collect()));
    }
    let is_named = |name: &str| options.tables.iter().any(|own| own.eq_ignore_ascii_case(name));
    for name in &options.tables {
        let tables = catalog.tables.iter().map(|table| &table.name);
        let names: Vec<String> =
            tables.chain(catalog.views.iter().map(|view| &view.name)).cloned().collect();
        if !names.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            let hint = match near_match(name, &names) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("it has {}", shown(&names)),
            };
            let reason = format!("there is no table or view {name:?} in it; {hint}");
            return Err(Error::Sqlite {
                path: pages.path().to_owned(),
                place: String::new(),
                reason,
                code: ErrorCode::NotFound,
            });
        }
    }
    let left_out = catalog.left_out.iter().filter(|(name, _)| is_named(name));
    notes.extend(left_out.map(|(_, note)| note.clone()));
    let tables = catalog.tables.iter().filter(|table| is_named(&table.name)).collect();
    Ok((tables, catalog.views.iter().filter(|view| is_named(&view.name)).collect()))
}

/// Some of the names, for a message.
fn shown(names: &[String]) -> String {
    const SHOWN_MAX: usize = 10;
    let some: Vec<&str> = names.iter().take(SHOWN_MAX).map(String::as_str).collect();
    let more = if names.len() > SHOWN_MAX { ", …" } else { "" };
    if some.is_empty() { "none".to_owned() } else { some.join(", ") + more }
}

/// Refuses names that exist in the database, before the rows are read.
fn refuse_taken(database: &Database, tables: &[&SourceTable], views: &[&SourceView]) -> Result<()> {
    let mut session = database.session()?;
    let relations = session.tables_and_views()?;
    let mut taken: Vec<&str> =
        relations.iter().map(|relation| relation.schema.name.as_str()).collect();
    let collections = database.collections()?;
    taken.extend(collections.iter().map(String::as_str));
    let views = views.iter().map(|view| &view.name);
    for name in tables.iter().map(|table| &table.name).chain(views) {
        if taken.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            let text = format!(
                "{name:?} already exists in the database, so nothing was imported; name the \
                 tables to import, or drop it first, or import into another database"
            );
            return Err(folio_compute::Error::new(ErrorCode::Conflict, text).into());
        }
    }
    Ok(())
}

struct Import<'i, 'p> {
    pages: &'i Pages,
    catalog: &'i Catalog,
    progress: Progress<'p>,
    /// Rows since the last progress report.
    reported: u64,
}

impl<'i> Import<'i, '_> {
    /// The first pass: finds the values of every column.
    fn plan(
        &mut self,
        tables: &[&'i SourceTable],
        notes: &mut Vec<Note>,
    ) -> Result<Vec<TablePlan<'i>>> {
        let mut seen = Seen::new(self.pages);
        let mut plans = Vec::with_capacity(tables.len());
        for source in tables {
            let (pages, catalog) = (self.pages, self.catalog);
            plans.push(TablePlan::of(source, pages, catalog, &mut seen, notes, &mut || {
                self.report()
            })?);
        }
        Ok(plans)
    }

    /// The second pass: creates tables, rows, indexes, constraints and views.
    fn write(
        &mut self,
        session: &mut Session,
        mut plans: Vec<TablePlan<'i>>,
        views: &[&SourceView],
        report: &mut SqliteReport,
    ) -> Result<()> {
        let sequences = self.catalog.sequences(self.pages)?;
        let mut seen = Seen::new(self.pages);
        for plan in &mut plans {
            create(session, plan, report).map_err(|error| self.in_table(plan, error))?;
            let row_count = self
                .fill(session, plan, &mut seen, &sequences)
                .map_err(|error| self.in_table(plan, error))?;
            report.tables.push(ImportedTable { name: plan.source.name.clone(), row_count });
            index(session, plan, &self.catalog.indexes, report)?;
        }
        for plan in &plans {
            constrain(session, plan, report)?;
        }
        make_views(session, views, report)
    }

    /// Inserts the rows of a table.
    fn fill(
        &mut self,
        session: &mut Session,
        plan: &TablePlan<'_>,
        seen: &mut Seen,
        sequences: &HashMap<String, i64>,
    ) -> Result<u64> {
        let relation = session.table(&plan.source.name)?;
        let mut rows = plan.rows(self.pages, seen)?;
        let count = session.fill(&relation, &mut || {
            self.report()?;
            Ok(rows.next()?)
        })?;
        let sequence = sequences.get(&plan.source.name.to_lowercase());
        if let (Some((column, greatest)), Some(sequence)) = (rows.greatest(), sequence)
            && *sequence > greatest
        {
            session.set_identity(&plan.source.name, column, sequence.saturating_add(1))?;
        }
        Ok(count)
    }

    /// Reports progress, now and then.
    fn report(&mut self) -> Result<()> {
        self.reported += 1;
        if self.reported < PROGRESS_ROWS {
            return Ok(());
        }
        self.reported = 0;
        if (self.progress)(self.pages.read_size(), 2 * self.pages.size()) {
            return Ok(());
        }
        Err(folio_document::Error::Cancelled.into())
    }

    /// Adds the table to an error that does not mention the file.
    fn in_table(&self, plan: &TablePlan<'_>, error: Error) -> Error {
        let is_of_values = !matches!(error, Error::Sqlite { .. })
            && matches!(
                error.code(),
                ErrorCode::Conflict
                    | ErrorCode::InvalidInput
                    | ErrorCode::Unsupported
                    | ErrorCode::TypeMismatch
            );
        if !is_of_values {
            return error;
        }
        Error::Sqlite {
            path: self.pages.path().to_owned(),
            place: format!(", table {:?}", plan.source.name),
            code: error.code(),
            reason: format!(
                "{}; nothing was imported: name the other tables to import them",
                reason(&error)
            ),
        }
    }
}

/// Creates views, each after the views it reads.
fn make_views(
    session: &mut Session,
    views: &[&SourceView],
    report: &mut SqliteReport,
) -> Result<()> {
    let mut left: Vec<_> = views.to_vec();
    let mut refused = Vec::new();
    loop {
        let before = left.len();
        refused.clear();
        for view in std::mem::take(&mut left) {
            let outcome = match view.statement() {
                Some(text) => attempt(session, &text)?,
                None => Err("it cannot be parsed".to_owned()),
            };
            match outcome {
                Ok(()) => report.views.push(view.name.clone()),
                Err(reason) => {
                    refused
                        .push(Note::left_out(format!("view {:?} left out: {reason}", view.name)));
                    left.push(view);
                }
            }
        }
        if left.is_empty() || left.len() == before {
            report.notes.append(&mut refused);
            return Ok(());
        }
    }
}
