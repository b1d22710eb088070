//! A text that an editor has open, and places in it: lines, and columns in UTF-16, as the protocol
//! counts.

use std::ops::Range;

use serde_json::{Value, json};

use crate::language::Language;

/// An open text.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) text: String,
    pub(super) language: Language,
    /// The editor's number of this state of the text.
    pub(super) version: Value,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl Document {
    pub(super) fn new(text: String, language: Language, version: Value) -> Self {
        let lines = lines_of(&text);
        Self { text, language, version, lines }
    }

    /// Replaces a part of the text, or all of it if the change names no part.
    pub(super) fn change(&mut self, change: &Value) {
        let Some(text) = change["text"].as_str() else { return };
        let range = match change.get("range") {
            Some(range) => self.offsets(range),
            None => 0..self.text.len(),
        };
        self.text.replace_range(range, text);
        self.lines = lines_of(&self.text);
    }

    /// The offset of a position. Beyond the end of a line or of the text, it is that end.
    pub(super) fn offset(&self, position: &Value) -> usize {
        let number = |name: &str| {
            usize::try_from(position[name].as_u64().unwrap_or(0)).unwrap_or(usize::MAX)
        };
        let (line, column) = (number("line"), number("character"));
        let Some(start) = self.lines.get(line) else { return self.text.len() };
        let end = line.checked_add(1).and_then(|next| self.lines.get(next));
        let own = &self.text[*start..end.copied().unwrap_or(self.text.len())];
        let own = own.trim_end_matches(['\n', '\r']);
        let mut left = column;
        for (at, character) in own.char_indices() {
            // The middle of a pair is before it.
            if left < character.len_utf16() {
                return start + at;
            }
            left -= character.len_utf16();
        }
        start + own.len()
    }

    fn offsets(&self, range: &Value) -> Range<usize> {
        let (start, end) = (self.offset(&range["start"]), self.offset(&range["end"]));
        start.min(end)..end.max(start)
    }

    /// The range of a part of the text.
    pub(super) fn range(&self, part: &Range<usize>) -> Value {
        json!({"start": self.position(part.start), "end": self.position(part.end)})
    }

    fn position(&self, offset: usize) -> Value {
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        let before = &self.text[self.lines[line]..offset];
        let column: usize = before.chars().map(char::len_utf16).sum();
        json!({"line": line, "character": column})
    }
}

/// Where lines begin: after `\n`, `\r\n` and `\r`.
fn lines_of(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = bytes.iter().enumerate().filter(|(at, byte)| {
        **byte == b'\n' || **byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')
    });
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document::new(text.to_owned(), Language::Sql, Value::Null)
    }

    #[test]
    fn places_count_in_utf16() {
        let text = "é😀x\r\ny\rz\n";
        let document = document(text);
        for (line, column, offset) in [
            (0, 0, 0),
            (0, 1, 2),
            (0, 3, 6),
            (0, 4, 7),
            (1, 0, 9),
            (1, 1, 10),
            (2, 1, 12),
            (3, 0, 13),
        ] {
            let position = json!({"line": line, "character": column});
            assert_eq!(document.offset(&position), offset, "{position}");
            assert_eq!(document.position(offset), position, "{offset}");
        }
        for (line, column, offset) in [(0, 2, 2), (0, 99, 7), (1, 9, 10), (9, 0, 13)] {
            assert_eq!(document.offset(&json!({"line": line, "character": column})), offset);
        }
        assert_eq!(document.offset(&json!({"line": u64::MAX, "character": -1})), text.len());
    }

    #[test]
    fn changes_replace_a_part_or_all() {
        let mut own = document("select é😀, b\nfrom t");
        let place = |line: u32, column: u32| json!({"line": line, "character": column});
        own.change(&json!({"range": {"start": place(0, 8), "end": place(0, 10)}, "text": "x\n"}));
        assert_eq!(own.text, "select éx\n, b\nfrom t");
        own.change(&json!({"range": {"start": place(2, 99), "end": place(2, 5)}, "text": "u"}));
        assert_eq!(own.text, "select éx\n, b\nfrom u");
        own.change(&json!({"text": "all"}));
        own.change(&json!({"range": {"start": place(0, 0), "end": place(0, 1)}}));
        assert_eq!(own.text, "all");
    }
}
