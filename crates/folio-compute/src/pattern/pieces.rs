//! LIKE without `_`: the pieces of a pattern between its `%`, which a text has one after the other.
//!
//! The first piece is the beginning of the text and the last one its end. Those between are searched
//! for from the left: the leftmost match of a piece leaves the most room for those after it, so no
//! other one is tried.

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::{Array, BooleanArray, StringArray};
use memchr::memmem::{Finder, find};

use super::ESCAPE;

/// The pieces of a pattern, at least one.
pub(super) struct Pieces(Vec<String>);

impl Pieces {
    /// `None` if the pattern has `_`. A backslash that escapes nothing, at the end, stands for itself.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        let mut pieces = vec![String::new()];
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            let literal = match character {
                '_' => return None,
                '%' => {
                    pieces.push(String::new());
                    continue;
                }
                ESCAPE => characters.next().unwrap_or(ESCAPE),
                other => other,
            };
            pieces.last_mut()?.push(literal);
        }
        Some(Self(pieces))
    }

    /// Those of texts that begin with another.
    pub(super) fn of_prefix(prefix: &str) -> Self {
        Self(vec![prefix.to_owned(), String::new()])
    }

    /// Whether a text matches the pattern.
    pub(super) fn match_text(&self, text: &str) -> bool {
        let (first, others) = self.0.split_first().expect("there is at least one");
        let Some((last, inner)) = others.split_last() else { return text == first };
        let Some(rest) = text.strip_prefix(first.as_str()) else { return false };
        let Some(rest) = rest.strip_suffix(last.as_str()) else { return false };
        inner.iter().try_fold(rest.as_bytes(), after).is_some()
    }

    /// Which texts match.
    pub(super) fn match_all(&self, texts: &StringArray) -> BooleanArray {
        let is_searched = self.0.len() > 2 && self.0[0].is_empty();
        let (Some(first), true) = (self.0.iter().find(|piece| !piece.is_empty()), is_searched)
        else {
            let passed = texts.iter().map(|text| text.map(|text| self.match_text(text)));
            return passed.collect();
        };
        self.search(first, texts)
    }

    /// Searches the buffer of all texts at once for the first piece: starting a search for each text
    /// costs more than the search itself. Texts begin at character boundaries, so a match within the
    /// bounds of a text is a match in it.
    fn search(&self, first: &str, texts: &StringArray) -> BooleanArray {
        let (offsets, block) = (texts.value_offsets(), texts.value_data());
        let end_of = |row: usize| offsets[row + 1] as usize;
        let mut found = BooleanBufferBuilder::new(texts.len());
        found.append_n(texts.len(), false);
        let finder = Finder::new(first.as_bytes());
        let count = self.0.iter().filter(|piece| !piece.is_empty()).count();
        let is_alone = count == 1 && self.0.last().is_some_and(String::is_empty);
        let (mut row, mut from) = (0, offsets[0] as usize);
        let end = offsets[texts.len()] as usize;
        while let Some(place) = finder.find(&block[from..end]) {
            let place = from + place;
            while end_of(row) <= place {
                row += 1;
            }
            // A match that crosses the end of a text does not count.
            if place + first.len() > end_of(row) {
                from = place + 1;
                continue;
            }
            if is_alone || self.match_text(texts.value(row)) {
                found.set_bit(row, true);
            }
            from = end_of(row);
        }
        BooleanArray::new(found.finish(), texts.nulls().cloned())
    }
}

/// What is behind a piece in a text.
fn after<'t>(text: &'t [u8], piece: &String) -> Option<&'t [u8]> {
    find(text, piece.as_bytes()).map(|place| &text[place + piece.len()..])
}

#[cfg(test)]
mod tests {
    use super::super::{MatchKind, compile};
    use super::*;

    const PATTERNS: [&str; 24] = [
        "%a%", "%ab%", "%aba%", "%bb%", "%ü%", "%abü%", "%a%a%", "%ab%%b%", "%a%ü%b%", "", "%",
        "%%", "a", "ab", "a%", "%a", "a%b", "ab%ab", "a%a%b", "%ab%a", "a%ü", "\\a%", "%\\b",
        "b\\",
    ];

    /// Pieces that cross the ends of texts, in empty texts, in nulls, twice in one text.
    #[test]
    fn texts_match_as_by_regular_expressions() {
        let parts = ["", "a", "b", "ab", "ba", "aab", "abab", "bb", "ü", "aüb"];
        let mut state = 7u64;
        for pattern in PATTERNS {
            let mut texts = Vec::new();
            for _ in 0..500 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let choice = (state >> 33) as usize % (parts.len() + 1);
                texts.push(parts.get(choice).copied());
            }
            let array = StringArray::from(texts.clone());
            let pieces = Pieces::of(pattern).expect("no single characters");
            let regex = compile(MatchKind::Like, pattern, None).expect("a pattern");
            for start in [0, 1, 37] {
                let found = pieces.match_all(&array.slice(start, 400));
                let texts = &texts[start..start + 400];
                let expected = texts.iter().map(|text| text.map(|text| regex.is_match(text)));
                assert!(found.iter().eq(expected), "{pattern} from {start}");
                let each = texts.iter().map(|text| text.map(|text| pieces.match_text(text)));
                assert!(found.iter().eq(each), "{pattern} from {start}");
            }
        }
        assert!(Pieces::of("a_").is_none() && Pieces::of("a\\_").is_some());
    }
}
