//! Options of a statement for a file that it reads or writes.

use folio_compute::{Error, Result};

/// CSV options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// The byte between cells. `None` means a comma, or for reading what the header shows.
    pub delimiter: Option<u8>,
    /// The unquoted cell text that means null.
    pub null: String,
    /// Whether the first line has the column names.
    pub has_header: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { delimiter: None, null: String::new(), has_header: true }
    }
}

impl CsvOptions {
    /// Refuses CSV options for other formats.
    ///
    /// # Errors
    /// `invalid_input`.
    pub fn check(&self, is_csv: bool) -> Result<()> {
        if is_csv || *self == Self::default() {
            return Ok(());
        }
        Err(Error::invalid("HEADER, DELIMITER and NULL apply to CSV files only")
            .help("leave them out, or add FORMAT csv"))
    }
}

/// How to read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileReading<'r> {
    /// The name of its format; `None` if the file's name and first bytes decide.
    pub format: Option<&'r str>,
    /// CSV options, and the names of the columns if the file has none.
    pub csv: Option<(&'r CsvOptions, &'r [String])>,
    /// Whether cells that look like numbers become numbers; otherwise they are text.
    pub infer_types: bool,
    /// Columns that are always JSON, so that a text is not taken for JSON text.
    pub json: &'r [&'r str],
    /// Columns whose structs are maps, in a format that does not tell the two apart.
    pub maps: &'r [&'r str],
}

impl Default for FileReading<'_> {
    fn default() -> Self {
        Self { format: None, csv: None, infer_types: true, json: &[], maps: &[] }
    }
}
