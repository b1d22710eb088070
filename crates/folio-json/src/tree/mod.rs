//! The tree of types: which kinds of values were seen at each path, and how often.
//!
//! Nodes only widen, so the order of documents affects only the order of names. The trees of two
//! ranges of lines can be merged into the tree of both. The size is limited for any documents:
//! values below [`DEPTH_MAX`] levels and beyond [`PATHS_MAX`] paths count as JSON text.
//!
//! # Maps
//!
//! Where the keys of objects are data, such as ids or days, the objects are maps: one node stands
//! for all their values, and the names are forgotten. That is so if there are more than
//! [`MEMBERS_MAX`] names at a path, or more than [`KEYS_MIN`] with more than [`WEIGHT_MAX`] paths in
//! all (below each name, [`BELOW_MAX`] of them count). Both numbers only grow as documents are
//! added, whichever way these are divided among trees, and what becomes a map has reached what it
//! counts for above. So it depends on the documents alone whether a path is a map, and a map
//! remains one. Documents themselves are never maps.
//!
//! If an object has a key twice, both values count towards the types, although readers return the
//! last one: to know the last one, each object would be read twice. So a type may be wider than
//! what is read.
//!
//! Beside the kinds, a summary of the scalars of each path is recorded (`summary`). `lines` writes a
//! tree as text and reads it back, `paths` lists it for people, in the `notation` of paths.

mod lines;
mod notation;
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
pub use notation::{PathFault, PathPart, is_name_letter, parse_path, take_path};
pub use paths::PathSummary;

use summary::Summary;

/// Objects with more names are maps.
const MEMBERS_MAX: usize = 1_000;

/// Objects with fewer names, or as many, are no maps.
const KEYS_MIN: usize = 100;

/// Objects with more names and paths below them are maps.
const WEIGHT_MAX: usize = 4_000;

