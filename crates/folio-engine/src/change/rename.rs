//! Renames a table or its columns, with everything that names them: references, links of structs,
//! and the tables of to-many links, which are named after their struct.

use std::sync::Arc;

use folio_compute::Result;
use folio_types::TableSchema;

use super::{Run, references};
use crate::constraint::Constraints;
use crate::source::Relation;

/// Renames a table or its columns, so that they are those of a schema.
///
/// # Errors
/// `conflict` for a name that is taken.
pub(super) fn rename(table: &Relation, schema: &TableSchema, run: &Run<'_>) -> Result<()> {
    let names = Names::new(table, schema);
    let others = others(table, run)?;
    run.changes.alter(&table.schema.name, &names.renamed(schema))?;
    for other in others {
        let renamed = names.renamed(&other.schema);
        if renamed != other.schema {
            run.changes.alter(&other.schema.name, &renamed)?;
        }
    }
    Ok(())
}

/// The tables that may name a table: the struct of a to-many link to it is two references away.
fn others(table: &Relation, run: &Run<'_>) -> Result<Vec<Arc<Relation>>> {
    let mut found: Vec<Arc<Relation>> = Vec::new();
    let mut names = neighbours(table, run)?;
    for _ in 0..2 {
        let known = found.len();
        for name in names {
            let is_it = |other: &Relation| other.schema.name.eq_ignore_ascii_case(&name);
            if !is_it(table) && !found.iter().any(|other| is_it(other)) {
                found.extend(run.changes.relation(&name)?);
            }
        }
        let more = found[known..].iter().map(|other| neighbours(other, run));
        names = more.collect::<Result<Vec<_>>>()?.concat();
    }
    Ok(found)
}

/// The names of the tables that reference a table or that it references, also by links.
fn neighbours(table: &Relation, run: &Run<'_>) -> Result<Vec<String>> {
    let mut names = references::pointing_tables(table, run)?;
    let Constraints { references, links, .. } = &table.constraints;
    names.extend(references.iter().map(|reference| reference.table.clone()));
    names.extend(links.iter().map(|link| link.target.clone()));
    names.extend(links.iter().filter_map(|link| link.table.clone()));
    Ok(names)
}

/// The names that change.
struct Names<'t> {
    table: &'t str,
    /// The table and those of its to-many links: old and new names.
    tables: Vec<(String, String)>,
    /// Its columns.
    columns: Vec<(&'t str, &'t str)>,
}

impl<'t> Names<'t> {
    fn new(table: &'t Relation, schema: &'t TableSchema) -> Self {
        let (old, anew) = (&*table.schema.name, &*schema.name);
        let mut tables = vec![(old.to_owned(), anew.to_owned())];
        for link in &table.constraints.links {
            let of = |table: &str| format!("{table}.{}", link.name);
            if link.table.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(&of(old))) {
                tables.push((of(old), of(anew)));
            }
        }
        let columns = table.schema.columns.iter().zip(&schema.columns);
        let columns = columns.map(|(old, anew)| (&*old.name, &*anew.name));
        Self { table: old, tables, columns: columns.filter(|(old, anew)| old != anew).collect() }
    }

    /// A schema with the new names.
    fn renamed(&self, schema: &TableSchema) -> TableSchema {
        let Some(mut constraints) = Constraints::from_properties(&schema.properties) else {
            return schema.clone();
        };
        for reference in &mut constraints.references {
            if reference.table.eq_ignore_ascii_case(self.table) {
                reference.target.iter_mut().for_each(|column| self.rename_column(column));
            }
            self.rename_table(&mut reference.table);
        }
        for link in &mut constraints.links {
            if link.target.eq_ignore_ascii_case(self.table) {
                link.inverse.iter_mut().for_each(|column| self.rename_column(column));
            }
            self.rename_table(&mut link.target);
            link.table.iter_mut().for_each(|table| self.rename_table(table));
        }
        let mut renamed = schema.clone();
        renamed.properties = constraints.to_properties();
        self.rename_table(&mut renamed.name);
        renamed
    }

    fn rename_table(&self, name: &mut String) {
        if let Some((_, anew)) = self.tables.iter().find(|(old, _)| old.eq_ignore_ascii_case(name))
        {
            anew.clone_into(name);
        }
    }

    fn rename_column(&self, name: &mut String) {
        if let Some((_, anew)) = self.columns.iter().find(|(old, _)| old.eq_ignore_ascii_case(name))
        {
            (*anew).clone_into(name);
        }
    }
}
