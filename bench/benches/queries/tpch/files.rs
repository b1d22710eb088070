//! The same for systems that this program does not run: rows, queries and FolioDB's
//! answers as files.
//!
//! ```text
//! <folder>/<hundredths of the scale>/schema.sql     CREATE TABLE for each table
//!                                    lineitem.tbl   rows, values between bars
//!                                    q01.sql        a query
//!                                    q01.json       its answer: rows of null, number, text
//! ```

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use folio_bench::Result;
use serde_json::{Value, json};

use super::answer::{Answer, Cell};
use super::data::{Kind, TABLES};

/// The environment variable that names the folder.
const FOLDER: &str = "TPCH_FILES";

/// A folder for one scale.
pub(crate) struct Files(PathBuf);

impl Files {
    /// Writes schema and rows, where a folder is asked for.
    pub(crate) fn write(hundredths: u64) -> Result<Option<Self>> {
        let Some(folder) = std::env::var_os(FOLDER) else { return Ok(None) };
        let folder = Path::new(&folder).join(hundredths.to_string());
        std::fs::create_dir_all(&folder)?;
        let mut schema = String::new();
        for table in &TABLES {
            schema += &table.definition(false, |kind| match kind {
                Kind::Integer => "BIGINT",
                Kind::Decimal => "NUMERIC(15, 2)",
                Kind::Text => "TEXT",
                Kind::Date => "DATE",
            });
            schema += ";\n";
            let mut out = BufWriter::new(File::create(folder.join(format!("{}.tbl", table.name)))?);
            let mut failure = None;
            table.rows(hundredths as f64 / 100.0, &mut |row| {
                let written = writeln!(out, "{}", row.trim_end_matches('|'));
                failure = failure.take().or(written.err());
            });
            failure.map_or(Ok(()), Err)?;
            out.flush()?;
        }
        std::fs::write(folder.join("schema.sql"), schema)?;
        Ok(Some(Self(folder)))
    }

    /// Writes a query and its answer.
    pub(crate) fn question(&self, name: &str, text: &str, answer: &Answer) -> Result<()> {
        std::fs::write(self.0.join(format!("{name}.sql")), text)?;
        let value = |cell: &Cell| match cell {
            Cell::Null => Value::Null,
            Cell::Number(number) => json!(number),
            Cell::Text(text) => json!(text),
        };
        let rows = answer.0.iter().map(|row| row.iter().map(value).collect());
        let rows = Value::Array(rows.collect());
        Ok(std::fs::write(self.0.join(format!("{name}.json")), rows.to_string())?)
    }
}
