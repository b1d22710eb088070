//! What a column holds, over the rows that a grid shows: its most frequent values, and how its
//! numbers or moments are spread.
//!
//! ```text
//! facet      path → GROUP BY → the most frequent first
//! histogram  what is measured (Measure) → least and greatest → bins of round widths → GROUP BY
//! ```
//!
//! Both take a number of rows to look at, for a surface that cannot wait for all.

use folio_compute::Error as QueryError;
use folio_compute::cast;
use folio_types::{Column, ColumnType, ErrorCode, Value};

use super::window::ColumnPath;
use super::{Parameters, Session, Window};
use crate::error::Result;

/// The most frequent values of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Facet {
    /// The type of the values.
    pub column_type: ColumnType,
    /// Values, and how many rows have each; the most frequent first.
    pub values: Vec<(Value, u64)>,
}

/// How many values of a column lie between bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// The bounds of the bins, as text that a test of the column takes: one more than there are bins. A
    /// bin has its lower bound, and not its upper one.
    pub bounds: Vec<String>,
    /// How many values each bin has.
    pub counts: Vec<u64>,
}

/// How values become numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Integer,
    Real,
    Date,
    Moment {
        utc: bool,
    },
    /// Texts that are moments.
    Text,
}

/// So many values show whether texts are moments.
const SAMPLE: u64 = 20;

const MINUTE: f64 = 60.0;
const HOUR: f64 = 60.0 * MINUTE;
const DAY: f64 = 24.0 * HOUR;

/// Widths of bins of moments, in seconds.
const SPANS: [f64; 20] = [
    1.0,
    5.0,
    15.0,
    MINUTE,
    5.0 * MINUTE,
    15.0 * MINUTE,
    HOUR,
    3.0 * HOUR,
    6.0 * HOUR,
    12.0 * HOUR,
    DAY,
    2.0 * DAY,
    7.0 * DAY,
    14.0 * DAY,
    30.0 * DAY,
    90.0 * DAY,
    180.0 * DAY,
    365.0 * DAY,
    3650.0 * DAY,
    36_500.0 * DAY,
];

impl Session {
    /// The most frequent values of a path among the rows of a window; of `tags[]`, of its elements.
    /// The window's order and position do not matter. With a sample, only so many rows are looked
    /// at.
    ///
    /// # Errors
    /// As [`Session::window`].
    pub fn facet(
        &mut self,
        window: &Window,
        path: &str,
        count_max: usize,
        sample: Option<u64>,
    ) -> Result<Facet> {
        let (values, parameters) = values_of(window, path, sample);
        let text = format!(
            "SELECT v, count(*) AS n FROM ({values}) AS s GROUP BY v ORDER BY n DESC, v \
             LIMIT {count_max}"
        );
        let mut rows = self.rows_of(&text, &parameters)?;
        let column_type = rows.types()[0].clone();
        let values = rows.collect_rows()?.into_iter().map(|row| {
            let [value, count] = row.try_into().map_err(|_| unexpected())?;
            Ok((value, number(&count)?))
        });
        Ok(Facet { column_type, values: values.collect::<Result<_>>()? })
    }