/// So many paths below a name count. A map has had more names.
const BELOW_MAX: usize = KEYS_MIN;

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

    fn numbers(&self) -> u64 {
        self.integer + self.number
    }

    fn scalars(&self) -> u64 {
        self.boolean + self.numbers() + self.string
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
    /// Of the objects, which are maps, all values. There are no members then.
    values: Option<Box<Node>>,
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

/// What there is no room for.
enum Full {
    /// Another member.
    Members,
    /// Another path.
    Paths,
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
        let (depth, new_count) = (1, 0);
        let mut walk =
            Walk { scanner, depth, is_sampled, path_count, new_count, has_repeated_keys };
        self.members.observe(&mut walk, true)?;
        walk.scanner.end("text after the end of the document")
    }

    /// Adds what was seen in later documents.
    pub fn merge(&mut self, later: &Self) {
        self.document_count += later.document_count;
        self.has_repeated_keys |= later.has_repeated_keys;
        // Documents may have any number of members.
        let _ = self.members.merge(&later.members, &mut self.path_count, true);
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

    /// What was seen at a path of names, outermost first. For a key of a map it is what was seen of all
    /// its values.
    #[must_use]
    pub fn at(&self, path: &[String]) -> Option<&Node> {
        let (first, below) = path.split_first()?;
        below.iter().try_fold(self.members.get(first)?, |node, name| match node.values() {
            Some(values) => Some(values),
            None => node.members.get(name),
        })
    }

    /// The members of documents with their types, in the order of first appearance.
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        self.members.fields()
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
    /// The number of paths that this document added.
    new_count: usize,
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

    /// Skips a key, and its colon, that is not recorded.
    fn skip_key(&mut self) -> Result {
        let start = self.scanner.at;
        if self.scanner.key()?.is_escaped {
            self.scanner.at = start;
            self.key()?;
        }
        Ok(())
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

    /// The position of a name, which is perhaps new.
    fn place(&mut self, name: &str, path_count: &mut usize, is_top: bool) -> Result<usize, Full> {
        if let Some(place) = self.by_name.get(name) {
            return Ok(*place);
        }
        if !is_top {
            if self.all.len() >= MEMBERS_MAX {
                return Err(Full::Members);
            }
            if *path_count >= PATHS_MAX {
                return Err(Full::Paths);
            }
            *path_count += 1;
        }
        let place = self.all.len();
        let (pattern, node) = (Pattern::of_name(name), Node::default());
        self.all.push(Member { name: name.into(), pattern, last_object: 0, node });
        self.by_name.insert(name.into(), place);
        Ok(place)
    }

    /// Adds an object, whose brace was read. If there is no room for a member, its value comes next.
    #[inline]
    fn observe(&mut self, walk: &mut Walk<'_, '_>, is_top: bool) -> Result<Option<Full>> {
        let (mut guess, mut is_first) = (0, true);
        self.object_count += 1;
        let number = self.object_count;
        while walk.scanner.next_member(is_first)? {
            is_first = false;
            let expected = self.all.get(guess);
            let place = match expected.is_some_and(|member| walk.scanner.take(&member.pattern)) {
                true => guess,
                false => {
                    let known_count = self.all.len();
                    match self.place(&walk.key()?, walk.path_count, is_top) {
                        Ok(place) => {
                            walk.new_count += usize::from(place == known_count);
                            place
                        }
                        Err(full) => return Ok(Some(full)),
                    }
                }
            };
            let member = &mut self.all[place];
            if member.last_object == number {
                *walk.has_repeated_keys = true;
            }
            member.last_object = number;
            member.node.observe(walk)?;
            guess = place + 1;
        }
        Ok(None)
    }

    /// Adds what was seen later. If there is no room, the error says for which of the members, and
    /// those from it on were not added.
    fn merge(
        &mut self,
        later: &Self,
        path_count: &mut usize,
        is_top: bool,
    ) -> Result<(), (usize, Full)> {
        for (index, (name, node)) in later.iter().enumerate() {
            let place = self.place(name, path_count, is_top).map_err(|full| (index, full))?;
            self.all[place].node.merge(node, path_count);
        }
        Ok(())
    }

    /// Whether the names are those of a map.
    fn are_keys(&self) -> bool {
        let weight = || self.all.iter().map(|member| 1 + member.node.paths_below(BELOW_MAX));
        self.all.len() > KEYS_MIN && weight().sum::<usize>() > WEIGHT_MAX
    }
}

impl Node {
    /// The number of values of each kind.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The members of the objects, in the order of first appearance. Empty if the objects are maps or
    /// count as JSON text.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.members.iter()
    }

    /// What was seen of the elements of lists.
    #[must_use]
    pub fn element(&self) -> Option<&Self> {
        self.element.as_deref()
    }

    /// What was seen of the values of maps; `None` if the objects are no maps.
    #[must_use]
    pub fn values(&self) -> Option<&Self> {
        self.values.as_deref()
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
        if self.values.is_some() {
            self.observe_entries(walk, true)?;
        } else {
            let known_count = walk.new_count;
            match self.members.observe(walk, false)? {
                None if walk.new_count > known_count && self.members.are_keys() => {
                    self.make_map(walk.path_count);
                }
                None => {}
                Some(Full::Members) => {
                    self.make_map(walk.path_count).observe(walk)?;
                    self.observe_entries(walk, false)?;
                }
                Some(Full::Paths) => {
                    self.collapse();
                    walk.skip()?;
                    while walk.scanner.next_member(false)? {
                        walk.skip_key()?;
                        walk.skip()?;
                    }
                }
            }
        }
        walk.depth -= 1;
        Ok(())
    }

    /// Adds the members of a map that come next.
    fn observe_entries(&mut self, walk: &mut Walk<'_, '_>, mut is_first: bool) -> Result {
        let values = self.values.get_or_insert_default();
        while walk.scanner.next_member(is_first)? {
            is_first = false;
            walk.skip_key()?;
            values.observe(walk)?;
        }
        Ok(())
    }

    /// Makes maps of the objects, if they are none yet. Returns the node of its values.
    fn make_map(&mut self, path_count: &mut usize) -> &mut Self {
        let members = std::mem::take(&mut self.members);
        let values = self.values.get_or_insert_default();
        for member in &members.all {
            *path_count -= 1 + member.node.paths_below(usize::MAX);
            values.merge(&member.node, path_count);
        }
        values
    }

    /// The number of paths below this one, at most `limit`.
    fn paths_below(&self, limit: usize) -> usize {
        if limit < usize::MAX && (self.is_collapsed || self.values.is_some()) {
            return limit;
        }
        let mut count = 0;
        for below in [&self.element, &self.values].into_iter().flatten() {
            count += below.paths_below(limit);
        }
        for member in &self.members.all {
            if count >= limit {
                return limit;
            }
            count += 1 + member.node.paths_below(limit);
        }
        count.min(limit)
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
        (self.element, self.values) = (None, None);
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
        let added_count = match (&self.values, &later.values) {
            (None, None) => match self.members.merge(&later.members, path_count, false) {
                Ok(()) if self.members.are_keys() => later.members.all.len(),
                Ok(()) => return,
                Err((count, Full::Members)) => count,
                Err((_, Full::Paths)) => return self.collapse(),
            },
            _ => 0,
        };
        let values = self.make_map(path_count);
        let rest = later.members.all.iter().skip(added_count).map(|member| &member.node);
        for node in rest.chain(later.values()) {
            values.merge(node, path_count);
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
            () if let Some(values) = self.values() => Type::Map(Box::new(values.to_type())),
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
    fn a_tree_is_bounded() {
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

    /// The lines of a tree, without the summaries, which depend on what is looked at.
    fn shape(tree: &Tree) -> String {
        fn strip(node: &mut Node) {
            node.summary = None;
            node.members.all.sort_by(|a, b| a.name.cmp(&b.name));
            node.members.all.iter_mut().for_each(|member| strip(&mut member.node));
            for below in [&mut node.element, &mut node.values].into_iter().flatten() {
                strip(below);
            }
        }
        let mut tree = tree.clone();
        let mut top = Node { members: std::mem::take(&mut tree.members), ..Node::default() };
        strip(&mut top);
        tree.members = top.members;
        String::from_utf8(tree.to_lines(1 << 24).expect("short")).expect("UTF-8")
    }

    /// Documents with one object under `v`, with these members each.
    fn objects(members: impl Iterator<Item = String>) -> Vec<String> {
        members.map(|members| format!("{{\"v\":{{{members}}}}}")).collect()
    }

    #[test]
    fn thousands_of_keys_make_a_map() {
        let one = |count: usize, value: &str| {
            let members = (0..count).map(|key| format!("\"k{key}\":{value}"));
            objects(std::iter::once(members.collect::<Vec<_>>().join(",")))
        };
        let each = |count: usize, value: fn(usize) -> String| {
            objects((0..count).map(move |key| format!("\"k{key}\":{}", value(key))))
        };
        let person = |key: usize| format!("{{\"name\":\"n\",\"age\":{key},\"at\":{{\"x\":1.5}}}}");
        let wide = |key: usize| format!("{{\"w{}\":1,\"w{}\":null}}", key % 700, key % 1_100);
        let listed = |key: usize| format!("[{{\"d{key}\":true}}]");
        let mixed = |key: usize| (if key == 7 { "\"x\"" } else { "1" }).to_owned();
        for (lines, expected) in [
            (one(1_001, "1"), "v map(text, bigint)"),
            (one(5_000, "null"), "v map(text, null)"),
            (each(1_001, |key| key.to_string()), "v map(text, bigint)"),
            (each(1_001, |key| format!("{key}.5")), "v map(text, double precision)"),
            (each(1_001, mixed), "v map(text, json)"),
            (each(1_001, |_| "{}".to_owned()), "v map(text, json)"),
            // Five paths for each key.
            (
                each(801, person),
                "v map(text, struct(name text, age bigint, at struct(x double precision)))",
            ),
            (each(1_200, wide), "v map(text, map(text, bigint))"),
            (each(1_200, listed), "v map(text, map(text, boolean)[])"),
        ] {
            let lines: Vec<_> = lines.iter().map(String::as_str).collect();
            assert_eq!(types(&tree(&lines)), expected);
        }
        let fewer = one(1_000, "1");
        assert!(types(&tree(&[&fewer[0]])).starts_with("v struct("));
        assert!(
            types(&tree(&each(800, person).iter().map(|line| &**line).collect::<Vec<_>>()))
                .starts_with("v struct(")
        );
    }

    /// Whichever way documents are divided, and in whichever order the parts are merged, the same
    /// paths are maps, with the same counts.
    #[test]
    fn maps_depend_on_the_documents_alone() {
        let mut seed = 7_u64;
        let mut below = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % limit
        };
        for (keys, members, depth) in [(900, 1, 1), (1_500, 2, 1), (700, 9, 1), (150, 90, 2)] {
            let lines: Vec<String> = (0..6_000)
                .map(|_| {
                    let entry = |below: &mut dyn FnMut(u64) -> u64| {
                        let member = |below: &mut dyn FnMut(u64) -> u64| {
                            format!("\"m{}\":{}", below(members), below(100))
                        };
                        format!("\"k{}\":{{{}}}", below(keys), member(below))
                    };
                    let inner = [entry(&mut below), entry(&mut below)].join(",");
                    match depth {
                        1 => format!("{{\"v\":{{{inner}}},\"n\":1}}"),
                        _ => format!("{{\"v\":{{\"o{}\":[{{{inner}}}]}}}}", below(2)),
                    }
                })
                .collect();
            let lines: Vec<_> = lines.iter().map(String::as_str).collect();
            let whole = tree(&lines);
            let is_map = types(&whole).contains("map(");
            assert_eq!(is_map, keys != 900, "{keys} keys");
            for part_size in [1, 40, 999] {
                let mut parts: Vec<_> = lines.chunks(part_size).map(tree).collect();
                while parts.len() > 1 {
                    let later = parts.swap_remove(below(parts.len() as u64) as usize);
                    let into = below(parts.len() as u64) as usize;
                    parts[into].merge(&later);
                    if below(64) == 0 {
                        let text = parts[into].to_lines(1 << 24).expect("short");
                        parts[into] = Tree::from_lines(&text).expect("just written");
                    }
                }
                // Only whether a document repeats a key is forgotten with the names.
                parts[0].has_repeated_keys = whole.has_repeated_keys;
                assert!(shape(&parts[0]) == shape(&whole), "{keys} keys, {part_size}");
                assert!(parts[0].path_count <= PATHS_MAX);
            }
        }
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
