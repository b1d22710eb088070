//! COPY … TO: writes the rows of a query into a file, which appears whole or not at all.

use std::io::Write;
use std::path::Path;

use folio_compute::Error as QueryError;
use folio_engine::{CopyTarget, Rows};
use folio_types::ErrorCode;

use crate::error::{Error, Result};
use crate::format::{Format, OutputFile, row_writer};
use crate::handle::Handle;

/// Writes all rows, and returns how many there were.
///
/// # Errors
/// Errors of the query and of the file; an existing file is unchanged then.
pub(super) fn copy_to(handle: &Handle, target: &CopyTarget, rows: &mut Rows) -> Result<u64> {
    let path = Path::new(&target.path);
    let asked = target.format.as_deref().map(Format::named).transpose();
    let created = asked.and_then(|asked| OutputFile::create(&handle.store.host, path, asked));
    let (mut file, format) = created.map_err(|error| in_statement(error, target))?;
    let mut writer = row_writer(format, rows.names(), rows.types(), &target.csv)
        .map_err(|error| in_statement(error, target))?;
    let (mut bytes, mut count) = (Vec::new(), 0);
    while let Some(batch) = rows.next_batch()? {
        count += batch.row_count as u64;
        writer.write(batch, &mut bytes)?;
        file.write_all(&bytes).map_err(Error::io("write", path))?;
        bytes.clear();
    }
    writer.finish(&mut bytes)?;
    file.write_all(&bytes).map_err(Error::io("write", path))?;
    file.commit(path)?;
    Ok(count)
}

/// An error about the name or the format, with its position in the statement.
fn in_statement(error: Error, target: &CopyTarget) -> Error {
    let text = match error {
        Error::Invalid(text) => text,
        Error::Query(error) => return error.at(target.span).into(),
        other => return other,
    };
    let (sentence, help) = text.split_once("; ").unwrap_or((&text, "name another file"));
    QueryError::new(ErrorCode::InvalidInput, sentence).help(help).at(target.span).into()
}
