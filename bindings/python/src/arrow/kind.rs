//! What the values at one place of the documents are, as far as seen.
//!
//! Kinds only ever widen: from nothing to null, to one type, to JSON text, which
//! holds everything. The order of documents does not matter.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

use super::token::{Malformed, Next, Tokens};
use crate::decode::Pattern;

/// An object with more members than this is taken for a map.
const FIELDS_MAX: usize = 1_000;

/// Up to here every integer is a double.
const EXACT_MAX: u64 = 1 << 53;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Kind {
    #[default]
    Null,
    Bool,
    /// Integers: whether some are negative, above `i64::MAX`, or not exact as a double.
    Int {
        is_negative: bool,
        is_large: bool,
        is_wide: bool,
    },
    Float,
    Text,
    List(Box<Kind>),
    Struct(Members),
    Json,
}

/// The members of an object, in the order they were first seen in.
#[derive(Debug, Clone, Default)]
pub(super) struct Members {
    pub(super) members: Vec<Member>,
    by_name: HashMap<String, usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) name: String,
    /// The key as it usually stands in the text: `"name":`.
    pub(super) pattern: Pattern,
    pub(super) kind: Kind,
}

impl PartialEq for Members {
    fn eq(&self, other: &Self) -> bool {
        let pairs = || self.members.iter().zip(&other.members);
        self.members.len() == other.members.len()
            && pairs().all(|(a, b)| a.name == b.name && a.kind == b.kind)
    }
}

impl Members {
    /// The place of a name, which is made if it is new.
    fn place(&mut self, name: &str) -> usize {
        if let Some(&index) = self.by_name.get(name) {
            return index;
        }
        let quoted = serde_json::Value::from(name).to_string();
        let pattern = Pattern::of_key(&quoted.as_bytes()[1..quoted.len() - 1]);
        self.members.push(Member { name: name.to_owned(), pattern, kind: Kind::Null });
        self.by_name.insert(name.to_owned(), self.members.len() - 1);
        self.members.len() - 1
    }

    /// The place of the member whose key comes next, looked for at `guess` first.
    #[inline]
    fn next(&mut self, tokens: &mut Tokens<'_>, guess: usize) -> Result<usize, Malformed> {
        if let Some(member) = self.members.get(guess)
            && tokens.take(&member.pattern)
        {
            return Ok(guess);
        }
        Ok(self.place(&tokens.key()?))
    }

    /// The place of a name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Widens the members by one object; its brace comes next.
    pub(super) fn observe(&mut self, tokens: &mut Tokens<'_>) -> Result<(), Malformed> {
        if !tokens.enter()? {
            return Ok(());
        }
        let mut guess = 0;
        loop {
            let place = self.next(tokens, guess)?;
            self.members[place].kind.observe(tokens)?;
            guess = place + 1;
            if !tokens.more()? {
                return Ok(());
            }
        }
    }

    /// The columns.
    pub(super) fn fields(&self) -> Fields {
        self.members.iter().map(|member| Arc::new(member.kind.field(&member.name))).collect()
    }
}

impl Kind {
    /// Widens the kind by the value that comes next.
    pub(super) fn observe(&mut self, tokens: &mut Tokens<'_>) -> Result<(), Malformed> {
        let next = tokens.peek()?;
        match (&mut *self, next) {
            (_, Next::Null) => return tokens.word(),
            (Kind::Json, _) => return tokens.skip(),
            (Kind::Bool, Next::Bool(_)) => return tokens.word(),
            (Kind::Text, Next::Text) => return tokens.text().map(drop),
            (Kind::Float, Next::Number) | (Kind::Int { .. }, Next::Number) => {
                let seen = number(tokens.number()?);
                self.widen(seen);
            }
            (Kind::List(kind), Next::Array) => return observe_items(kind, tokens),
            (Kind::Struct(members), Next::Object) => {
                members.observe(tokens)?;
                if members.members.len() > FIELDS_MAX {
                    *self = Kind::Json;
                }
            }
            (Kind::Null, _) => {
                *self = first(next);
                return self.observe(tokens);
            }
            _ => {
                *self = Kind::Json;
                return tokens.skip();
            }
        }
        Ok(())
    }

    /// The smallest kind of number that holds both.
    fn widen(&mut self, seen: Kind) {
        *self = match (&*self, seen) {
            (
                Kind::Int { is_negative, is_large, is_wide },
                Kind::Int { is_negative: negative, is_large: large, is_wide: wide },
            ) => {
                let (is_negative, is_large) = (is_negative | negative, is_large | large);
                if is_negative && is_large {
                    Kind::Json
                } else {
                    Kind::Int { is_negative, is_large, is_wide: is_wide | wide }
                }
            }
            (Kind::Float, Kind::Float) => Kind::Float,
            (Kind::Float, Kind::Int { is_wide: false, .. })
            | (Kind::Int { is_wide: false, .. }, Kind::Float) => Kind::Float,
            _ => Kind::Json,
        };
    }

    /// The column.
    pub(super) fn field(&self, name: &str) -> Field {
        let field = Field::new(name, self.data_type(), true);
        if !self.is_json() {
            return field;
        }
        field.with_metadata(HashMap::from([
            ("ARROW:extension:name".to_owned(), "arrow.json".to_owned()),
            ("ARROW:extension:metadata".to_owned(), String::new()),
        ]))
    }

    /// Objects without any member have no columns to be.
    pub(super) fn is_json(&self) -> bool {
        match self {
            Kind::Json => true,
            Kind::Struct(members) => members.members.is_empty(),
            _ => false,
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            _ if self.is_json() => DataType::Utf8,
            Kind::Null => DataType::Null,
            Kind::Bool => DataType::Boolean,
            Kind::Int { is_large: true, .. } => DataType::UInt64,
            Kind::Int { .. } => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Text | Kind::Json => DataType::Utf8,
            Kind::List(kind) => DataType::List(Arc::new(kind.field("item"))),
            Kind::Struct(members) => DataType::Struct(members.fields()),
        }
    }
}

fn observe_items(kind: &mut Kind, tokens: &mut Tokens<'_>) -> Result<(), Malformed> {
    if !tokens.enter()? {
        return Ok(());
    }
    loop {
        kind.observe(tokens)?;
        if !tokens.more()? {
            return Ok(());
        }
    }
}

/// The narrowest kind that a first value can have.
fn first(next: Next) -> Kind {
    match next {
        Next::Null => Kind::Null,
        Next::Bool(_) => Kind::Bool,
        Next::Number => Kind::Int { is_negative: false, is_large: false, is_wide: false },
        Next::Text => Kind::Text,
        Next::Array => Kind::List(Box::default()),
        Next::Object => Kind::Struct(Members::default()),
    }
}

/// The kind of one number.
fn number(digits: &[u8]) -> Kind {
    if digits.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return Kind::Float;
    }
    let (is_negative, digits) = match digits {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok()) {
        Some(value) if is_negative && value > 1 << 63 => Kind::Json,
        Some(value) => Kind::Int {
            is_negative: is_negative && value > 0,
            is_large: !is_negative && value > i64::MAX as u64,
            is_wide: value > EXACT_MAX,
        },
        None => Kind::Json,
    }
}
