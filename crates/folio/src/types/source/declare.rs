//! Names for the objects of a tree, and the kinds of values of their members.

use std::collections::HashSet;

use folio_json::{Node, Tree};

/// Names that the written text needs for something else, in either language.
const TAKEN: [&str; 20] = [
    "Any",
    "Array",
    "BaseModel",
    "Boolean",
    "ConfigDict",
    "Date",
    "Dict",
    "False",
    "Field",
    "Function",
    "List",
    "None",
    "NotRequired",
    "Number",
    "Object",
    "Record",
    "String",
    "Symbol",
    "True",
    "TypedDict",
];

/// The type of an object.
#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) members: Vec<Member>,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) shapes: Vec<Shape>,
    /// Some objects do not have it.
    pub(super) is_optional: bool,
}

/// A kind of values. Several of them are a union.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Boolean,
    /// Integers; wide ones are not all exact as doubles.
    Integer {
        is_wide: bool,
    },
    Number,
    Text,
    /// Lists of elements of these kinds; empty if there was no element.
    List(Vec<Shape>),
    /// Objects of a declaration.
    Object(String),
    /// Objects whose keys are data, by the kinds of their values.
    Map(Vec<Shape>),
    /// Objects, or lists, of which no more is known.
    AnyObject,
    AnyList,
    Null,
}

/// The types of all objects, each after those of its members. The last one is that of documents.
pub(super) fn declarations(types: &Tree, collection: &str) -> Vec<Declaration> {
    let taken = TAKEN.into_iter().map(str::to_lowercase).collect();
    let mut declaring = Declaring { declared: Vec::new(), taken };
    let name = declaring.new_name(&capitalized(collection));
    declaring.declare(name, types.members(), types.document_count());
    declaring.declared
}

struct Declaring {
    declared: Vec<Declaration>,
    taken: HashSet<String>,
}

impl Declaring {
    fn declare<'a>(
        &mut self,
        name: String,
        members: impl Iterator<Item = (&'a str, &'a Node)>,
        object_count: u64,
    ) {
        let members = members
            .map(|(member, node)| Member {
                shapes: self.shapes(node, &format!("{name}{}", capitalized(member))),
                is_optional: node.counts().total() < object_count,
                name: member.to_owned(),
            })
            .collect();
        self.declared.push(Declaration { name, members });
    }

    /// The kinds of values of a node. Its objects get this name, or a similar one.
    fn shapes(&mut self, node: &Node, name: &str) -> Vec<Shape> {
        let counts = node.counts();
        let mut shapes = Vec::new();
        if counts.boolean > 0 {
            shapes.push(Shape::Boolean);
        }
        if counts.integer > 0 {
            shapes.push(Shape::Integer { is_wide: node.is_wide() });
        }
        if counts.number > 0 {
            shapes.push(Shape::Number);
        }
        if counts.string > 0 {
            shapes.push(Shape::Text);
        }
        if counts.list > 0 {
            shapes.push(match node.is_collapsed() {
                true => Shape::AnyList,
                false => Shape::List(
                    node.element().map_or(Vec::new(), |element| self.shapes(element, name)),
                ),
            });
        }
        if counts.object > 0 {
            shapes.push(match (node.values(), node.members().next()) {
                (Some(values), _) => Shape::Map(self.shapes(values, name)),
                (None, Some(_)) => {
                    let name = self.new_name(name);
                    self.declare(name.clone(), node.members(), counts.object);
                    Shape::Object(name)
                }
                (None, None) => Shape::AnyObject,
            });
        }
        if counts.null > 0 {
            shapes.push(Shape::Null);
        }
        shapes
    }

    /// This name, or one with a number if it is taken.
    fn new_name(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number: u64| format!("{name}{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names.find(|name| self.taken.insert(name.to_lowercase())).unwrap_or_default()
    }
}

/// A name as a part of an identifier: words with capitals, without anything else.
fn capitalized(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    let joined: String = words.map(capital).collect();
    let joined = if joined.is_empty() { "Value".to_owned() } else { joined };
    if joined.starts_with(|c: char| c.is_ascii_digit()) { format!("T{joined}") } else { joined }
}
