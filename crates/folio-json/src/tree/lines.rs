//! The tree as JSON Lines that people can read, and back.
//!
//! ```text
//! {"types":2,"documents":3,"repeated_keys":false}   format version, documents added, and whether
//!                                                   an object had a key twice
//! {"path":["commit"],"object":3}                    how often each kind was seen at this path
//! {"path":["commit","seq"],"integer":2,"wide":true}
//! {"path":["commit","tags"],"null":1,"list":2}
//! {"path":["commit","tags",[]],"string":5}          [] stands for the elements of a list
//! {"path":["commit","votes",{}],"integer":9}        {} stands for the values of a map
//! ```
//!
//! A path comes after its parent, members in the order of first appearance. Objects are maps if
//! there is a line for their values. Kinds that were not seen are left out, and so are flags that
//! are false:
//!
//! | flag | an occurrence of |
//! |---|---|
//! | `wide` | an integer that is not exact as a double |
//! | `beyond` | a number that neither number type holds |
//! | `collapsed` | values below that are not recorded: the path is of type JSON |
//!
//! What is known of the scalars follows: how many of them were looked at (`seen`), the smallest and
//! the largest of `integers`, `doubles` and `texts` (`cut` says which of the texts are beginnings of
//! longer ones), and `examples`. `values` are the hashes of all distinct values; if they are many, `sketch` has the
//! registers of a sketch instead, one digit to the base 62 each.
//!
//! What is read is not trusted: the limits of a tree hold, and a line that could not have been
//! written here is an error, which says where it is.

use std::fmt;

use serde_json::Value;

use super::summary::{Bound, Distinct, EXAMPLES_MAX, FEW_MAX, REGISTER_COUNT, TEXT_SIZE_MAX};
use super::{Counts, DEPTH_MAX, Members, Node, Summary, Tree};
use crate::path::{Step, at_path, elements};
use crate::string::push_json_string;
use crate::token::Kind;

/// The format version that is written.
const VERSION: u64 = 2;

/// Larger counts were not counted. Sums of two of them do not overflow.
const COUNT_MAX: u64 = 1 << 53;

/// A longer example was not written here.
const EXAMPLE_SIZE_MAX: usize = 256;

/// The digits of registers.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The largest value of a register.
const RANK_MAX: u8 = 57;

/// Why lines are not a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinesError {
    /// They are of a format version that this release does not know.
    Version(u64),
    /// This line, counted from 1, is not one of a tree.
    Line(usize),
    /// This line, counted from 1, exceeds the limits of a tree.
    Limit(usize),
}

impl fmt::Display for LinesError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(found) => {
                write!(out, "types of format version {found}; this release reads {VERSION}")
            }
            Self::Line(number) => write!(out, "line {number} is not a line of types"),
            Self::Limit(number) => write!(out, "line {number} exceeds the limits of types"),
        }
    }
}

impl std::error::Error for LinesError {}

/// What is wrong with one line.
enum Fault {
    Malformed,
    Limit,
}

type Result<T = (), E = Fault> = std::result::Result<T, E>;

impl Tree {
    /// The tree as lines; `None` if they would have more than about `size_max` bytes, because of
    /// very long names.
    #[must_use]
    pub fn to_lines(&self, size_max: usize) -> Option<Vec<u8>> {
        let Self { document_count, has_repeated_keys, .. } = self;
        let head = format!(
            "{{\"types\":{VERSION},\"documents\":{document_count},\
             \"repeated_keys\":{has_repeated_keys}}}\n"
        );
        let mut writer = Writer { out: head.into_bytes(), path: Vec::new(), size_max };
        writer.members(&self.members).then_some(writer.out)
    }

