//! The tree of types: which kinds of values were seen at each path, and how often.
//!
//! Nodes only widen, so the order of documents affects only the order of names. The trees of two
//! ranges of lines can be merged into the tree of both. The size is limited for any documents:
//! values below [`DEPTH_MAX`] levels, in objects of more than [`MEMBERS_MAX`] members, and beyond
//! [`PATHS_MAX`] paths count as JSON text.
//!
//! If an object has a key twice, both values count towards the types, although readers return the
//! last one: to know the last one, each object would be read twice. So a type may be wider than
//! what is read.
//!
//! Beside the kinds, a summary of the scalars of each path is recorded (`summary`). `lines` writes a
//! tree as text and reads it back, `paths` lists it for people.

mod lines;
mod paths;
mod summary;

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::number::{Number, double, integer};
use crate::pattern::Pattern;
use crate::scan::{Fault, Scanner};
use crate::text::push_text;
use crate::types::{Field, Type};

pub use lines::LinesError;
pub use paths::PathSummary;

use summary::Summary;

/// An object with more members counts as a map.
const MEMBERS_MAX: usize = 1_000;

/// The maximum nesting of objects and lists.
const DEPTH_MAX: usize = 64;

/// The maximum number of paths below the first level.
const PATHS_MAX: usize = 10_000;

/// The scalars of so many documents are all looked at for summaries.
const SAMPLED_WHOLE: u64 = 8_192;

/// After them, those of one document in so many are: to look at all costs a quarter more.
const ONE_SAMPLED_IN: u64 = 8;

type Result<T = (), E = Fault> = std::result::Result<T, E>;

/// The number of values of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nulls.
    pub null: u64,
    /// `true` and `false`.
    pub boolean: u64,
    /// Numbers without a point or an exponent, within 64 bits.
    pub integer: u64,
    /// All other numbers.
    pub number: u64,
    /// Strings.
    pub string: u64,
    /// Lists.
    pub list: u64,
    /// Objects.
    pub object: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.null += other.null;
        self.boolean += other.boolean;
        self.integer += other.integer;
        self.number += other.number;
        self.string += other.string;
        self.list += other.list;
        self.object += other.object;
    }

    /// The number of all values.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.null
            + self.boolean
            + self.integer
            + self.number
            + self.string
            + self.list
            + self.object
    }
}

/// What was seen at one path.
#[derive(Debug, Clone, Default)]
pub struct Node {
    counts: Counts,
    /// An integer was not exact as a double.
    is_wide: bool,
    /// A number fits neither number type.
    is_beyond: bool,
    /// There is more below than is recorded.
    is_collapsed: bool,
    members: Members,
    element: Option<Box<Node>>,
    /// Of the scalars, once there are any.
    summary: Option<Box<Summary>>,
}

/// The members of objects, in the order of first appearance.
#[derive(Debug, Clone, Default)]
struct Members {
    all: Vec<Member>,
    by_name: HashMap<Box<str>, usize, RandomState>,
    /// The number of objects added, which numbers them.
    object_count: u64,
}

#[derive(Debug, Clone)]
struct Member {
    name: Box<str>,
    /// The key as it usually appears in the text.
    pattern: Pattern,
    /// The last object that had it, by its number.
    last_object: u64,
    node: Node,
}

/// The tree of types of documents.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    members: Members,
    document_count: u64,
    /// The number of paths below the first level.
    path_count: usize,
    has_repeated_keys: bool,
}

impl Tree {
    /// Adds the types of one document, and checks its grammar as [`check`](crate::check) does. The
    /// caller checks UTF-8.
    ///
    /// # Errors
    /// Where and why the line is not a JSON object. A part of it may have been added.
    pub fn observe(&mut self, line: &[u8]) -> Result {
        let mut scanner = Scanner::lenient(line);
        scanner.expect(b'{', "a document is a JSON object: \"{\" expected")?;
        self.document_count += 1;
        let (path_count, has_repeated_keys) = (&mut self.path_count, &mut self.has_repeated_keys);
        let is_sampled = self.document_count <= SAMPLED_WHOLE
            || self.document_count.is_multiple_of(ONE_SAMPLED_IN);
        let mut walk = Walk { scanner, depth: 1, is_sampled, path_count, has_repeated_keys };
        self.members.observe(&mut walk, true)?;
        walk.scanner.end("text after the end of the document")
    }

