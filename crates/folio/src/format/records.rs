//! The records of a source, whatever its format.

use std::io::{self, Read};

use super::csv::Csv;
use super::guess::guess_format;
use super::input::Input;
use super::ion::IonValues;
use super::json::{Lines, Values};
use super::record::{Reading, Record};
#[cfg(feature = "sql")]
use super::row_records::RowRecords;
use super::{Format, Source};
use crate::error::{Error, Result};

/// An open source of records.
pub(crate) enum Records {
    Lines(Lines),
    Values(Values),
    Csv(Csv),
    Ion(Box<IonValues>),
    #[cfg(feature = "sql")]
    Rows(Box<RowRecords>),
}

impl Records {
    /// Opens a source in the format asked for or guessed.
    ///
    /// # Errors
    /// Errors of the source; `syntax` when its start matches no format.
    pub(crate) fn open(source: Source, reading: &Reading) -> Result<Self> {
        let named = reading.format.or_else(|| Format::of_path(&source.name));
        if let Some(format @ (Format::Parquet | Format::Arrow)) = named {
            return Self::rows(source, format);
        }
        let input = Input::open(source)?;
        let format = match reading.format {
            Some(format) => format,
            None => guess_format(&input)?,
        };
        Ok(match format {
            Format::JsonLines => Self::Lines(Lines::new(input)),
            Format::Json => Self::Values(Values::new(input)?),
            Format::Csv | Format::Tsv => {
                Self::Csv(Csv::new(input, &Reading { format: Some(format), ..reading.clone() })?)
            }
            Format::Ion | Format::IonBinary => Self::Ion(Box::new(IonValues::new(input))),
            // The first bytes, not the name, identify the format.
            Format::Parquet | Format::Arrow => {
                let name = input.name().to_owned();
                Self::rows(Source::reader(name, Rest(input)), format)?
            }
            Format::Zds => {
                let text = "the zds format is a directory; open it as a database instead";
                return Err(Error::Invalid(text.to_owned()));
            }
        })
    }

    #[cfg(feature = "sql")]
    fn rows(source: Source, format: Format) -> Result<Self> {
        Ok(Self::Rows(Box::new(RowRecords::open(source, format)?)))
    }

    #[cfg(not(feature = "sql"))]
    fn rows(_: Source, format: Format) -> Result<Self> {
        let name = format.name();
        Err(Error::Invalid(format!("this build does not read {name}; use the feature \"sql\"")))
    }

    /// The next record, `None` at the end.
    ///
    /// # Errors
    /// Errors of the source; `syntax` where the rest cannot be parsed.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Values(values) => values.next(),
            Self::Csv(csv) => csv.next(),
            Self::Ion(values) => values.next(),
            #[cfg(feature = "sql")]
            Self::Rows(rows) => rows.next(),
        }
    }

    /// The position of the next record: in decompressed bytes, or for Ion, Parquet and Arrow in
    /// records.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.position(),
            Self::Values(values) => values.position(),
            Self::Csv(csv) => csv.position(),
            Self::Ion(values) => values.position(),
            #[cfg(feature = "sql")]
            Self::Rows(rows) => rows.position(),
        }
    }

    /// Continues at a position from [`Records::position`] of the same source.
    ///
    /// # Errors
    /// As [`Input::skip_to`].
    pub(crate) fn resume_at(&mut self, position: u64) -> Result<()> {
        match self {
            Self::Lines(lines) => lines.input.skip_to(position),
            Self::Values(values) => values.resume_at(position),
            Self::Csv(csv) => csv.input.skip_to(position),
            Self::Ion(values) => values.resume_at(position),
            #[cfg(feature = "sql")]
            Self::Rows(rows) => rows.resume_at(position),
        }
    }

    /// Bytes of the source read so far, as stored.
    pub(crate) fn read_size(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.input.read_size(),
            Self::Values(values) => values.input.read_size(),
            Self::Csv(csv) => csv.input.read_size(),
            Self::Ion(values) => values.input().read_size(),
            #[cfg(feature = "sql")]
            Self::Rows(rows) => rows.read_size(),
        }
    }
}

/// The rest of an input, as a plain reader.
struct Rest(Input);

impl Read for Rest {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.window().is_empty() {
            self.0.fill().map_err(io::Error::other)?;
        }
        let size = self.0.window().len().min(buffer.len());
        buffer[..size].copy_from_slice(&self.0.window()[..size]);
        self.0.consume(size, 0);
        Ok(size)
    }
}
