//! What is known of a statement's parameters before it runs: their types, and their names
//! if they are given by name.
//!
//! A statement is compiled for one signature. It must use exactly the given parameters: an
//! unused parameter is an error, like a missing one.

use folio_types::{ColumnType, Value};

/// Types and names of a statement's parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signature {
    /// Their types, in order; `None` if the type follows from where the parameter is used.
    pub types: Vec<Option<ColumnType>>,
    /// Their names, in the same order. Empty if they go by position.
    pub names: Vec<String>,
    /// Those that are lists in which nothing has a type, empty or of nulls, by number: how deep they
    /// nest.
    pub open_lists: Vec<(usize, usize)>,
}

impl Signature {
    /// No parameters.
    pub const NONE: &'static Self =
        &Self { types: Vec::new(), names: Vec::new(), open_lists: Vec::new() };

    /// Adds a parameter. Without a type it takes the one that its use requires.
    pub fn push(&mut self, value: &Value, ty: Option<ColumnType>) {
        if ty.is_none()
            && let Some(depth) = open_depth(value)
        {
            self.open_lists.push((self.types.len(), depth));
        }
        self.types.push(ty);
    }

    /// The type of a parameter, and whether another one that its use requires takes its place.
    #[must_use]
    pub fn ty(&self, index: usize) -> (ColumnType, bool) {
        let known = self.types.get(index).cloned().flatten();
        let open = self.open_lists.iter().find(|(own, _)| *own == index);
        match (known, open) {
            (None, Some((_, depth))) => {
                let list = |element, _| ColumnType::List(Box::new(element));
                ((0..*depth).fold(ColumnType::Text, list), true)
            }
            (None | Some(ColumnType::Text), _) => (ColumnType::Text, true),
            (Some(ty), _) => (ty, false),
        }
    }
}

/// How deep a list nests in which nothing has a type; `None` for other values.
fn open_depth(value: &Value) -> Option<usize> {
    let Value::List(items) = value else { return None };
    let deepest = items.iter().try_fold(0, |deepest: usize, item| match item {
        Value::Null => Some(deepest),
        item => Some(deepest.max(open_depth(item)?)),
    });
    deepest.map(|deepest| deepest + 1)
}
