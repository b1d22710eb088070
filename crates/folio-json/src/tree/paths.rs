//! The tree as rows for people: what is known of each path.

use super::notation::push_name;
use super::summary::{Bound, Summary};
use super::{Counts, Members, Node, Tree};
use crate::string::{push_json_string, write_json_string};
use crate::types::Type;

/// What is known of the values of one path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSummary {
    /// The names of members, with points between them, and `[]` after lists. `.*` are all values of a
    /// map. A name that is no identifier is in double quotes, as in SQL.
    pub path: String,
    /// The type, as SQL writes it; `struct` without its members.
    pub type_name: String,
    /// The number of values of each kind.
    pub counts: Counts,
    /// The share of documents that have a value here which is not null. In a list or a map, it is the
    /// share of its elements or values.
    pub share: f64,
    /// About how many distinct values there are, by a sketch of a sample. `None` without scalars.
    pub distinct_count: Option<u64>,
    /// The smallest value of a sample, as JSON text, if all scalars are numbers, or all are strings.
    /// A long string is cut.
    pub smallest: Option<String>,
    /// The largest value; its beginning if it is a long string.
    pub largest: Option<String>,
    /// Up to three values, as JSON text. Long strings are cut.
    pub examples: Vec<String>,
}

impl PathSummary {
    /// Paths that no document has, where statements may name them: null, of type json.
    #[must_use]
    pub fn of_other_paths() -> Self {
        Self {
            path: "*".to_owned(),
            type_name: "json".to_owned(),
            counts: Counts::default(),
            share: 0.0,
            distinct_count: None,
            smallest: None,
            largest: None,
            examples: Vec::new(),
        }
    }
}

impl Tree {
    /// A row for each path, parents first, members in the order of first appearance.
    #[must_use]
    pub fn paths(&self) -> Vec<PathSummary> {
        let mut rows = Rows { rows: Vec::new(), path: String::new() };
        rows.members(&self.members, self.document_count);
        rows.rows
    }
}

struct Rows {
    rows: Vec<PathSummary>,
    /// The path of the current node.
    path: String,
}

impl Rows {
    fn members(&mut self, members: &Members, total: u64) {
        let start = self.path.len();
        for (name, node) in members.iter() {
            if start > 0 {
                self.path.push('.');
            }
            push_name(name, &mut self.path);
            self.node(node, total);
            self.path.truncate(start);
        }
    }

    /// Adds the node of the path and those below. `total` is how often it could have occurred.
    fn node(&mut self, node: &Node, total: u64) {
        self.rows.push(node.to_row(self.path.clone(), total));
        self.below(node, total);
    }

    /// Adds what is below the node of the path. `total` is how often a member could have occurred.
    fn below(&mut self, node: &Node, total: u64) {
        self.members(&node.members, total);
        let start = self.path.len();
        for (step, all) in [("[]", node.element()), (".*", node.values())] {
            let Some(all) = all else { continue };
            self.path.push_str(step);
            self.rows.push(all.to_row(self.path.clone(), all.counts.total()));
            self.below(all, all.counts.object);
            self.path.truncate(start);
        }
    }
}

impl Node {
    /// About how many distinct values the scalars have; `None` if there are none.
    #[must_use]
    pub fn distinct_count(&self) -> Option<u64> {
        Some(self.summary.as_ref()?.distinct_count(self.counts.scalars()))
    }

    /// The smallest and the largest scalar as JSON text, if all are numbers, or all are strings.
    #[must_use]
    pub fn bounds(&self) -> Option<(String, String)> {
        let Counts { boolean, integer, number, string, .. } = self.counts;
        let summary = self.summary.as_ref()?;
        match (boolean > 0, integer + number > 0, string > 0) {
            (false, true, false) => summary.number_bounds(),
            (false, false, true) => {
                summary.texts.as_ref().map(|(first, last)| (first.to_json(), last.to_json()))
            }
            _ => None,
        }
    }

    /// The smallest and the largest number of a sample, if all scalars are numbers.
    #[must_use]
    pub fn number_bounds(&self) -> Option<(f64, f64)> {
        let summary = self.summary.as_ref().filter(|_| self.has_only(|counts| counts.numbers()))?;
        let integers = summary.integers.map(|(first, last)| (first as f64, last as f64));
        match (integers, summary.doubles) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        }
    }

    /// The smallest and the largest string of a sample, if all scalars are strings; of a long one its
    /// beginning.
    #[must_use]
    pub fn text_bounds(&self) -> Option<(&str, &str)> {
        let summary = self.summary.as_ref().filter(|_| self.has_only(|counts| counts.string))?;
        summary.texts.as_ref().map(|(first, last)| (&*first.text, &*last.text))
    }

    fn has_only(&self, count: impl Fn(&Counts) -> u64) -> bool {
        self.counts.scalars() == count(&self.counts)
    }

    fn to_row(&self, path: String, total: u64) -> PathSummary {
        let (smallest, largest) = self.bounds().unzip();
        let examples = self.summary.iter().flat_map(|summary| &summary.examples);
        PathSummary {
            path,
            type_name: short_name(&self.to_type()),
            counts: self.counts,
            share: (self.counts.total() - self.counts.null) as f64 / total.max(1) as f64,
            distinct_count: self.distinct_count(),
            smallest,
            largest,
            examples: examples.map(|example| example.to_string()).collect(),
        }
    }
}

