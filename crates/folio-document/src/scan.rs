//! The public streaming scan.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::layout::{AnyScan, AnyStore, GivenLines};
use crate::line::Projection;
use crate::range::DocumentRange;
use crate::store::columns::{ColumnParts, LinePiece};
use crate::store::{FieldScan, SelectedScan};
use crate::{ColumnPart, Document, Scan, Version};

/// Up to one document in this many, each is looked up: a lookup that reads the file costs about as
/// much as scanning so many lines.
const SHARE_SELECTED: u64 = 16;

/// The documents of a scan, in file order. An iterator; [`Documents::next_line`] reads line by line
/// without allocation.
#[derive(Debug)]
pub struct Documents {
    lines: AnyScan,
    scan: Scan,
    projection: Option<Projection>,
    left: u64,
    /// The line reduced to the wanted fields; reused for its memory.
    narrowed: String,
}

impl Documents {
    pub(crate) fn new(store: &AnyStore, scan: Scan) -> Result<Self> {
        Ok(Self::of(AnyScan::new(store)?, scan))
    }

    pub(crate) fn since(store: &AnyStore, earlier: &Version) -> Result<Option<Self>> {
        Ok(AnyScan::since(store, earlier)?.map(|lines| Self::of(lines, Scan::new())))
    }

    /// A scan of given ids: of few, it reads only their lines.
    pub(crate) fn selected(store: &AnyStore, ids: Vec<String>, scan: Scan) -> Result<Self> {
        let is_few = ids.len() as u64 <= store.count()? / SHARE_SELECTED;
        // Files are read in the order of all documents.
        if is_few && let AnyStore::Lines(store) = store {
            let lines = SelectedScan::new(store, ids)?;
            return Ok(Self::of(AnyScan::Selected(lines), scan));
        }
        let ids: HashSet<String> = ids.into_iter().collect();
        Self::new(store, scan.filter(move |document| ids.contains(document.id())))
    }

    /// A scan of lines that were read already, each a whole document.
    #[must_use]
    pub fn given(lines: Vec<String>, scan: Scan) -> Self {
        Self::of(AnyScan::Given(GivenLines::new(lines)), scan)
    }

    pub(crate) fn parts(store: &AnyStore, scan: &Scan, count: usize) -> Result<Vec<Self>> {
        if scan.limit.is_some() {
            return Err(Error::Invalid("a scan in parts takes no limit".to_owned()));
        }
        let parts = AnyScan::parts(store, count)?;
        Ok(parts.into_iter().map(|lines| Self::of(lines, scan.clone())).collect())
    }

    pub(crate) fn range(store: &AnyStore, range: &DocumentRange) -> Result<Self> {
        Ok(Self::of(AnyScan::range(store, range)?, Scan::new()))
    }

    fn of(lines: AnyScan, scan: Scan) -> Self {
        Self {
            lines,
            projection: (!scan.fields.is_empty()).then(|| Projection::new(&scan.fields)),
            left: scan.limit.unwrap_or(u64::MAX),
            scan,
            narrowed: String::new(),
        }
    }

    /// The next document's exact line (or only its `fields`), valid until the next call.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Corrupted`] if the file changed during the scan.
    #[inline]
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.projection.is_none() && self.scan.filter.is_none() {
            self.left -= 1;
            return self.lines.next();
        }
        if self.next_wanted()? { Ok(Some(self.narrowed.as_bytes())) } else { Ok(None) }
    }

    /// Reads the next line that the filter accepts into `narrowed`.
    fn next_wanted(&mut self) -> Result<bool> {
        loop {
            let Some(line) = self.lines.next()? else { return Ok(false) };
            let text = std::str::from_utf8(line)
                .map_err(|_| Error::Json { offset: 0, reason: "not valid UTF-8" })?;
            if let Some(accept) = &self.scan.filter
                && !accept(&Document::of_line(text.as_bytes().to_vec())?)
            {
                continue;
            }
            self.narrowed.clear();
            match &self.projection {
                Some(projection) => drop(projection.apply(text, &mut self.narrowed)),
                None => self.narrowed.push_str(text),
            }
            self.left -= 1;
            return Ok(true);
        }
    }

    /// The version that the documents belong to. It is fixed after the first document: before that,
    /// a scan starts again if the file was edited. `None` in the files layout, where a scan has no
    /// single version, and for lines that were given.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.lines.version()
    }

    /// How much was read, and the total: bytes of the data file, or documents in the files layout.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        self.lines.progress()
    }
}

