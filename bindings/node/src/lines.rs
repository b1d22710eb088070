//! Passes documents to JavaScript, batch by batch.
//!
//! Documents of known shapes are passed with marks ([`crate::shape`]), a few at a time, because a
//! substring keeps its whole text in memory. Others are passed as JSON arrays, whose size grows
//! with each consecutive one.

use folio::json::{ID_PREFIX, id_first};
use folio::{Documents, Fetched, Result};

use crate::exact::push_marked;
use crate::shape::Marker;
use crate::text::Text;

/// Bytes of documents that are marked together.
const MARKED_SIZE: usize = 1024;

/// Bytes of the first array after marked documents; the next ones grow.
const ARRAY_SIZE: usize = 256;

/// An array that may be larger than this grows as it fills.
const ROOM_MAX: usize = 64 << 10;

/// The source of lines.
enum Source {
    Scan(Box<Documents>),
    /// Documents that were looked up, and the position of the next id.
    Fetched {
        fetched: Fetched,
        next: usize,
    },
}

/// The rest of a source.
pub(crate) struct Lines {
    source: Source,
    /// A document that did not fit the previous batch, and comes next.
    held: Vec<u8>,
    /// Bytes of the next array.
    array_size: usize,
}

enum Next {
    Document,
    /// The id has no document.
    Missing,
    End,
}

impl Lines {
    pub(crate) fn of_scan(documents: Documents) -> Self {
        Self::new(Source::Scan(Box::new(documents)))
    }

    pub(crate) fn of_fetched(fetched: Fetched) -> Self {
        Self::new(Source::Fetched { fetched, next: 0 })
    }

    fn new(source: Source) -> Self {
        Self { source, held: Vec::new(), array_size: ARRAY_SIZE }
    }

    /// The next documents: a few with marks, or an array of at most about `size` bytes; `None` at
    /// the end.
    pub(crate) fn next_marked(&mut self, size: usize, marker: &Marker) -> Result<Option<Text>> {
        marker.begin();
        let mut text = Vec::with_capacity(2 * MARKED_SIZE);
        let mut is_marked = false;
        while text.len() < MARKED_SIZE {
            let start = text.len();
            match self.push_next(false, &mut text)? {
                Next::Document if marker.mark_next(&text[start..]) => (),
                Next::Missing if marker.mark_missing() => (),
                Next::Document => {
                    self.held = text.split_off(start);
                    break;
                }
                Next::Missing => {
                    self.source.step_back();
                    break;
                }
                Next::End => break,
            }
            is_marked = true;
        }
        if is_marked {
            self.array_size = ARRAY_SIZE;
            return Ok(Some(Text(text)));
        }
        let array = self.next_array(self.array_size.min(size), false);
        self.array_size *= 4;
        self.array_size = self.array_size.min(size);
        array
    }

    /// The next documents as an array of about `size` bytes, with null for a missing one.
    pub(crate) fn next_array(&mut self, size: usize, exact: bool) -> Result<Option<Text>> {
        let mut array = Vec::with_capacity(size.min(ROOM_MAX) / 4 * 5);
        loop {
            array.push(if array.is_empty() { b'[' } else { b',' });
            match self.push_next(exact, &mut array)? {
                Next::Document => (),
                Next::Missing => array.extend_from_slice(b"null"),
                Next::End => {
                    array.pop();
                    break;
                }
            }
            if array.len() >= size {
                break;
            }
        }
        if array.is_empty() {
            return Ok(None);
        }
        array.push(b']');
        Ok(Some(Text(array)))
    }

    /// The next lines of about `size` bytes, each with its line end; `None` at the end.
    pub(crate) fn next_lines(&mut self, size: usize) -> Result<Option<Text>> {
        let mut lines = Vec::with_capacity(size + size / 4);
        while lines.len() < size {
            match self.source.next()? {
                None => break,
                Some(None) => continue,
                Some(Some(line)) => lines.extend_from_slice(line),
            }
            lines.push(b'\n');
        }
        Ok((!lines.is_empty()).then_some(Text(lines)))
    }

    /// Appends the next document.
    fn push_next(&mut self, exact: bool, out: &mut Vec<u8>) -> Result<Next> {
        if !self.held.is_empty() {
            out.append(&mut self.held);
            return Ok(Next::Document);
        }
        match self.source.next()? {
            None => Ok(Next::End),
            Some(None) => Ok(Next::Missing),
            Some(Some(line)) => {
                push_document(line, exact, out)?;
                Ok(Next::Document)
            }
        }
    }
}

impl Source {
    /// The next line, if its id has one; `None` at the end.
    #[inline]
    fn next(&mut self) -> Result<Option<Option<&[u8]>>> {
        match self {
            Self::Scan(documents) => Ok(documents.next_line()?.map(Some)),
            Self::Fetched { fetched, next } => {
                let place = *next;
                *next += 1;
                Ok((place < fetched.len()).then(|| fetched.line(place)))
            }
        }
    }

    /// Returns the last id, which has no document, to the next batch.
    fn step_back(&mut self) {
        if let Self::Fetched { next, .. } = self {
            *next -= 1;
        }
    }
}

/// Appends a line in its public form: `_id` first, integers exact if requested.
pub(crate) fn push_document(line: &[u8], exact: bool, out: &mut Vec<u8>) -> Result<()> {
    let ordered;
    let line = match line.starts_with(ID_PREFIX.as_bytes()) {
        true => line,
        false => {
            ordered = in_order(line)?;
            ordered.as_bytes()
        }
    };
    if exact {
        push_marked(line, out);
    } else {
        out.extend_from_slice(line);
    }
    Ok(())
}

#[cold]
fn in_order(line: &[u8]) -> Result<String> {
    let text = String::from_utf8_lossy(line);
    let ordered = id_first(&text).map_err(|error| {
        folio::Error::Invalid(format!("a document is no longer a JSON object: {error}"))
    })?;
    Ok(ordered.into_owned())
}
