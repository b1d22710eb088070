//! Builds columns of the members of documents: appends values directly from the text of lines.

use arrow_array::StructArray;

use crate::column::{Mismatch, Others, Result, Rows};
use crate::token::{Kind, Tokens};
use crate::types::Field;

/// The columns of documents, with one row per line.
///
/// ```
/// use arrow_array::Array;
/// use folio_json::{Columns, Others, Tree};
///
/// let mut tree = Tree::default();
/// let lines = [r#"{"a":{"b":1}}"#, r#"{"a":null,"c":[2.5]}"#];
/// lines.iter().for_each(|line| tree.observe(line.as_bytes()).unwrap());
/// let mut columns = Columns::new(&tree.fields(), Others::Refuse);
/// lines.iter().for_each(|line| columns.push(line.as_bytes()).unwrap());
/// assert_eq!(columns.finish().len(), 2);
/// ```
#[derive(Debug)]
pub struct Columns {
    rows: Rows,
}

impl Columns {
    /// Empty columns for members of documents. A member that is an object gets columns for all its
    /// members.
    #[must_use]
    pub fn new(fields: &[Field], others: Others) -> Self {
        Self { rows: Rows::new(fields, others) }
    }

    /// Appends a document. If a key occurs twice, the last value counts.
    ///
    /// # Errors
    /// [`Mismatch`]. The rows are then unusable.
    #[inline]
    pub fn push(&mut self, line: &[u8]) -> Result {
        if self.rows.needs_none() {
            self.rows.push_none();
            return Ok(());
        }
        let mut tokens = Tokens::new(line);
        if tokens.peek()? != Kind::Object {
            return Err(Mismatch);
        }
        self.rows.push(&mut tokens, true)
    }

    /// The number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows.count()
    }

    /// Returns the rows, with a column for each field, and leaves the columns empty.
    #[must_use]
    pub fn finish(&mut self) -> StructArray {
        self.rows.finish(None)
    }
}
