//! One statement: run, printed, timed.

use std::time::{Duration, Instant};

use folio::Rows;

use super::Shell;
use crate::failure::Failure;
use crate::language::Language;
use crate::output::{self, Format};
use crate::waiting::Waiting;
use crate::words::plural;

/// How long what others have written is not looked for again, while statements come together.
const FRESH: Duration = Duration::from_millis(20);

/// Statements that begin so change no definitions.
const READING: &[&str] = &["SELECT", "GRAB", "WITH", "VALUES", "EXPLAIN", "DESCRIBE", "SHOW"];

impl Shell<'_> {
    /// Runs a statement and prints what it answers.
    pub(super) fn run_statement(&mut self, text: &str, language: Language) -> Result<(), Failure> {
        let begun = Instant::now();
        if self.looked.is_none_or(|looked| looked.elapsed() > FRESH) {
            self.look_at_others();
            self.looked = Some(Instant::now());
        }
        let waiting = Waiting::begin(self.console, &mut self.session);
        let (rows, count) = match language {
            Language::Ziql => (Some(self.session.ziql(text, &[])?), None),
            Language::Sql => {
                let answer = self.session.execute(text, &[])?;
                (answer.rows, answer.count)
            }
        };
        match rows {
            Some(rows) => self.print(rows, waiting)?,
            None => {
                drop(waiting);
                let changed = count.filter(|count| *count > 0);
                let done = changed.map_or_else(
                    || "done".to_owned(),
                    |count| format!("{} changed", plural(count, "row")),
                );
                self.remark(&done)?;
            }
        }
        self.console.print_notices_of_statements(&self.database);
        if self.has_timing {
            self.console.print(&duration(begun.elapsed()))?;
        }
        if !is_reading(text) {
            self.refresh_names();
        }
        Ok(())
    }

    /// Reads what others have written to collections, also by hand: who asks means what is there now.
    /// What fails here fails again in the statement.
    fn look_at_others(&self) {
        if !self.database.is_writable() {
            return; // a place that may be far away
        }
        for name in self.database.collections().unwrap_or_default() {
            let _ = self.database.existing_collection(&name).and_then(|there| there.refresh());
        }
    }

    fn print(&self, rows: Rows, waiting: Waiting) -> Result<(), Failure> {
        if self.format() != Format::Table {
            drop(waiting);
            output::print_rows_of_query(rows, self.format(), &self.style, self.console)?;
            return Ok(());
        }
        // All rows of a table are there before its first line is drawn.
        let table = output::gather_table(rows, &self.style)?;
        drop(waiting);
        if !table.has_columns() {
            return self.remark("done");
        }
        table.print(&self.style, self.console)?;
        if !table.is_cut() {
            self.remark(&plural(table.row_count(), "row"))?;
        }
        Ok(())
    }

    /// Says how a statement ended, to people.
    fn remark(&self, text: &str) -> Result<(), Failure> {
        if self.console.is_terminal { Ok(self.console.confirm(text)?) } else { Ok(()) }
    }
}

/// Whether a statement leaves the names as they are.
fn is_reading(text: &str) -> bool {
    let first = text.split(|character: char| !character.is_ascii_alphabetic()).next();
    first.is_some_and(|first| READING.iter().any(|verb| verb.eq_ignore_ascii_case(first)))
}

/// A time in the unit people would use.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        _ if seconds < 0.001 => format!("{:.0} µs", seconds * 1e6),
        _ if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_fitting_units() {
        for (microseconds, expected) in
            [(12, "12 µs"), (1_500, "1.5 ms"), (999_999, "1000.0 ms"), (61_250_000, "61.25 s")]
        {
            assert_eq!(duration(Duration::from_micros(microseconds)), expected);
        }
    }

    #[test]
    fn statements_that_read_are_known() {
        assert!(is_reading("select(1)") && is_reading("Grab User"));
        assert!(!is_reading("create table t (a int)") && !is_reading(""));
    }
}