    /// Adds what was seen in later documents.
    pub fn merge(&mut self, later: &Self) {
        self.document_count += later.document_count;
        self.has_repeated_keys |= later.has_repeated_keys;
        self.members.merge(&later.members, &mut self.path_count, true);
    }

    /// The number of documents added.
    #[must_use]
    pub fn document_count(&self) -> u64 {
        self.document_count
    }

    /// Whether no object repeated a key, apart from objects whose content counts as JSON text.
    #[must_use]
    pub fn keys_are_distinct(&self) -> bool {
        !self.has_repeated_keys
    }

    /// The members of documents and what was seen of them, in the order of first appearance.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.members.iter()
    }

    /// What was seen at a path of names, outermost first.
    #[must_use]
    pub fn at(&self, path: &[String]) -> Option<&Node> {
        let (first, below) = path.split_first()?;
        below.iter().try_fold(self.members.get(first)?, |node, name| node.members.get(name))
    }

    /// The members of documents with their types, in the order of first appearance.
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        self.members.fields()
    }

    /// The fields whose names suit a language that ignores case, has no empty names, and limits
    /// names to less than `size_max` bytes. Of names that differ only by case, the first remains.
    #[must_use]
    pub fn distinct_fields(&self, size_max: usize) -> Vec<Field> {
        let mut taken = std::collections::HashSet::new();
        let mut fields = self.fields();
        fields.retain(|Field { name, .. }| {
            !name.is_empty() && name.len() < size_max && taken.insert(name.to_lowercase())
        });
        fields
    }
}

/// The state of adding a line to a tree.
struct Walk<'a, 't> {
    scanner: Scanner<'a>,
    /// The number of open objects and lists.
    depth: usize,
    /// The scalars of this document are looked at.
    is_sampled: bool,
    path_count: &'t mut usize,
    has_repeated_keys: &'t mut bool,
}

impl Walk<'_, '_> {
    /// Reads a key, unescaped, and its colon.
    fn key(&mut self) -> Result<String> {
        let key = self.scanner.key()?;
        let mut plain = Vec::new();
        let text = &self.scanner.bytes[key.start..key.end];
        match push_text(text, key.is_escaped, &mut plain).ok().map(|()| String::from_utf8(plain)) {
            Some(Ok(name)) => Ok(name),
            _ => self.scanner.fault("name that is not UTF-8"),
        }
    }

    /// Skips a value that is not recorded.
    fn skip(&mut self) -> Result {
        self.scanner.value(self.depth as u32)
    }
}

impl Members {
    fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.all.iter().map(|member| (&*member.name, &member.node))
    }

    fn fields(&self) -> Vec<Field> {
        self.iter().map(|(name, node)| Field::new(name, node.to_type())).collect()
    }

    fn get(&self, name: &str) -> Option<&Node> {
        self.by_name.get(name).map(|place| &self.all[*place].node)
    }

    /// The position of a name; `None` for a new one if there is no room.
    fn place(&mut self, name: &str, path_count: &mut usize, is_top: bool) -> Option<usize> {
        if let Some(place) = self.by_name.get(name) {
            return Some(*place);
        }
        if !is_top {
            if self.all.len() >= MEMBERS_MAX || *path_count >= PATHS_MAX {
                return None;
            }
            *path_count += 1;
        }
        let place = self.all.len();
        let (pattern, node) = (Pattern::of_name(name), Node::default());
        self.all.push(Member { name: name.into(), pattern, last_object: 0, node });
        self.by_name.insert(name.into(), place);
        Some(place)
    }

    /// Adds an object, whose brace was read; `false` if there was no room for a member.
    #[inline]
    fn observe(&mut self, walk: &mut Walk<'_, '_>, is_top: bool) -> Result<bool> {
        let (mut guess, mut has_room, mut is_first) = (0, true, true);
        self.object_count += 1;
        let number = self.object_count;
        while walk.scanner.next_member(is_first)? {
            is_first = false;
            let expected = self.all.get(guess);
            let place = match expected.is_some_and(|member| walk.scanner.take(&member.pattern)) {
                true => Some(guess),
                false => self.place(&walk.key()?, walk.path_count, is_top),
            };
            match place {
                Some(place) => {
                    let member = &mut self.all[place];
                    if member.last_object == number {
                        *walk.has_repeated_keys = true;
                    }
                    member.last_object = number;
                    member.node.observe(walk)?;
                    guess = place + 1;
                }
                None => {
                    has_room = false;
                    walk.skip()?;
                }
            }
        }
        Ok(has_room)
    }

    /// `false` if there was no room for a member.
    fn merge(&mut self, later: &Self, path_count: &mut usize, is_top: bool) -> bool {
        let mut has_room = true;
        for (name, node) in later.iter() {
            match self.place(name, path_count, is_top) {
                Some(place) => self.all[place].node.merge(node, path_count),
                None => has_room = false,
            }
        }
        has_room
    }
}

