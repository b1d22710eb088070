//! Conditions of an index, compared with the segments of values.
//!
//! A column of doubles reads numbers as their nearest double, one of integers or of json exactly.
//! A condition passes what fulfils it either way, so an index misses no document for which a
//! statement finds the condition true, whatever the types are then.

use folio_json::{push_boolean_key, push_double_key, push_number_key, push_text_key};
use folio_types::{Comparison, FieldTest, Literal};

use super::key::ABSENT;
use super::range::successor;

/// A test of a segment.
#[derive(Debug)]
pub(super) enum SegmentTest {
    /// Begins with one of these.
    BeginsWith(Vec<Vec<u8>>),
    /// Is another one, and not absent.
    Not(Vec<u8>),
    /// Is in a range, and not absent.
    Range {
        from: Vec<u8>,
        to: Option<Vec<u8>>,
    },
    Absent,
    Present,
}

impl SegmentTest {
    pub(super) fn new(test: &FieldTest) -> Self {
        let range = |from, to| Self::Range { from, to };
        match test {
            FieldTest::Compare(Comparison::Equal, literal) => {
                Self::BeginsWith(vec![beginning(literal)])
            }
            FieldTest::Compare(Comparison::Less, literal) => {
                range(Vec::new(), Some(whole(literal)))
            }
            FieldTest::Compare(Comparison::LessOrEqual, literal) => {
                range(Vec::new(), successor(beginning(literal)))
            }
            FieldTest::Compare(Comparison::Greater, literal) => {
                range(successor(whole(literal)).unwrap_or_default(), None)
            }
            FieldTest::Compare(Comparison::GreaterOrEqual, literal) => {
                range(beginning(literal), None)
            }
            FieldTest::Compare(_, literal) => Self::Not(whole(literal)),
            FieldTest::OneOf(list) => Self::BeginsWith(list.iter().map(beginning).collect()),
            FieldTest::Null => Self::Absent,
            FieldTest::NotNull => Self::Present,
        }
    }

    pub(super) fn passes(&self, segment: &[u8]) -> bool {
        let is_absent = segment == [ABSENT];
        match self {
            Self::Absent => is_absent,
            _ if is_absent => false,
            Self::Present => true,
            Self::BeginsWith(list) => list.iter().any(|start| segment.starts_with(start)),
            Self::Not(other) => segment != other,
            Self::Range { from, to } => {
                segment >= &from[..] && to.as_ref().is_none_or(|to| segment < &to[..])
            }
        }
    }
}

/// The segment of a literal.
fn whole(literal: &Literal) -> Vec<u8> {
    let mut out = Vec::new();
    match literal {
        Literal::Text(text) => push_text_key(text, &mut out),
        Literal::Number(text) => push_number_key(text, &mut out),
        Literal::Boolean(truth) => push_boolean_key(*truth, &mut out),
    }
    out
}

/// What the segments of all values begin with that some column reads as the literal.
fn beginning(literal: &Literal) -> Vec<u8> {
    match literal {
        Literal::Number(text) => {
            let mut out = Vec::new();
            // Zero has no sign in keys.
            push_double_key(text.parse().unwrap_or(0.0) + 0.0, &mut out);
            out
        }
        other => whole(other),
    }
}
