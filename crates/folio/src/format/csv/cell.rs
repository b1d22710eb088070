//! Infers the types of CSV cells.
//!
//! A column is text when any cell of the first rows is text: a postcode column with one `01234` in
//! it stays text throughout. In the other columns, a cell that is a number in JSON syntax becomes
//! that number, digit by digit; `true` and `false` (also `True`, `TRUE`) become booleans; anything
//! else is text. Leading zeros, plus signs (`+1`), thousands separators, dates and `NaN` are text.
//!
//! An empty cell is null, and `""` is an empty text. If a file quotes some cells and not others, a
//! column that is always quoted is text. Writers that know their types (this library too)
//! distinguish `"42"` from `42` that way.

/// The apparent type of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Empty,
    Number,
    Boolean(bool),
    Text,
}

/// The apparent type of a cell by its text alone.
pub(crate) fn kind_of(cell: &str) -> Kind {
    match cell {
        "" => Kind::Empty,
        "true" | "True" | "TRUE" => Kind::Boolean(true),
        "false" | "False" | "FALSE" => Kind::Boolean(false),
        _ if is_json_number(cell.as_bytes()) => Kind::Number,
        _ => Kind::Text,
    }
}

/// Whether an unquoted text would be read as something other than text.
pub(crate) fn is_bare_value(text: &str) -> bool {
    kind_of(text) != Kind::Text
}

/// Whether the bytes are a number in the grammar of RFC 8259.
fn is_json_number(bytes: &[u8]) -> bool {
    let (digits, rest) = split_digits(bytes.strip_prefix(b"-").unwrap_or(bytes));
    if digits.is_empty() || (digits.len() > 1 && digits[0] == b'0') {
        return false;
    }
    let rest = match rest.strip_prefix(b".").map(split_digits) {
        Some(([], _)) => return false,
        Some((_, rest)) => rest,
        None => rest,
    };
    let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) else {
        return rest.is_empty();
    };
    let sign = exponent.strip_prefix(b"+").or_else(|| exponent.strip_prefix(b"-"));
    let (digits, rest) = split_digits(sign.unwrap_or(exponent));
    !digits.is_empty() && rest.is_empty()
}

fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let size = bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len());
    bytes.split_at(size)
}

/// What the first rows show about each column.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    columns: Vec<ColumnSample>,
    /// Whether any non-empty cell is unquoted.
    has_bare_cell: bool,
}

#[derive(Debug, Default, Clone)]
struct ColumnSample {
    has_text: bool,
    has_bare_cell: bool,
    has_quoted_cell: bool,
}

impl Sample {
    pub(crate) fn new(column_count: usize) -> Self {
        Self { columns: vec![ColumnSample::default(); column_count], has_bare_cell: false }
    }

    /// Records a cell.
    pub(crate) fn add(&mut self, column: usize, cell: &str, is_quoted: bool) {
        let Some(sample) = self.columns.get_mut(column) else { return };
        match kind_of(cell) {
            Kind::Empty => return,
            Kind::Text => sample.has_text = true,
            Kind::Number | Kind::Boolean(_) => {}
        }
        sample.has_quoted_cell |= is_quoted;
        sample.has_bare_cell |= !is_quoted;
        self.has_bare_cell |= !is_quoted;
    }

    /// Which columns are text throughout.
    pub(crate) fn text_columns(&self) -> Vec<bool> {
        let is_text = |column: &ColumnSample| {
            let always_quoted = column.has_quoted_cell && !column.has_bare_cell;
            column.has_text || (always_quoted && self.has_bare_cell)
        };
        self.columns.iter().map(is_text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Number;

    #[test]
    fn numbers_are_those_of_json() {
        for cell in
            ["0", "-0", "12", "1.50", "-1e5", "2E+10", "123456789012345678901234567890", "0.0"]
        {
            assert_eq!(kind_of(cell), Kind::Number, "{cell}");
            assert!(cell.parse::<Number>().is_ok(), "{cell}");
        }
        for cell in [
            "007", "+1", ".5", "5.", "1,000", "1e", "--1", "0x10", "NaN", "Infinity", "1 ", "-",
            "٣",
        ] {
            assert_eq!(kind_of(cell), Kind::Text, "{cell}");
        }
    }

    #[test]
    fn one_text_makes_a_text_column() {
        let mut sample = Sample::new(3);
        for (column, cell) in [(0, "10001"), (0, "01234"), (1, "1"), (1, ""), (2, "")] {
            sample.add(column, cell, false);
        }
        assert_eq!(sample.text_columns(), [true, false, false]);
    }

    #[test]
    fn quotes_count_only_where_they_tell_something() {
        let mut all = Sample::new(2);
        all.add(0, "1", true);
        all.add(1, "2", true);
        assert_eq!(all.text_columns(), [false, false], "everything is quoted");
        let mut some = Sample::new(2);
        some.add(0, "1", true);
        some.add(1, "2", false);
        assert_eq!(some.text_columns(), [true, false], "the writer knew its types");
    }
}