/// A piece of a scan with columns. In order, the pieces are all live documents.
#[derive(Debug)]
pub enum ScanPiece {
    /// The rows of a part, without these, which ascend.
    Rows(Arc<ColumnPart>, Arc<[u32]>),
    /// Live lines.
    Lines(Box<Documents>),
}

/// A part, and what it is a copy of.
#[derive(Debug)]
pub struct CopiedLines {
    /// The part.
    pub part: Arc<ColumnPart>,
    /// Rows whose lines died since, ascending.
    pub dead: Arc<[u32]>,
    /// The live lines of its range, one for each other row.
    pub lines: Documents,
}

impl ColumnParts {
    /// The parts that fit the data now, each with the lines that it is a copy of.
    ///
    /// # Errors
    /// As [`crate::Collection::scan`].
    pub fn copied(&self) -> Result<Vec<CopiedLines>> {
        let copied = |(part, dead, lines)| {
            let lines = Documents::of(AnyScan::Lines(lines), Scan::new());
            CopiedLines { part, dead, lines }
        };
        Ok(self.parts_and_lines()?.into_iter().map(copied).collect())
    }

    /// A scan of all documents as of now, or of those in a range, with the rows of parts that are
    /// accepted and the lines of everything else, in about `count` pieces.
    ///
    /// # Errors
    /// As [`crate::Collection::scan`] and [`crate::Collection::scan_range`].
    pub fn pieces(
        &self,
        accepts: &dyn Fn(&Arc<ColumnPart>) -> bool,
        range: Option<&DocumentRange>,
        count: usize,
    ) -> Result<Vec<ScanPiece>> {
        let whole = |piece| match piece {
            LinePiece::Rows(part, dead) => ScanPiece::Rows(part, dead),
            LinePiece::Lines(lines) => {
                let lines = Documents::of(AnyScan::Lines(*lines), Scan::new());
                ScanPiece::Lines(Box::new(lines))
            }
        };
        Ok(self.line_pieces(accepts, range, count)?.into_iter().map(whole).collect())
    }
}

/// Documents in the order of an index on fields.
#[derive(Debug)]
pub struct FoundDocuments(FieldScan);

impl FoundDocuments {
    pub(crate) fn new(scan: FieldScan) -> Self {
        Self(scan)
    }

    /// The next document's exact line, valid until the next call.
    ///
    /// # Errors
    /// As [`Documents::next_line`].
    #[inline]
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        self.0.next()
    }

    /// The number of the next documents, which are skipped without being read; `None` at the end.
    ///
    /// # Errors
    /// As [`Documents::next_line`].
    pub fn next_count(&mut self) -> Result<Option<u64>> {
        self.0.next_count()
    }
}

/// The keys of documents in the order of an index on fields.
#[derive(Debug)]
pub struct FoundKeys(FieldScan);

impl FoundKeys {
    pub(crate) fn new(scan: FieldScan) -> Self {
        Self(scan)
    }

    /// The next key, valid until the next call.
    ///
    /// # Errors
    /// As [`Documents::next_line`].
    pub fn next_key(&mut self) -> Result<Option<&[u8]>> {
        self.0.next_key()
    }

    /// Reads the line of the document whose key was returned last.
    ///
    /// # Errors
    /// As [`Documents::next_line`].
    pub fn line(&mut self) -> Result<&[u8]> {
        self.0.line()
    }
}

impl Iterator for FoundDocuments {
    type Item = Result<Document>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.next_line().transpose()?.map(<[u8]>::to_vec);
        Some(line.and_then(Document::of_line))
    }
}

impl Iterator for Documents {
    type Item = Result<Document>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => return None,
            Err(error) => return Some(Err(error)),
        };
        Some(Document::of_line(line.to_vec()))
    }
}