    /// Reads what [`Tree::to_lines`] has written.
    ///
    /// # Errors
    /// The first line that is not as it would have been written.
    pub fn from_lines(text: &[u8]) -> Result<Self, LinesError> {
        let mut lines = text.split_inclusive(|byte| *byte == b'\n');
        let mut tree = Self::default();
        let header = lines.next().and_then(|line| serde_json::from_slice::<Value>(line).ok());
        let number = |name| header.as_ref()?.get(name)?.as_u64();
        match number("types") {
            Some(VERSION) => {}
            Some(found) => return Err(LinesError::Version(found)),
            None => return Err(LinesError::Line(1)),
        }
        let document_count = number("documents").filter(|count| *count <= COUNT_MAX);
        tree.document_count = document_count.ok_or(LinesError::Line(1))?;
        let repeated_keys = header.as_ref().and_then(|header| header.get("repeated_keys"));
        tree.has_repeated_keys =
            repeated_keys.and_then(Value::as_bool).ok_or(LinesError::Line(1))?;
        for (index, line) in lines.enumerate() {
            tree.add_line(line).map_err(|fault| match fault {
                Fault::Malformed => LinesError::Line(index + 2),
                Fault::Limit => LinesError::Limit(index + 2),
            })?;
        }
        Ok(tree)
    }

    fn add_line(&mut self, line: &[u8]) -> Result {
        let Some(text) = line.strip_suffix(b"\n") else { return Err(Fault::Malformed) };
        let Ok(Value::Object(mut line)) = serde_json::from_slice(text) else {
            return Err(Fault::Malformed);
        };
        let Some(Value::Array(path)) = line.remove("path") else { return Err(Fault::Malformed) };
        let (cut, has_examples) = (line.remove("cut"), line.remove("examples").is_some());
        let node = self.new_node(&path)?;
        for (key, value) in line {
            node.set(&key, &value).ok_or(Fault::Malformed)?;
        }
        if has_examples {
            node.summary().examples = examples(text).ok_or(Fault::Malformed)?;
        }
        // It says more about the texts, which are set by now.
        if let Some(cut) = cut {
            node.set("cut", &cut).ok_or(Fault::Malformed)?;
        }
        Ok(())
    }

    /// Adds the node of a path, whose parent exists.
    fn new_node(&mut self, path: &[Value]) -> Result<&mut Node> {
        if path.len() > DEPTH_MAX {
            return Err(Fault::Limit);
        }
        let Some((last, parents)) = path.split_last() else { return Err(Fault::Malformed) };
        let Some((first, between)) = parents.split_first() else {
            return self.members.add(last, &mut self.path_count, true);
        };
        let mut parent = self.members.known(first).ok_or(Fault::Malformed)?;
        for step in between {
            parent = parent.child(step).ok_or(Fault::Malformed)?;
        }
        let is_element = is_element(last);
        let may_have_it = if is_element { parent.counts.list } else { parent.counts.object } > 0;
        if !may_have_it || parent.is_collapsed {
            return Err(Fault::Malformed);
        }
        let place = match is_element {
            true => &mut parent.element,
            false if parent.values.is_some() => return Err(Fault::Malformed),
            false if is_value(last) && parent.members.all.is_empty() => &mut parent.values,
            false => return parent.members.add(last, &mut self.path_count, false),
        };
        match place {
            Some(_) => Err(Fault::Malformed),
            None => Ok(place.get_or_insert_default()),
        }
    }
}

/// Whether a step stands for the elements of a list.
fn is_element(step: &Value) -> bool {
    step.as_array().is_some_and(Vec::is_empty)
}

/// Whether a step stands for the values of a map.
fn is_value(step: &Value) -> bool {
    step.as_object().is_some_and(serde_json::Map::is_empty)
}

impl Members {
    /// The member that a step names.
    fn known(&mut self, step: &Value) -> Option<&mut Node> {
        let place = *self.by_name.get(step.as_str()?)?;
        Some(&mut self.all[place].node)
    }

    /// Adds the member that a step names.
    fn add(&mut self, step: &Value, path_count: &mut usize, is_top: bool) -> Result<&mut Node> {
        let name = step.as_str().ok_or(Fault::Malformed)?;
        if self.by_name.contains_key(name) {
            return Err(Fault::Malformed);
        }
        let place = self.place(name, path_count, is_top).map_err(|_| Fault::Limit)?;
        Ok(&mut self.all[place].node)
    }
}

