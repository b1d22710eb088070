//! The actual values of a column, seen in a first pass over all rows: SQLite does not enforce the
//! declared type.

use serde_core::de::IgnoredAny;

use crate::convert::{as_double, digit_counts, hyphenated, number_text};
use crate::declared::Intent;
use crate::moment::Moment;
use crate::record::{Encoding, Stored};

/// Facts about the values of one column.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    intent: Intent,
    pub(crate) null_count: u64,
    pub(crate) integer_count: u64,
    pub(crate) real_count: u64,
    pub(crate) text_count: u64,
    pub(crate) blob_count: u64,
    /// Texts with invalid bytes.
    pub(crate) broken_count: u64,
    /// Whether all integers are 0 or 1.
    pub(crate) is_boolean: bool,
    /// Whether all integers are exact as floating-point numbers.
    pub(crate) fits_double: bool,
    pub(crate) whole_digits: u32,
    pub(crate) fraction_digits: u32,
    pub(crate) is_finite: bool,
    /// Characters of the longest text.
    pub(crate) length: usize,
    /// Bytes of the longest text or blob.
    pub(crate) size: usize,
    pub(crate) is_json: bool,
    pub(crate) uuids: Form<()>,
    pub(crate) moments: Form<MomentKind>,
}

/// The kind of date or time in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MomentKind {
    Date,
    Time,
    Timestamp,
    Instant,
}

/// Whether all values have one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form<K> {
    /// There was no value yet.
    Unknown,
    /// All are of the kind, with one spelling (the number), so that different texts are different
    /// values.
    Alike(K, usize),
    /// All are of the kind, with different spellings.
    Mixed(K),
    /// At least one is not.
    Other,
}

impl<K: Copy + PartialEq> Form<K> {
    fn add(&mut self, found: Option<(K, usize)>) {
        *self = match (*self, found) {
            (Self::Unknown, Some((kind, spelling))) => Self::Alike(kind, spelling),
            (Self::Alike(kind, one), Some((other, two))) if kind == other && one == two => *self,
            (Self::Alike(kind, _) | Self::Mixed(kind), Some((other, _))) if kind == other => {
                Self::Mixed(kind)
            }
            _ => Self::Other,
        };
    }

    /// The kind of all values; for a key, only if different texts are different values.
    pub(crate) fn kind(self, is_key: bool) -> Option<K> {
        match self {
            Self::Alike(kind, _) => Some(kind),
            Self::Mixed(kind) if !is_key => Some(kind),
            _ => None,
        }
    }
}

impl Facts {
    pub(crate) fn new(intent: Intent) -> Self {
        Self {
            intent,
            null_count: 0,
            integer_count: 0,
            real_count: 0,
            text_count: 0,
            blob_count: 0,
            broken_count: 0,
            is_boolean: true,
            fits_double: true,
            whole_digits: 0,
            fraction_digits: 0,
            is_finite: true,
            length: 0,
            size: 0,
            is_json: true,
            uuids: Form::Unknown,
            moments: Form::Unknown,
        }
    }

    /// Adds a value.
    pub(crate) fn observe(&mut self, stored: Stored<'_>, encoding: Encoding) {
        match stored {
            Stored::Null => self.null_count += 1,
            Stored::Integer(number) => {
                self.integer_count += 1;
                self.is_boolean &= matches!(number, 0 | 1);
                self.fits_double &= as_double(number).is_some();
                self.observe_digits(stored);
            }
            Stored::Real(number) => {
                self.real_count += 1;
                self.is_finite &= number.is_finite();
                self.observe_digits(stored);
            }
            Stored::Text(bytes) => {
                self.text_count += 1;
                self.observe_text(bytes, encoding);
            }
            Stored::Blob(bytes) => {
                self.blob_count += 1;
                self.size = self.size.max(bytes.len());
                if self.intent == Intent::Uuid {
                    self.uuids.add((bytes.len() == 16).then_some(((), 0)));
                }
            }
        }
    }

    /// Whether there are numbers, texts, blobs.
    pub(crate) fn classes(&self) -> [bool; 3] {
        let has_number = self.integer_count + self.real_count > 0;
        [has_number, self.text_count > 0, self.blob_count > 0]
    }

    fn observe_digits(&mut self, stored: Stored<'_>) {
        let (whole, fraction) = match stored {
            // A column declared as this type keeps it.
            _ if self.intent == Intent::Real => return,
            Stored::Integer(number) => (number.unsigned_abs().checked_ilog10().unwrap_or(0) + 1, 0),
            _ => number_text(stored, true).map_or((0, 0), |text| digit_counts(&text)),
        };
        self.whole_digits = self.whole_digits.max(whole);
        self.fraction_digits = self.fraction_digits.max(fraction);
    }

    fn observe_text(&mut self, bytes: &[u8], encoding: Encoding) {
        let (text, is_whole) = encoding.decode(bytes);
        self.broken_count += u64::from(!is_whole);
        self.size = self.size.max(text.len());
        match self.intent {
            Intent::Text(Some(_)) => self.length = self.length.max(text.chars().count()),
            Intent::Json => self.is_json &= serde_json::from_str::<IgnoredAny>(&text).is_ok(),
            Intent::Uuid => self.uuids.add(hyphenated(&text).map(|_| ((), case_of(&text)))),
            Intent::Date | Intent::Time | Intent::Timestamp => {
                let spelling = text.len() * 2 + usize::from(text.contains('T'));
                let kind = Moment::parse(&text).map(|moment| match moment {
                    Moment::Date(_) => MomentKind::Date,
                    Moment::Time(_) => MomentKind::Time,
                    Moment::Timestamp(_) => MomentKind::Timestamp,
                    Moment::Instant(_) => MomentKind::Instant,
                });
                self.moments.add(kind.map(|kind| (kind, spelling)));
            }
            _ => {}
        }
    }
}

/// A number for texts in lower case, in upper case, and in both.
fn case_of(text: &str) -> usize {
    let has = |test: fn(&u8) -> bool| usize::from(text.as_bytes().iter().any(test));
    has(u8::is_ascii_lowercase) + 2 * has(u8::is_ascii_uppercase)
}
