//! What a statement says of a file that it reads or writes.

use crate::error::{Error, Result};

/// What a statement says of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// The byte between cells; `None` is the comma, or what the header of a file that is read tells.
    pub delimiter: Option<u8>,
    /// The cell that is null where it stands without quotes.
    pub null: String,
    /// Whether the first line has the names of the columns.
    pub has_header: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { delimiter: None, null: String::new(), has_header: true }
    }
}

impl CsvOptions {
    /// Refuses what is said of CSV where a file is none.
    ///
    /// # Errors
    /// `invalid_input`.
    pub fn check(&self, is_csv: bool) -> Result<()> {
        if is_csv || *self == Self::default() {
            return Ok(());
        }
        Err(Error::invalid("HEADER, DELIMITER and NULL are said of CSV, and this file is none")
            .help("leave them away, or add FORMAT csv"))
    }
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileReading<'r> {
    /// The name of its format; `None` is told by the file's name and first bytes.
    pub format: Option<&'r str>,
    /// What is said of its cells, and the names of its columns if the file has none.
    pub csv: Option<(&'r CsvOptions, &'r [String])>,
    /// Whether cells without types that look like numbers become numbers; else they are text.
    pub infer_types: bool,
    /// Columns that are JSON whatever they hold, so that a text is not taken for a JSON text.
    pub json: &'r [&'r str],
}

impl Default for FileReading<'_> {
    fn default() -> Self {
        Self { format: None, csv: None, infer_types: true, json: &[] }
    }
}