impl Node {
    fn child(&mut self, step: &Value) -> Option<&mut Self> {
        match () {
            () if is_element(step) => self.element.as_deref_mut(),
            () if is_value(step) => self.values.as_deref_mut(),
            () => self.members.known(step),
        }
    }

    /// Sets what a member of a line says; `None` if there is no such member, or not with this
    /// value.
    fn set(&mut self, key: &str, value: &Value) -> Option<()> {
        let flag = match key {
            "wide" => &mut self.is_wide,
            "beyond" => &mut self.is_beyond,
            "collapsed" => &mut self.is_collapsed,
            _ => {
                let kinds = self.counts.by_kind_mut();
                let Some((_, count)) = kinds.into_iter().find(|(kind, _)| *kind == key) else {
                    return self.summary().set(key, value);
                };
                *count = value.as_u64().filter(|count| *count <= COUNT_MAX)?;
                return Some(());
            }
        };
        *flag = value.as_bool()?;
        Some(())
    }
}

impl Summary {
    fn set(&mut self, key: &str, value: &Value) -> Option<()> {
        let list = || value.as_array();
        match key {
            "seen" => self.seen_count = value.as_u64().filter(|count| *count <= COUNT_MAX)?,
            "integers" => self.integers = Some(pair(value, Value::as_i64)?),
            "doubles" => {
                let finite = |value: &Value| value.as_f64().filter(|value| value.is_finite());
                self.doubles = Some(pair(value, finite)?);
            }
            "texts" => {
                let bound = |value: &Value| {
                    let text = value.as_str().filter(|text| text.len() <= TEXT_SIZE_MAX)?;
                    Some(Bound::new(text, false))
                };
                self.texts = Some(pair(value, bound)?);
            }
            "cut" => {
                let (first, last) = self.texts.as_mut()?;
                (first.is_cut, last.is_cut) = pair(value, Value::as_bool)?;
            }
            "values" => {
                let hashes =
                    list()?.iter().map(|hash| u64::from_str_radix(hash.as_str()?, 16).ok());
                let hashes: Vec<u64> = hashes.collect::<Option<_>>()?;
                self.distinct = Distinct::Few(hashes);
                return (list()?.len() <= FEW_MAX).then_some(());
            }
            "sketch" => {
                let digits = value.as_str()?.bytes();
                let rank = |digit| DIGITS.iter().position(|own| *own == digit);
                let ranks: Vec<u8> = digits
                    .map(|digit| rank(digit).map(|rank| rank as u8))
                    .collect::<Option<_>>()?;
                let is_valid = ranks.iter().all(|rank| *rank <= RANK_MAX);
                let registers: [u8; REGISTER_COUNT] = ranks.try_into().ok()?;
                self.distinct = Distinct::Many(Box::new(registers));
                return is_valid.then_some(());
            }
            _ => return None,
        }
        Some(())
    }

    /// Appends what [`Summary::set`] reads.
    fn push(&self, out: &mut Vec<u8>) {
        let mut push = |text: String| out.extend_from_slice(text.as_bytes());
        push(format!(",\"seen\":{}", self.seen_count));
        if let Some((first, last)) = self.integers {
            push(format!(",\"integers\":[{first},{last}]"));
        }
        if let Some((first, last)) = self.doubles {
            push(format!(",\"doubles\":[{first:?},{last:?}]"));
        }
        if let Some((first, last)) = &self.texts {
            let [mut low, mut high] = [Vec::new(), Vec::new()];
            push_json_string(&first.text, &mut low);
            push_json_string(&last.text, &mut high);
            let [low, high] = [low, high].map(|text| String::from_utf8_lossy(&text).into_owned());
            push(format!(",\"texts\":[{low},{high}]"));
            if first.is_cut || last.is_cut {
                push(format!(",\"cut\":[{},{}]", first.is_cut, last.is_cut));
            }
        }
        if !self.examples.is_empty() {
            push(format!(",\"examples\":[{}]", self.examples.join(",")));
        }
        match &self.distinct {
            Distinct::Few(hashes) => {
                let hashes: Vec<_> = hashes.iter().map(|hash| format!("\"{hash:016x}\"")).collect();
                push(format!(",\"values\":[{}]", hashes.join(",")));
            }
            Distinct::Many(registers) => {
                let digits = registers.iter().map(|rank| char::from(DIGITS[usize::from(*rank)]));
                push(format!(",\"sketch\":\"{}\"", digits.collect::<String>()));
            }
        }
    }
}

