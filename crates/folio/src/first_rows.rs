//! The first rows of a collection that is not open yet, for a page that shows them at once.
//!
//! Opening a collection builds its index if there is none, and its columns are found by reading all
//! documents if nobody has done so before. Both take seconds for a gigabyte, and neither is needed
//! for the documents that the file begins with. Their columns are found in them alone.

use std::sync::Arc;

use folio_document::first_lines;
use folio_engine::Rows;
use folio_engine::source::{Relation, RelationKind};
use folio_json::Tree;

use crate::database::Database;
use crate::error::Result;
use crate::format::json::{DOCUMENT, LineColumns, schema_of};
use crate::location;

impl Database {
    /// The documents that the data file of a collection begins with, at most `count`, as
    /// `SELECT *` would show them, with columns and types of these documents alone. Opens nothing,
    /// so a file of any size answers at once. A document whose newer version is further on in the
    /// file is shown all the same.
    ///
    /// `None` for what is no collection, has a file per document, or does not begin with a document.
    ///
    /// # Errors
    /// `closed`, `io`.
    pub fn first_rows(&self, name: &str, count: usize) -> Result<Option<Rows>> {
        self.handle().check_open()?;
        let (files, root) = (&**self.files(), self.root());
        if !location::is_collection(files, root, name) || self.has_table(name)? {
            return Ok(None);
        }
        let Some(lines) = first_lines(files, root, name, count)? else { return Ok(None) };
        Ok(rows_of(name, &lines))
    }
}

fn rows_of(name: &str, lines: &[Vec<u8>]) -> Option<Rows> {
    let mut types = Tree::default();
    for line in lines {
        types.observe(line).ok()?;
    }
    let (schema, paths) = schema_of(&types, name, Some("_id"), Some(DOCUMENT), &[]);
    let relation = Relation::new(RelationKind::Collection, schema, Arc::new(()));
    let relation = Relation { paths, ..relation };
    let all = 0..relation.schema.columns.len();
    let listed: Vec<usize> = all.filter(|column| relation.is_listed(*column)).collect();
    let read: Vec<usize> = listed.iter().map(|column| relation.read_at(*column)).collect();
    let mut columns = LineColumns::new(&relation, &read, &[], types.keys_are_distinct());
    for line in lines {
        columns.push(line).ok()?;
    }
    let names = listed.iter().map(|column| relation.column_name(*column).to_owned());
    let types = read.iter().map(|column| relation.column_type(*column).clone());
    Some(Rows::of(names.collect(), types.collect(), columns.finish()))
}
