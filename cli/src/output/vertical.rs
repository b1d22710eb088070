//! One line per value, for rows that are wider than the terminal, and for long texts.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::cell::Cell;

/// The column names, padded to one width.
pub(super) struct Names(Vec<String>);

impl Names {
    pub(super) fn new(names: &[String]) -> Self {
        let width = names.iter().map(|name| name.width()).max().unwrap_or_default();
        let padded = |name: &String| format!("{name}{}", " ".repeat(width - name.width()));
        Self(names.iter().map(padded).collect())
    }

    /// Prints the values of a row, under its number.
    pub(super) fn print_row(
        &self,
        number: u64,
        cells: impl Iterator<Item = Option<Cell>>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        writeln!(out, "── row {number} ──")?;
        for (name, cell) in self.0.iter().zip(cells) {
            if let Some(Cell { text, .. }) = cell {
                writeln!(out, "{}", format!("{name}  {text}").trim_end())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_wide_as_they_look() {
        let names = Names::new(&["a".to_owned(), "日本".to_owned()]);
        let cell = |text: &str| Some(Cell { text: text.to_owned(), is_number: false });
        let mut out = Vec::new();
        names.print_row(7, [cell("1"), cell("x y")].into_iter(), &mut out).unwrap();
        names.print_row(8, [None, cell("")].into_iter(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "── row 7 ──\na     1\n日本  x y\n── row 8 ──\n日本\n");
    }
}