/// The examples of a line as they are written, so that numbers keep their digits.
fn examples(line: &[u8]) -> Option<Vec<Box<str>>> {
    let path = [Step::Member("examples".to_owned())];
    let texts = elements(at_path(std::str::from_utf8(line).ok()?, &path)?)?;
    let is_example = |text: &&str| {
        let kind = Kind::of(text);
        let is_scalar = matches!(kind, Some(Kind::Bool(_) | Kind::Number | Kind::Text));
        is_scalar && text.len() <= EXAMPLE_SIZE_MAX
    };
    let are_valid = texts.iter().all(is_example) && texts.len() <= EXAMPLES_MAX;
    are_valid.then(|| texts.into_iter().map(Into::into).collect())
}

/// The two items of a list.
fn pair<T>(list: &Value, item: impl Fn(&Value) -> Option<T>) -> Option<(T, T)> {
    match list.as_array()?.as_slice() {
        [first, last] => Some((item(first)?, item(last)?)),
        _ => None,
    }
}

impl Counts {
    /// The names of the kinds, with their counts.
    pub(super) fn by_kind(mut self) -> [(&'static str, u64); 7] {
        self.by_kind_mut().map(|(kind, count)| (kind, *count))
    }

    fn by_kind_mut(&mut self) -> [(&'static str, &mut u64); 7] {
        let Self { null, boolean, integer, number, string, list, object } = self;
        [
            ("null", null),
            ("boolean", boolean),
            ("integer", integer),
            ("number", number),
            ("string", string),
            ("list", list),
            ("object", object),
        ]
    }
}

struct Writer {
    out: Vec<u8>,
    /// The steps that lead to the current node, with a comma after each.
    path: Vec<u8>,
    size_max: usize,
}

impl Writer {
    /// `false` if the lines are too long.
    fn members(&mut self, members: &Members) -> bool {
        let start = self.path.len();
        members.iter().all(|(name, node)| {
            push_json_string(name, &mut self.path);
            let has_room = self.node(node);
            self.path.truncate(start);
            has_room
        })
    }

    /// Writes the node of the path and those below.
    fn node(&mut self, node: &Node) -> bool {
        self.out.extend_from_slice(b"{\"path\":[");
        self.out.extend_from_slice(&self.path);
        self.out.push(b']');
        for (kind, count) in node.counts.by_kind() {
            if count > 0 {
                self.out.extend_from_slice(format!(",\"{kind}\":{count}").as_bytes());
            }
        }
        let flags =
            [("wide", node.is_wide), ("beyond", node.is_beyond), ("collapsed", node.is_collapsed)];
        for (flag, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
            self.out.extend_from_slice(format!(",\"{flag}\":true").as_bytes());
        }
        if let Some(summary) = &node.summary {
            summary.push(&mut self.out);
        }
        self.out.extend_from_slice(b"}\n");
        if self.out.len() > self.size_max {
            return false;
        }
        let start = self.path.len();
        self.path.push(b',');
        let mut has_room = self.members(&node.members);
        let steps = [(&b"[]"[..], node.element()), (b"{}", node.values())];
        for (step, below) in steps {
            let length = self.path.len();
            self.path.extend_from_slice(step);
            has_room = has_room && below.is_none_or(|below| self.node(below));
            self.path.truncate(length);
        }
        self.path.truncate(start);
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MEMBERS_MAX, PATHS_MAX};
    use super::*;

    const SIZE_MAX: usize = 1 << 20;

    fn tree(lines: &[&str]) -> Tree {
        let mut tree = Tree::default();
        lines.iter().for_each(|line| tree.observe(line.as_bytes()).expect(line));
        tree
    }

    fn text(tree: &Tree) -> String {
        String::from_utf8(tree.to_lines(SIZE_MAX).expect("short")).expect("UTF-8")
    }

    fn sample() -> Tree {
        tree(&[
            r#"{"_id":"a","n":9007199254740993,"o":{"t":[["x"],null,{"y":1.5}],"":{}}}"#,
            r#"{"_id":"b","n":1e400,"o":null,"\u0001\"[]":[true]}"#,
        ])
    }

    #[test]
    fn people_can_read_it() {
        let expected = r#"{"types":2,"documents":2,"repeated_keys":false}
{"path":["_id"],"string":2,"seen":2,"texts":["a","b"],"examples":["a","b"],"values":["e6c632b61e964e1f","575a0b1c44d8843f"]}
{"path":["n"],"integer":1,"number":1,"wide":true,"beyond":true,"seen":2,"integers":[9007199254740993,9007199254740993],"examples":[9007199254740993,1e400],"values":["055ce0bfd3337037","1a1a299335056eae"]}
{"path":["o"],"null":1,"object":1}
{"path":["o","t"],"list":1}
{"path":["o","t",[]],"null":1,"list":1,"object":1}
{"path":["o","t",[],"y"],"number":1,"seen":1,"doubles":[1.5,1.5],"examples":[1.5],"values":["a1cb5196f3b17195"]}
{"path":["o","t",[],[]],"string":1,"seen":1,"texts":["x","x"],"examples":["x"],"values":["eaf06c6480b2cd11"]}
{"path":["o",""],"object":1}
{"path":["\u0001\"[]"],"list":1}
{"path":["\u0001\"[]",[]],"boolean":1,"seen":1,"examples":[true],"values":["e19c443645cffcf7"]}
"#;
        assert_eq!(text(&sample()), expected);
    }

    #[test]
    fn what_was_written_is_read() {
        let keys: Vec<_> = (0..2_000).map(|key| format!("\"k{key}\":1")).collect();
        let wide = format!("{{\"v\":{{{}}},\"w\":{{\"x\":1}}}}", keys.join(","));
        let deep = format!("{{\"v\":{}{}}}", "[".repeat(100), "]".repeat(100));
        let deeper = format!("{{\"v\":{}1{}}}", "{\"o\":".repeat(100), "}".repeat(100));
        let twice = r#"{"a":{"b":1,"b":2}}"#;
        let texts = [&wide, &deep, &deeper, twice];
        let trees: Vec<_> = texts.iter().map(|text| tree(&[text])).collect();
        // Many values, some cut: a sketch, and bounds that are beginnings.
        let many: Vec<_> =
            (0..100).map(|n| format!("{{\"t\":\"{}{n}\"}}", "é".repeat(n))).collect();
        let many = tree(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let trees = [vec![Tree::default(), sample(), many], trees].concat();
        for tree in &trees {
            let written = text(tree);
            let read = Tree::from_lines(written.as_bytes()).expect(&written);
            assert_eq!(text(&read), text(tree));
            assert_eq!(read.fields(), tree.fields());
            assert_eq!(read.document_count(), tree.document_count());
            assert_eq!(read.keys_are_distinct(), tree.keys_are_distinct());
            assert!(read.path_count <= tree.path_count, "what was dropped does not count");
            // Both grow alike.
            let [mut grown, mut expected] = [read, tree.clone()];
            grown.merge(&sample());
            expected.merge(&sample());
            assert_eq!(text(&grown), text(&expected));
        }
    }

    /// No byte of the text, changed or missing, makes reading panic, or gives a tree that is not
    /// written as it was read.
    #[test]
    fn damage_is_an_error_or_another_tree() {
        let whole = text(&sample()).into_bytes();
        for at in 0..whole.len() {
            if let Ok(read) = Tree::from_lines(&whole[..at]) {
                assert!(whole.starts_with(text(&read).as_bytes()), "cut at {at}");
            }
            for mask in [1, 2, 16, 128] {
                let mut damaged = whole.clone();
                damaged[at] ^= mask;
                if let Ok(read) = Tree::from_lines(&damaged) {
                    let again = Tree::from_lines(text(&read).as_bytes()).expect("just written");
                    assert_eq!(text(&again), text(&read));
                }
            }
        }
    }

    #[test]
    fn lines_that_are_never_written_are_refused() {
        let head = "{\"types\":2,\"documents\":1,\"repeated_keys\":true}\n";
        let object = "{\"path\":[\"o\"],\"object\":1}\n";
        let steps = "\"o\",".repeat(DEPTH_MAX);
        for (line, expected) in [
            ("{\"path\":[]}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[1]}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"a\"],\"string\":-1}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"a\"],\"string\":9007199254740993}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"a\"],\"other\":1}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"a\"],\"wide\":1}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"a\"],\"integers\":[1]}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"a\"],\"cut\":[true,true]}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"a\"],\"sketch\":\"0\"}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"a\"],\"values\":[\"g\"]}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"a\"],\"examples\":[[1]]}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"a\"],\"examples\":[1,2,3,4]}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"a\"],\"string\":1}".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"x\",\"a\"],\"string\":1}\n".to_owned(), LinesError::Line(3)),
            ("{\"path\":[\"o\",[]],\"string\":1}\n".to_owned(), LinesError::Line(3)),
            (object.to_owned(), LinesError::Line(3)),
            ("\n".to_owned(), LinesError::Line(3)),
            (format!("{{\"path\":[{steps}\"a\"],\"string\":1}}\n"), LinesError::Limit(3)),
        ] {
            let found = Tree::from_lines(format!("{head}{object}{line}").as_bytes());
            assert_eq!(found.map(|_| ()), Err(expected), "{line}");
        }
        let many = |count: usize| {
            let line = |key| format!("{{\"path\":[\"o\",\"k{key}\"],\"integer\":1}}\n");
            let lines: String = (0..count).map(line).collect();
            Tree::from_lines(format!("{head}{object}{lines}").as_bytes()).map(|_| ())
        };
        assert_eq!(many(MEMBERS_MAX), Ok(()));
        assert_eq!(many(MEMBERS_MAX + 1), Err(LinesError::Limit(MEMBERS_MAX + 3)));
        let lines: String = (0..PATHS_MAX / 500 + 1)
            .map(|group| {
                let line = |key| format!("{{\"path\":[\"g{group}\",\"k{key}\"],\"integer\":1}}\n");
                let members: String = (0..500).map(line).collect();
                format!("{{\"path\":[\"g{group}\"],\"object\":1}}\n{members}")
            })
            .collect();
        let found = Tree::from_lines(format!("{head}{lines}").as_bytes()).map(|_| ());
        assert!(matches!(found, Err(LinesError::Limit(_))), "{found:?}");
        let later = "{\"types\":3,\"documents\":\"in another way\"}\n";
        assert_eq!(Tree::from_lines(later.as_bytes()).map(|_| ()), Err(LinesError::Version(3)));
        let heads = ["", "{}\n", "[]\n", "{\"types\":2}\n", "{\"types\":2,\"documents\":1}\n"];
        for head in heads {
            let found = Tree::from_lines(head.as_bytes()).map(|_| ());
            assert_eq!(found, Err(LinesError::Line(1)), "{head}");
        }
    }

    #[test]
    fn names_of_any_length_are_bounded() {
        let name = "k".repeat(1_000);
        let members: Vec<_> = (0..900).map(|key| format!("\"{key}\":1")).collect();
        let tree = tree(&[&format!("{{\"{name}\":{{{}}}}}", members.join(","))]);
        assert!(tree.to_lines(SIZE_MAX).is_some());
        assert_eq!(tree.to_lines(100_000), None);
    }
}