impl Node {
    /// The number of values of each kind.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The members of the objects, in the order of first appearance. Empty if the objects count as
    /// JSON text.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.members.iter()
    }

    /// What was seen of the elements of lists.
    #[must_use]
    pub fn element(&self) -> Option<&Self> {
        self.element.as_deref()
    }

    /// Whether there was an integer that is not exact as a double.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        self.is_wide
    }

    /// Whether everything below counts as JSON text.
    #[must_use]
    pub fn is_collapsed(&self) -> bool {
        self.is_collapsed
    }

    /// Adds the next value.
    #[inline]
    fn observe(&mut self, walk: &mut Walk<'_, '_>) -> Result {
        let (counts, scanner) = (&mut self.counts, &mut walk.scanner);
        scanner.whitespace();
        match scanner.peek() {
            Some(b'"') => {
                counts.string += 1;
                scanner.at += 1;
                let start = scanner.at;
                let has_escapes = scanner.string()?;
                let text = &scanner.bytes[start..scanner.at - 1];
                if walk.is_sampled {
                    self.summary().add_text(text, has_escapes);
                }
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => {
                let start = scanner.at;
                scanner.number()?;
                let digits = &scanner.bytes[start..scanner.at];
                self.count_number(Number::of(digits));
                if walk.is_sampled {
                    self.summarize_number(digits);
                }
                Ok(())
            }
            Some(b'[') => {
                counts.list += 1;
                self.observe_list(walk)
            }
            Some(b'{') => {
                counts.object += 1;
                self.observe_object(walk)
            }
            Some(b't') => {
                counts.boolean += 1;
                if walk.is_sampled {
                    self.summary().add_boolean(true);
                }
                walk.scanner.literal(b"true")
            }
            Some(b'f') => {
                counts.boolean += 1;
                if walk.is_sampled {
                    self.summary().add_boolean(false);
                }
                walk.scanner.literal(b"false")
            }
            Some(b'n') => {
                counts.null += 1;
                scanner.literal(b"null")
            }
            _ => scanner.fault("value expected"),
        }
    }

    #[inline]
    fn summary(&mut self) -> &mut Summary {
        self.summary.get_or_insert_default()
    }

    fn summarize_number(&mut self, digits: &[u8]) {
        match integer(digits) {
            Some(value) => self.summary().add_integer(value),
            None => self.summary().add_number(double(digits), digits),
        }
    }

    #[inline]
    fn count_number(&mut self, number: Number) {
        match number {
            Number::Integer { is_exact } => {
                self.counts.integer += 1;
                self.is_wide |= !is_exact;
            }
            Number::Fraction => self.counts.number += 1,
            Number::Beyond => {
                self.counts.number += 1;
                self.is_beyond = true;
            }
        }
    }

    fn observe_list(&mut self, walk: &mut Walk<'_, '_>) -> Result {
        if !self.may_open(walk.depth) {
            return walk.skip();
        }
        let element = self.element.get_or_insert_default();
        walk.depth += 1;
        walk.scanner.at += 1;
        let mut is_first = true;
        while walk.scanner.next_element(is_first)? {
            is_first = false;
            element.observe(walk)?;
        }
        walk.depth -= 1;
        Ok(())
    }

    fn observe_object(&mut self, walk: &mut Walk<'_, '_>) -> Result {
        if !self.may_open(walk.depth) {
            return walk.skip();
        }
        walk.depth += 1;
        walk.scanner.at += 1;
        let has_room = self.members.observe(walk, false)?;
        walk.depth -= 1;
        if !has_room {
            self.collapse();
        }
        Ok(())
    }

    /// Whether one more level may be recorded below `depth` others.
    fn may_open(&mut self, depth: usize) -> bool {
        if depth >= DEPTH_MAX {
            self.collapse();
        }
        !self.is_collapsed
    }

    /// Makes everything below count as text.
    fn collapse(&mut self) {
        self.is_collapsed = true;
        self.members = Members::default();
        self.element = None;
    }

    /// Adds what was seen later.
    fn merge(&mut self, later: &Self, path_count: &mut usize) {
        self.counts.add(&later.counts);
        self.is_wide |= later.is_wide;
        self.is_beyond |= later.is_beyond;
        if let Some(summary) = &later.summary {
            self.summary().merge(summary);
        }
        if self.is_collapsed || later.is_collapsed {
            return self.collapse();
        }
        if let Some(element) = &later.element {
            self.element.get_or_insert_default().merge(element, path_count);
        }
        if !self.members.merge(&later.members, path_count, false) {
            self.collapse();
        }
    }

    /// The type that can hold all values seen.
    #[must_use]
    pub fn to_type(&self) -> Type {
        let Counts { boolean, integer, number, string, list, object, .. } = self.counts;
        let numbers = integer + number;
        let kinds = [boolean, numbers, string, list, object];
        match kinds.iter().filter(|count| **count > 0).count() {
            0 => return Type::Null,
            1 if !self.is_collapsed => {}
            _ => return Type::Json,
        }
        match () {
            () if boolean > 0 => Type::Boolean,
            () if string > 0 => Type::Text,
            () if list > 0 => {
                let item = self.element().map_or(Type::Null, Self::to_type);
                Type::List(Box::new(item))
            }
            () if object > 0 && self.members.all.is_empty() => Type::Empty,
            () if object > 0 => Type::Struct(self.members.fields()),
            () if self.is_beyond || (number > 0 && self.is_wide) => Type::Json,
            () if number > 0 => Type::Float64,
            () => Type::Int64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(lines: &[&str]) -> Tree {
        let mut tree = Tree::default();
        lines.iter().for_each(|line| tree.observe(line.as_bytes()).expect(line));
        tree
    }

    fn types(tree: &Tree) -> String {
        let fields = tree.fields();
        let written = fields.iter().map(|field| format!("{} {}", field.name, field.field_type));
        written.collect::<Vec<_>>().join(", ")
    }

    /// Each line has one value, under `v`.
    #[test]
    fn types_hold_all_values() {
        for (values, expected) in [
            (&["1", "-2"][..], "bigint"),
            (&["1", "2.5"], "double precision"),
            (&["9007199254740993"], "bigint"),
            (&["9007199254740993", "2.5"], "json"),
            (&["2.5", "9007199254740993"], "json"),
            (&["9223372036854775808"], "json"),
            (&["1e400"], "json"),
            (&["1", "\"x\""], "json"),
            (&["true", "null"], "boolean"),
            (&["null"], "null"),
            (&["[]", "null"], "null[]"),
            (&["[1, null]", "[2.5]"], "double precision[]"),
            (&["[1, \"x\"]"], "json[]"),
            (&["{}"], "json"),
            (&["{}", "{\"a\":{\"b\":[{\"c\":1}]}}"], "struct(a struct(b struct(c bigint)[]))"),
            (&["{\"a\":1}", "[]"], "json"),
            (&["\"x\"", "\"\\u00e9\""], "text"),
        ] {
            let lines: Vec<_> = values.iter().map(|value| format!("{{\"v\": {value}}}")).collect();
            let lines: Vec<_> = lines.iter().map(String::as_str).collect();
            assert_eq!(types(&tree(&lines)), format!("v {expected}"), "{values:?}");
            let (first, rest) = lines.split_at(1);
            let mut merged = tree(first);
            merged.merge(&tree(rest));
            assert_eq!(types(&merged), format!("v {expected}"), "{values:?}, merged");
        }
    }

    #[test]
    fn names_stand_in_the_order_of_first_appearance() {
        let mut first = tree(&[r#"{"b":1,"a":{"y":1}}"#, r#"{ "c" : 1, "\u0061":{"x":2} }"#]);
        first.merge(&tree(&[r#"{"d":1,"b":null}"#]));
        let expected = "b bigint, a struct(y bigint, x bigint), c bigint, d bigint";
        assert_eq!(types(&first), expected);
        let (_, b) = first.members().next().expect("a member");
        assert_eq!((b.counts().integer, b.counts().null, b.counts().total()), (1, 1, 2));
        assert_eq!(first.document_count(), 3);
    }

    #[test]
    fn repeated_keys_are_noticed() {
        for (lines, expected) in [
            (&[r#"{"a":1,"b":1}"#, r#"{"b":1,"a":1}"#, "{}"][..], true),
            (&[r#"{"a":[{"a":{"a":1}},{"a":null}],"b":{"a":1}}"#], true),
            (&[r#"{"a":1,"a":1}"#], false),
            (&[r#"{"b":1,"a":1}"#, r#"{"a":1,"b":1,"\u0061":1}"#], false),
            (&[r#"{"a":[{"b":1},{"b":1,"c":{"d":1,"e":1,"d":1}}]}"#], false),
        ] {
            assert_eq!(tree(lines).keys_are_distinct(), expected, "{lines:?}");
            let mut merged = tree(&[r#"{"a":1}"#]);
            merged.merge(&tree(lines));
            assert_eq!(merged.keys_are_distinct(), expected, "{lines:?}, merged");
            merged.observe(br#"{"a":1,"b":2}"#).expect("a document");
            assert_eq!(merged.keys_are_distinct(), expected, "{lines:?}, merged");
        }
    }

    #[test]
    fn names_of_one_spelling_are_one_column() {
        let tree = tree(&[r#"{"a":1,"A":"x","":1,"É":1,"é":2,"b":1}"#]);
        let names: Vec<_> = tree.distinct_fields(256).into_iter().map(|field| field.name).collect();
        assert_eq!(names, ["a", "É", "b"]);
    }

    #[test]
    fn a_tree_is_bounded() {
        let keys: Vec<_> = (0..2_000).map(|key| format!("\"k{key}\":1")).collect();
        let wide = format!("{{\"v\":{{{}}}}}", keys.join(","));
        assert_eq!(types(&tree(&[&wide])), "v json");
        let halves = [&keys[..700], &keys[700..1_400]]
            .map(|keys| tree(&[&format!("{{\"v\":{{{}}}}}", keys.join(","))]));
        let mut merged = halves[0].clone();
        merged.merge(&halves[1]);
        assert_eq!(types(&merged), "v json");
        let deep = |depth| format!("{{\"v\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(types(&tree(&[&deep(126)])).starts_with("v json[]"));
        assert!(Tree::default().observe(deep(127).as_bytes()).is_err());
        assert!(Tree::default().observe(deep(100_000).as_bytes()).is_err());
        let many: Vec<_> = (0..30)
            .map(|group| {
                let keys: Vec<_> = (0..900).map(|key| format!("\"k{key}\":1")).collect();
                format!("{{\"g{group}\":{{{}}}}}", keys.join(","))
            })
            .collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let tree = tree(&many);
        assert!(tree.path_count <= PATHS_MAX);
        assert!(types(&tree).ends_with("g29 json"));
    }

    #[test]
    fn other_text_is_an_error() {
        for line in [
            "",
            "[]",
            "1",
            "{",
            "{}x",
            "\u{0}{",
            "{a:1}",
            r#"{"a""#,
            r#"{"a":}"#,
            r#"{"a":1"#,
            r#"{"a":1,}"#,
            r#"{"a":"\"#,
            r#"{"a":01}"#,
            r#"{"a":tru}"#,
            r#"{"a":[}"#,
            "{\"a\":\"\u{1}\"}",
        ] {
            assert!(Tree::default().observe(line.as_bytes()).is_err(), "{line}");
        }
    }
}