    /// How the numbers or moments of a path are spread over at most so many bins; `None` where it has
    /// neither. Texts count as moments if the first ones are. Otherwise as [`Session::facet`].
    ///
    /// # Errors
    /// As [`Session::window`].
    pub fn histogram(
        &mut self,
        window: &Window,
        path: &str,
        bin_count: usize,
        sample: Option<u64>,
    ) -> Result<Option<Histogram>> {
        let Some(measure) = self.measure(window, path)? else { return Ok(None) };
        let (values, parameters) = values_of(window, path, sample);
        let number_of_v = measure.expression();
        let ends = format!(
            "SELECT min(x), max(x) FROM (SELECT {number_of_v} AS x FROM ({values}) AS s) AS t"
        );
        let ends = self.rows_of(&ends, &parameters)?.collect_rows()?;
        let Some([Value::Float(low), Value::Float(high)]) = ends.first().map(Vec::as_slice) else {
            return Ok(None);
        };
        let Some(bins) = Bins::over(*low, *high, measure, bin_count) else { return Ok(None) };
        let text = format!(
            "SELECT CAST(floor(({number_of_v} - ({:?})) / {:?}) AS bigint) AS b, count(*) \
             FROM ({values}) AS s GROUP BY b",
            bins.low, bins.width
        );
        let mut counts = vec![0; bins.count];
        for row in self.rows_of(&text, &parameters)?.collect_rows()? {
            // Rows without a value have no bin.
            let [Value::Integer(bin), count] = &row[..] else { continue };
            let bin = usize::try_from(*bin).unwrap_or(0).min(bins.count - 1);
            counts[bin] += number(count)?;
        }
        let bounds = (0..=bins.count).map(|bound| measure.bound(bins.bound(bound)));
        Ok(Some(Histogram { bounds: bounds.collect(), counts }))
    }

    /// The columns of a relation, with their types.
    ///
    /// # Errors
    /// As [`Session::window`].
    pub fn columns(&mut self, relation: &str) -> Result<Vec<Column>> {
        let window = Window { relation: relation.to_owned(), ..Window::default() };
        let rows = self.window(&window)?;
        let columns = rows.names().iter().zip(rows.types());
        Ok(columns
            .map(|(name, ty)| Column {
                name: name.clone(),
                column_type: ty.clone(),
                nullable: true,
            })
            .collect())
    }

    fn measure(&mut self, window: &Window, path: &str) -> Result<Option<Measure>> {
        let all = Window { relation: window.relation.clone(), ..Window::default() };
        let (values, parameters) = values_of(&all, path, None);
        let text = format!("SELECT v FROM ({values}) AS s WHERE v IS NOT NULL LIMIT {SAMPLE}");
        let mut rows = self.rows_of(&text, &parameters)?;
        let measure = match &rows.types()[0] {
            ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => Some(Measure::Integer),
            ColumnType::Float32 | ColumnType::Float64 | ColumnType::Decimal { .. } => {
                Some(Measure::Real)
            }
            ColumnType::Date => Some(Measure::Date),
            ColumnType::Timestamp { utc } => Some(Measure::Moment { utc: *utc }),
            ColumnType::Text => {
                let texts = rows.collect_rows()?;
                let is_moment =
                    |row: &Vec<Value>| matches!(&row[0], Value::Text(text) if is_moment(text));
                (!texts.is_empty() && texts.iter().all(is_moment)).then_some(Measure::Text)
            }
            _ => None,
        };
        Ok(measure)
    }
}

/// The query of a path's values, as `v`.
fn values_of(window: &Window, path: &str, sample: Option<u64>) -> (String, Parameters) {
    let ColumnPath { text: column, is_element } = ColumnPath::parse(path);
    let (mut text, parameters) = if is_element {
        let (source, parameters) = window.source(&format!(", unnest({column}) AS e(v)"));
        (format!("SELECT e.v {source}"), parameters)
    } else {
        window.statement(&format!("{column} AS v"))
    };
    if let Some(sample) = sample {
        text.push_str(&format!(" LIMIT {sample}"));
    }
    (text, parameters)
}

fn is_moment(text: &str) -> bool {
    let is_dated = text.len() >= 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
    is_dated && cast::parse(text, &ColumnType::Timestamp { utc: true }).is_ok()
}

fn number(count: &Value) -> Result<u64> {
    match count {
        Value::Integer(count) => Ok(u64::try_from(*count).unwrap_or(0)),
        _ => Err(unexpected()),
    }
}

fn unexpected() -> crate::Error {
    QueryError::new(ErrorCode::InvalidInput, "a count is a number").into()
}

