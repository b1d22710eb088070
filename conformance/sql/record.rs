//! Reading sqllogictest files: one record after the other. The runners of the library and
//! of the command include this file; `conformance/README.md` tells the form.

/// How rows are ordered before they are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    None,
    Rows,
    Values,
}

/// What a record expects.
#[derive(Debug, Clone)]
pub(crate) enum Expected {
    /// The statement runs; it changes so many rows, where a number is given.
    Ok(Option<u64>),
    /// It fails, with this in its text where one is given.
    Error(String),
    /// It answers these values.
    Rows { types: String, order: Order, lines: Vec<String> },
}

/// One record.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) line: usize,
    pub(crate) sql: String,
    pub(crate) expected: Expected,
    pub(crate) is_skipped: bool,
}

/// All records of a file, for an engine that answers to some names.
pub(crate) fn records(text: &str, names: &[&str]) -> Vec<Record> {
    let mut records = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut is_skipped = false;
    while let Some((number, line)) = lines.next() {
        let line = strip_comment(line);
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.first().copied() {
            None | Some("hash-threshold") => continue,
            Some("skipif") => is_skipped |= names.contains(&words[1]),
            Some("onlyif") => is_skipped |= !names.contains(&words[1]),
            Some("halt") => {
                if !std::mem::take(&mut is_skipped) {
                    break;
                }
            }
            Some("statement" | "query") => {
                let mut sql = Vec::new();
                let mut has_answer = false;
                while let Some((_, next)) = lines.next_if(|(_, next)| !next.trim().is_empty()) {
                    if next.trim_end() == "----" {
                        has_answer = true;
                        break;
                    }
                    sql.push(next);
                }
                let mut answer = Vec::new();
                if has_answer {
                    while let Some((_, next)) = lines.next_if(|(_, next)| !next.is_empty()) {
                        answer.push(next.to_owned());
                    }
                }
                records.push(Record {
                    line: number + 1,
                    sql: sql.join("\n"),
                    expected: expected(&words, answer),
                    is_skipped: std::mem::take(&mut is_skipped),
                });
            }
            Some(other) => panic!("line {}: {other:?} is not known", number + 1),
        }
    }
    records
}

fn strip_comment(line: &str) -> &str {
    if line.starts_with('#') { "" } else { line.split(" # ").next().unwrap_or(line) }
}

fn expected(words: &[&str], lines: Vec<String>) -> Expected {
    match (words[0], words.get(1).copied()) {
        ("statement", Some("ok")) => Expected::Ok(None),
        ("statement", Some("count")) => {
            Expected::Ok(words.get(2).and_then(|count| count.parse().ok()))
        }
        ("statement" | "query", Some("error")) => Expected::Error(lines.join("\n")),
        (_, types) => {
            let order = match words.get(2).copied() {
                Some("rowsort") => Order::Rows,
                Some("valuesort") => Order::Values,
                _ => Order::None,
            };
            Expected::Rows { types: types.unwrap_or_default().to_owned(), order, lines }
        }
    }
}
