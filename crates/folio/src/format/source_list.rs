//! Several sources that are imported one after the other, as one import that can be resumed.
//!
//! A collection stores one position in one source. A list numbers its sources, and the last commit
//! of one names the start of the next. So an interrupted import finds the source where it was, and
//! how far it came there. After the last source, the position is of none of them.

use xxhash_rust::xxh3::xxh3_64;

use super::source::Source;
use crate::error::Result;

/// The sources of one import, in order; see [`Source::of_list`].
#[derive(Debug, Clone, Copy)]
pub struct SourceList {
    fingerprint: u64,
    count: u64,
}

impl SourceList {
    /// The list of these sources, which are not read here. `None` if one of them cannot be read
    /// again: such an import cannot be resumed.
    ///
    /// # Errors
    /// Those of the sources.
    pub fn of(sources: impl IntoIterator<Item = Result<Source>>) -> Result<Option<Self>> {
        let (mut bytes, mut count) = (Vec::new(), 0);
        for source in sources {
            let Some(fingerprint) = source?.fingerprint else { return Ok(None) };
            bytes.extend_from_slice(&fingerprint.to_le_bytes());
            count += 1;
        }
        Ok(Some(Self { fingerprint: xxh3_64(&bytes), count }))
    }
}

impl Source {
    /// Makes this the source with a number, from 0, of a list whose sources are imported in order.
    /// A repeated import leaves out what the interrupted one has stored of the list.
    #[must_use]
    pub fn of_list(mut self, list: SourceList, number: u64) -> Self {
        self.place = Some(Place { list, number });
        self
    }
}

/// The place of a source in a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    list: SourceList,
    number: u64,
}

impl Place {
    /// What identifies this source.
    pub(crate) fn fingerprint(self) -> u64 {
        let Self { list: SourceList { fingerprint, .. }, number } = self;
        xxh3_64(&[fingerprint.to_le_bytes(), number.to_le_bytes()].concat())
    }

    pub(crate) fn is_first(self) -> bool {
        self.number == 0
    }

    /// The later sources.
    pub(crate) fn later(self) -> impl Iterator<Item = Self> {
        (self.number + 1..self.list.count).map(move |number| Self { number, ..self })
    }

    /// What identifies the place after this source: the next one, or none of the list.
    pub(crate) fn end(self) -> u64 {
        Self { number: self.number + 1, ..self }.fingerprint()
    }
}