impl Measure {
    /// The number of `v`.
    fn expression(self) -> &'static str {
        match self {
            Self::Integer | Self::Real => "CAST(v AS double precision)",
            Self::Date => "CAST(extract(epoch FROM CAST(v AS timestamp)) AS double precision)",
            Self::Moment { .. } => "CAST(extract(epoch FROM v) AS double precision)",
            Self::Text => {
                "CAST(extract(epoch FROM try_cast(v AS timestamptz)) AS double precision)"
            }
        }
    }

    /// The text of a bound.
    #[allow(clippy::cast_possible_truncation, reason = "a bound is near a value of the column")]
    fn bound(self, number: f64) -> String {
        let moment = |utc| {
            let moment = Value::Timestamp((number * 1e6) as i64);
            cast::format(&moment, &ColumnType::Timestamp { utc })
        };
        match self {
            Self::Integer => format!("{number:.0}"),
            Self::Real => number.to_string(),
            Self::Date => moment(false).chars().take_while(|next| *next != ' ').collect(),
            Self::Moment { utc } => moment(utc),
            // As documents write moments, so that texts compare like them.
            Self::Text => moment(false).replacen(' ', "T", 1),
        }
    }
}

/// Bins of one width.
#[derive(Debug, PartialEq)]
struct Bins {
    low: f64,
    width: f64,
    count: usize,
}

impl Bins {
    /// At most so many bins of a round width over all numbers between two; `None` if there are too
    /// many numbers between them to tell them apart.
    fn over(low: f64, high: f64, measure: Measure, count_max: usize) -> Option<Self> {
        let span = high - low;
        if !span.is_finite() || count_max == 0 {
            return None;
        }
        let least = (span / count_max as f64).max(f64::MIN_POSITIVE);
        let widths: Vec<f64> = match measure {
            Measure::Integer => {
                rounded(least).into_iter().filter(|width| *width >= 1.0).chain([1.0]).collect()
            }
            Measure::Real if span == 0.0 => vec![1.0],
            Measure::Real => rounded(least),
            Measure::Date => SPANS.into_iter().filter(|span| *span >= DAY).collect(),
            Measure::Moment { .. } | Measure::Text => SPANS.to_vec(),
        };
        widths.into_iter().find_map(|width| {
            let first = (low / width).floor() * width;
            let count = ((high - first) / width).floor() + 1.0;
            // A width below the distance of neighbouring numbers is none.
            let is_one = width >= least && first + width > first && count <= count_max as f64 + 1.0;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            is_one.then_some(Self { low: first, width, count: count as usize })
        })
    }

    fn bound(&self, number: usize) -> f64 {
        let bound = self.low + self.width * number as f64;
        // Sums of tenths are not always tenths.
        let scale = 10f64.powf((3.0 - self.width.log10()).ceil().clamp(0.0, 15.0));
        (bound * scale).round() / scale
    }
}

/// Widths of 1, 2 or 5 times a power of ten, from a least one on.
#[allow(clippy::cast_possible_truncation, reason = "exponents are small")]
fn rounded(least: f64) -> Vec<f64> {
    let exponent = least.log10().floor() as i32;
    let of = |exponent| [1.0, 2.0, 5.0].map(|digit: f64| digit * 10f64.powi(exponent));
    (exponent..exponent + 3).flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_round_and_cover_all() {
        let over = |low, high, measure| {
            Bins::over(low, high, measure, 20).map(|bins| (bins.low, bins.width, bins.count))
        };
        assert_eq!(over(0.0, 99.97, Measure::Real), Some((0.0, 5.0, 20)));
        assert_eq!(over(3.0, 7.0, Measure::Integer), Some((3.0, 1.0, 5)));
        assert_eq!(over(5.0, 5.0, Measure::Integer), Some((5.0, 1.0, 1)));
        assert_eq!(over(-1.0, 1.0, Measure::Real), Some((-1.0, 0.1, 21)));
        assert_eq!(over(0.0, 86_400.0, Measure::Text), Some((0.0, 3.0 * HOUR, 9)));
        assert_eq!(over(0.0, DAY, Measure::Date), Some((0.0, DAY, 2)));
        assert_eq!(over(f64::MIN, f64::MAX, Measure::Real), None);
        assert_eq!(over(f64::NAN, 1.0, Measure::Real), None);
    }
}
