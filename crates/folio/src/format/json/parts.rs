//! Parts of a file of lines, for several threads. Each begins where a line begins.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use folio_file::File;
use folio_stream::is_compressed;

use crate::format::Source;
use crate::format::source::FileReader;

/// Bytes read at once to find the end of a line.
const STEP: usize = 64 << 10;

/// Splits a file of this size into about `count` parts; one for compressed files.
///
/// # Errors
/// Errors of the file.
pub(crate) fn split(file: &dyn File, size: u64, count: usize) -> io::Result<Vec<Range<u64>>> {
    let mut head = [0; 4];
    let head_size = file.read_at(&mut head, 0)?;
    let count = if is_compressed(&head[..head_size]) { 1 } else { count.max(1) as u64 };
    let mut parts = Vec::new();
    let mut start = 0;
    for part in 1..=count {
        let end = match part == count {
            true => size,
            false => line_end(file, (size / count * part).max(start), size)?,
        };
        if end > start || parts.is_empty() && part == count {
            parts.push(start..end);
        }
        start = end;
    }
    Ok(parts)
}

/// Where the line at an offset ends.
fn line_end(file: &dyn File, mut offset: u64, size: u64) -> io::Result<u64> {
    let mut bytes = vec![0; STEP];
    while offset < size {
        let read = file.read_at(&mut bytes, offset)?;
        if read == 0 {
            break;
        }
        if let Some(at) = memchr::memchr(b'\n', &bytes[..read]) {
            return Ok((offset + at as u64 + 1).min(size));
        }
        offset += read as u64;
    }
    Ok(size)
}

/// A part as a source of its own.
pub(crate) fn source(name: &str, file: &Arc<dyn File>, part: Range<u64>) -> Source {
    let reader = FileReader { file: Arc::clone(file), offset: part.start };
    Source::reader(name, reader.take(part.end - part.start))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use folio_file::{FileSystem, MemoryFileSystem, OpenMode};

    use super::*;

    #[test]
    fn parts_begin_at_lines_and_are_the_whole() {
        let files = MemoryFileSystem::default();
        let long = format!("{{\"long\": \"{}\"}}\n", "x".repeat(3 * STEP));
        for text in ["", "\n", "{}", "{}\n{}\r\n\n{\"a\":1}", &long.repeat(3), &long] {
            let path = Path::new("/lines");
            let file = files.open(path, OpenMode::Write).unwrap();
            file.truncate(0).unwrap();
            file.write_at(text.as_bytes(), 0).unwrap();
            for count in [1, 2, 3, 7, 100] {
                let parts = split(&*file, text.len() as u64, count).unwrap();
                let mut whole = String::new();
                for part in parts {
                    let text = &text[part.start as usize..part.end as usize];
                    assert!(whole.is_empty() || whole.ends_with('\n'), "{count}");
                    let mut read = String::new();
                    source("part", &file, part).reader.read_to_string(&mut read).unwrap();
                    assert_eq!(read, text);
                    whole.push_str(text);
                }
                assert_eq!(whole, text, "{count} parts");
            }
        }
    }
}