impl Summary {
    fn number_bounds(&self) -> Option<(String, String)> {
        let integers = self.integers.map(|(first, last)| (first.to_string(), last.to_string()));
        let Some((low, high)) = self.doubles else { return integers };
        let doubles = (format!("{low:?}"), format!("{high:?}"));
        let (Some((first, last)), Some((least, most))) = (self.integers, integers) else {
            return Some(doubles);
        };
        let smallest = if (first as f64) < low { least } else { doubles.0 };
        Some((smallest, if last as f64 > high { most } else { doubles.1 }))
    }
}

impl Bound {
    fn to_json(&self) -> String {
        let mut text = String::new();
        write_json_string(&self.text, &mut text);
        if self.is_cut {
            text.insert(text.len() - 1, '…');
        }
        text
    }
}

impl PathSummary {
    /// The row as a JSON object. Kinds that were not seen are left out.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = b"{\"path\":".to_vec();
        push_json_string(&self.path, &mut out);
        out.extend_from_slice(b",\"type\":");
        push_json_string(&self.type_name, &mut out);
        let kinds: Vec<_> =
            self.counts.by_kind().into_iter().filter(|(_, count)| *count > 0).collect();
        let kinds: Vec<_> =
            kinds.iter().map(|(kind, count)| format!("\"{kind}\":{count}")).collect();
        let share = (self.share * 10_000.0).round() / 10_000.0;
        let or_null = |text: &Option<String>| text.clone().unwrap_or_else(|| "null".to_owned());
        let distinct = or_null(&self.distinct_count.map(|count| count.to_string()));
        let (smallest, largest) = (or_null(&self.smallest), or_null(&self.largest));
        let (kinds, examples) = (kinds.join(","), self.examples.join(","));
        let rest = format!(
            ",\"share\":{share},\"distinct\":{distinct},\"min\":{smallest},\"max\":{largest},\
             \"examples\":[{examples}],\"kinds\":{{{kinds}}}}}"
        );
        String::from_utf8_lossy(&out).into_owned() + &rest
    }
}

/// The name of a type without the members of structs.
fn short_name(of: &Type) -> String {
    match of {
        Type::Struct(_) | Type::Empty => "struct".to_owned(),
        Type::List(item) => short_name(item) + "[]",
        Type::Map(value) => format!("map(text, {})", short_name(value)),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lines: &[&str]) -> Vec<String> {
        let mut tree = Tree::default();
        lines.iter().for_each(|line| tree.observe(line.as_bytes()).expect(line));
        tree.paths().iter().map(PathSummary::to_json).collect()
    }

    #[test]
    fn a_row_says_what_is_known_of_a_path() {
        let found = rows(&[
            r#"{"_id":"a","n":1,"o":{"$t":true,"l":[1,"x",null]},"d":[[{"e":1}]]}"#,
            r#"{"_id":"b","n":2.5,"o":null,"d":[]}"#,
            r#"{"_id":"c","n":-7,"late":"a text that is longer than thirty-two bytes"}"#,
            r#"{"_id":"d","o":{}}"#,
        ]);
        let expected = [
            r#"{"path":"_id","type":"text","share":1,"distinct":4,"min":"a","max":"d","examples":["a","b","c"],"kinds":{"string":4}}"#,
            r#"{"path":"n","type":"double precision","share":0.75,"distinct":3,"min":-7,"max":2.5,"examples":[1,2.5,-7],"kinds":{"integer":2,"number":1}}"#,
            r#"{"path":"o","type":"struct","share":0.5,"distinct":null,"min":null,"max":null,"examples":[],"kinds":{"null":1,"object":2}}"#,
            r#"{"path":"o.\"$t\"","type":"boolean","share":0.25,"distinct":1,"min":null,"max":null,"examples":[true],"kinds":{"boolean":1}}"#,
            r#"{"path":"o.l","type":"json[]","share":0.25,"distinct":null,"min":null,"max":null,"examples":[],"kinds":{"list":1}}"#,
            r#"{"path":"o.l[]","type":"json","share":0.6667,"distinct":2,"min":null,"max":null,"examples":[1,"x"],"kinds":{"null":1,"integer":1,"string":1}}"#,
            r#"{"path":"d","type":"struct[][]","share":0.5,"distinct":null,"min":null,"max":null,"examples":[],"kinds":{"list":2}}"#,
            r#"{"path":"d[]","type":"struct[]","share":1,"distinct":null,"min":null,"max":null,"examples":[],"kinds":{"list":1}}"#,
            r#"{"path":"d[][]","type":"struct","share":1,"distinct":null,"min":null,"max":null,"examples":[],"kinds":{"object":1}}"#,
            r#"{"path":"d[][].e","type":"bigint","share":1,"distinct":1,"min":1,"max":1,"examples":[1],"kinds":{"integer":1}}"#,
            r#"{"path":"late","type":"text","share":0.25,"distinct":1,"min":"a text that is longer than thirt…","max":"a text that is longer than thirt…","examples":["a text that is longer than thirt…"],"kinds":{"string":1}}"#,
        ];
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.len(), expected.len());
        for row in rows(&[r#"{"a\"\\\n":"q\"\\\u0001","1":1e400,"":"é"}"#]) {
            serde_json::from_str::<serde_json::Value>(&row).expect(&row);
        }
    }
}
