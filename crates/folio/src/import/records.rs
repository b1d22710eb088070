//! The records of a source, whatever its format.

use super::csv::Csv;
use super::format::guess_format;
use super::input::Input;
use super::ion::IonValues;
use super::lines::Lines;
use super::options::{Format, ImportOptions};
use super::source::Source;
use super::values::Values;
use crate::error::Result;

/// One record, lent until the next is asked for.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// The record as it stands in the source.
    pub(crate) raw: &'a [u8],
    /// The line it starts on, from 1; its number where there are no lines.
    pub(crate) line: u64,
    /// JSON text on one line, not validated, or why there is none.
    pub(crate) json: std::result::Result<&'a [u8], String>,
}

/// A source being read.
pub(crate) enum Records {
    Lines(Lines),
    Values(Values),
    Csv(Csv),
    Ion(Box<IonValues>),
}

impl Records {
    /// Opens a source in the format asked for or guessed.
    ///
    /// # Errors
    /// What the source says; `syntax` when its start fits no format.
    pub(crate) fn open(source: Source, options: &ImportOptions) -> Result<Self> {
        let input = Input::open(source)?;
        let format = match options.format {
            Some(format) => format,
            None => guess_format(&input)?,
        };
        Ok(match format {
            Format::JsonLines => Self::Lines(Lines::new(input)),
            Format::Json => Self::Values(Values::new(input)?),
            Format::Csv => Self::Csv(Csv::new(input, options)?),
            Format::Ion => Self::Ion(Box::new(IonValues::new(input))),
        })
    }

    /// The next record, `None` at the end.
    ///
    /// # Errors
    /// What the source says; `syntax` where the rest cannot be understood.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Values(values) => values.next(),
            Self::Csv(csv) => csv.next(),
            Self::Ion(values) => values.next(),
        }
    }

    /// Where the next record begins: in decompressed bytes, for Ion in records.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.position(),
            Self::Values(values) => values.position(),
            Self::Csv(csv) => csv.position(),
            Self::Ion(values) => values.position(),
        }
    }

    /// Goes on at a position that [`Records::position`] gave for this source.
    ///
    /// # Errors
    /// As [`Input::skip_to`].
    pub(super) fn resume_at(&mut self, position: u64) -> Result<()> {
        match self {
            Self::Lines(lines) => lines.input.skip_to(position),
            Self::Values(values) => values.resume_at(position),
            Self::Csv(csv) => csv.input.skip_to(position),
            Self::Ion(values) => values.resume_at(position),
        }
    }

    pub(super) fn input(&self) -> &Input {
        match self {
            Self::Lines(lines) => &lines.input,
            Self::Values(values) => &values.input,
            Self::Csv(csv) => &csv.input,
            Self::Ion(values) => values.input(),
        }
    }
}
