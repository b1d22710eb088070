//! The values inside nested columns, as columns of their own.
//!
//! A document is stored as text. Where rows are written, a column that holds objects or lists is
//! therefore JSON. Where they are read, it has a type, and each member below it is a column too:
//! a statement about `geo.lat` reads only that. These columns follow those of the schema:
//!
//! ```text
//! schema        0 _id text   1 name text   2 geo json   3 _doc json
//! typed form    4 geo struct(lat double, at struct(day text))
//! members       5 geo.lat    6 geo.at
//!               7 geo.at.day
//! ```
//!
//! The members of a struct are adjacent and in its order. Elements of lists have no columns, nor have
//! the values of a map, whose keys are too many: a statement adds those of the keys that it names
//! ([`Paths::with_key`]), after all others.

use std::sync::Arc;

use folio_compute::Error;
use folio_types::{ColumnType, TableSchema};

use super::DOCUMENT;

/// A value inside the rows of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathColumn {
    /// The names of the column and the members below it, outermost first.
    pub path: Vec<String>,
    /// The same as statements write it: `geo.lat`. A part of a column has a name of its own.
    pub name: String,
    /// The type.
    pub ty: ColumnType,
    /// Whether its structs have only a part of the members that values have: what a statement reads
    /// of the column named in the path.
    pub is_partial: bool,
    /// If it is a struct, the position of its first member.
    first_member: usize,
}

impl PathColumn {
    fn new(path: Vec<String>, ty: ColumnType) -> Self {
        Self { name: path.join("."), path, ty, is_partial: false, first_member: 0 }
    }
}

/// A member of documents whose name differs by case only from the column of another, or is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twin {
    /// The member.
    pub name: String,
    /// Its own column, which has a number; `None` if only the whole document has the member.
    pub column: Option<String>,
}

impl Twin {
    /// The error of its name, which would otherwise mean a column.
    #[must_use]
    pub fn error(&self, column: &str) -> Error {
        let name = &self.name;
        let text = format!("column {column:?} is not {name:?}: their names differ by case only");
        Error::invalid(text).help(match &self.column {
            Some(numbered) => format!("{name:?} is the column {numbered:?}"),
            None => format!("{name:?} is in the document alone: {DOCUMENT} -> '{name}'"),
        })
    }
}

/// The columns of a relation beyond its schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths {
    /// The number of columns of the schema.
    width: usize,
    columns: Vec<PathColumn>,
    /// For each column of the schema, where its typed form is.
    typed: Vec<Option<usize>>,
    twins: Option<Arc<[Twin]>>,
}

impl Paths {
    /// The paths of columns whose types, when read, are not those of the schema.
    #[must_use]
    pub fn new(schema: &TableSchema, types: Vec<(usize, ColumnType)>) -> Self {
        let width = schema.columns.len();
        let typed = vec![None; width];
        let mut paths = Self { width, columns: Vec::new(), typed, twins: None };
        for (column, ty) in types {
            paths.typed[column] = Some(width + paths.columns.len());
            paths.columns.push(PathColumn::new(vec![schema.columns[column].name.clone()], ty));
        }
        paths.add_members(0);
        paths
    }

    /// These paths with members whose names differ by case only from those of columns.
    #[must_use]
    pub fn with_twins(mut self, twins: Vec<Twin>) -> Self {
        for twin in &twins {
            let is_own = |path: &&mut PathColumn| twin.column.as_ref() == Some(&path.path[0]);
            let own = self.columns.iter_mut().filter(is_own);
            own.for_each(|path| path.path[0].clone_from(&twin.name));
        }
        self.twins = (!twins.is_empty()).then(|| twins.into());
        self
    }

    /// The member that a column reads: that of its name, if the column has no number.
    #[must_use]
    pub fn member_of<'n>(&'n self, column: &'n str) -> &'n str {
        let mut twins = self.twins.iter().flat_map(|twins| twins.iter());
        twins.find(|twin| twin.column.as_deref() == Some(column)).map_or(column, |twin| &twin.name)
    }

    /// The member with exactly this name, if a column's differs from it by case only.
    #[must_use]
    pub fn twin(&self, name: &str) -> Option<&Twin> {
        self.twins.as_ref()?.iter().find(|twin| twin.name == name)
    }

    /// The members whose names differ by case only from those of columns, if there are any.
    #[must_use]
    pub fn twins(&self) -> Option<&Arc<[Twin]>> {
        self.twins.as_ref()
    }

    /// These paths of a schema that has more columns, at its end: each is a part of the column of a
    /// name, of this type.
    #[must_use]
    pub fn with_parts(&self, schema: &TableSchema, parts: Vec<(String, ColumnType)>) -> Self {
        let typed = |column: usize| Some((column, self.get(self.typed(column)?)?.ty.clone()));
        let first = schema.columns.len() - parts.len();
        let mut paths = Self::new(schema, (0..first).filter_map(typed).collect());
        for (column, (name, ty)) in (first..).zip(parts) {
            paths.typed[column] = Some(paths.width + paths.columns.len());
            let (path, name) = (vec![name], schema.columns[column].name.clone());
            let (is_partial, first_member) = (true, 0);
            paths.columns.push(PathColumn { path, name, ty, is_partial, first_member });
        }
        paths.twins.clone_from(&self.twins);
        paths
    }

    /// Adds the members of the structs from a column on.
    fn add_members(&mut self, mut next: usize) {
        while let Some(column) = self.columns.get_mut(next) {
            next += 1;
            let ColumnType::Struct(members) = &column.ty else { continue };
            let (path, members) = (column.path.clone(), members.clone());
            self.columns[next - 1].first_member = self.width + self.columns.len();
            self.columns.extend(members.into_iter().map(|(name, ty)| {
                PathColumn::new(path.iter().cloned().chain([name]).collect(), ty)
            }));
        }
    }

    /// These paths and the one to the value of a key of the map at a position, and its position;
    /// `None` if no map is there.
    #[must_use]
    pub(crate) fn with_key(&self, column: usize, key: &str) -> Option<(Self, usize)> {
        let parent = self.get(column)?;
        let ColumnType::Map(value) = &parent.ty else { return None };
        let path = parent.path.iter().cloned().chain([key.to_owned()]).collect();
        let added = PathColumn {
            name: format!("{}['{key}']", parent.name),
            ..PathColumn::new(path, (**value).clone())
        };
        let mut paths = self.clone();
        let first = paths.columns.len();
        paths.columns.push(added);
        paths.add_members(first);
        Some((paths, self.width + first))
    }

    /// The typed form of a column of the schema, if it has one.
    #[must_use]
    pub fn typed(&self, column: usize) -> Option<usize> {
        self.typed.get(column).copied().flatten()
    }

    /// Where the value of a key of the map at a position is, once it was added.
    pub(crate) fn key(&self, column: usize, key: &str) -> Option<usize> {
        let parent = self.get(column)?;
        let is_map = matches!(parent.ty, ColumnType::Map(_));
        let is_it = |path: &PathColumn| {
            path.path
                .split_last()
                .is_some_and(|(last, before)| last == key && before == parent.path)
        };
        let found = self.iter().find(|(_, path)| is_map && is_it(path));
        found.map(|(position, _)| position)
    }

    /// The n-th member of the struct at a position, if that is a path.
    #[must_use]
    pub fn member(&self, column: usize, index: usize) -> Option<usize> {
        let parent = self.get(column)?;
        match &parent.ty {
            ColumnType::Struct(members) if index < members.len() && !parent.is_partial => {
                Some(parent.first_member + index)
            }
            _ => None,
        }
    }

    /// The member of a struct with a name, with its spelling. Letter case decides only between
    /// several.
    #[must_use]
    pub fn member_named(&self, column: usize, name: &str) -> Option<(usize, &str)> {
        let ColumnType::Struct(members) = &self.get(column)?.ty else { return None };
        let exact = members.iter().position(|(own, _)| own == name);
        let similar = || members.iter().position(|(own, _)| own.eq_ignore_ascii_case(name));
        let index = exact.or_else(similar)?;
        Some((self.member(column, index)?, &members[index].0))
    }

    /// The path at a position; `None` for a column of the schema.
    #[must_use]
    pub fn get(&self, column: usize) -> Option<&PathColumn> {
        self.columns.get(column.checked_sub(self.width)?)
    }

    /// All of them with their positions.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &PathColumn)> {
        (self.width..).zip(&self.columns)
    }
}

#[cfg(test)]
mod tests {
    use folio_types::Column;

    use super::*;

    #[test]
    fn members_of_a_struct_are_adjacent() {
        let of = |fields: &[(&str, ColumnType)]| {
            let own = |(name, ty): &(&str, ColumnType)| ((*name).to_owned(), ty.clone());
            ColumnType::Struct(fields.iter().map(own).collect())
        };
        let at = of(&[("day", ColumnType::Text)]);
        let geo = of(&[("lat", ColumnType::Float64), ("at", at), ("lon", ColumnType::Float64)]);
        let tags = ColumnType::List(Box::new(of(&[("a", ColumnType::Int64)])));
        let columns = ["_id", "geo", "tags"].map(|name| Column::optional(name, ColumnType::Json));
        let schema = TableSchema::new("t", columns.to_vec(), vec![0]);
        let paths = Paths::new(&schema, vec![(1, geo), (2, tags)]);
        let all: Vec<_> = paths.iter().map(|(at, path)| format!("{at} {}", path.name)).collect();
        let expected = ["3 geo", "4 tags", "5 geo.lat", "6 geo.at", "7 geo.lon", "8 geo.at.day"];
        assert_eq!(all, expected);
        assert_eq!(paths.typed(0), None);
        assert_eq!(paths.typed(2), Some(4));
        assert_eq!(paths.member(3, 1), Some(6));
        assert_eq!(paths.member(6, 0), Some(8));
        assert_eq!(paths.member(6, 1), None);
        assert_eq!(paths.member(4, 0), None);
        assert_eq!(paths.member(1, 0), None);
    }

    #[test]
    fn parts_of_columns_follow_their_schema() {
        let of = |names: &[&str]| {
            let member = |name: &&str| ((*name).to_owned(), ColumnType::Int64);
            ColumnType::Struct(names.iter().map(member).collect())
        };
        let column = |name: &str| Column::optional(name, ColumnType::Json);
        let mut schema = TableSchema::new("t", vec![column("_id"), column("geo")], vec![0]);
        let paths = Paths::new(&schema, vec![(1, of(&["lat", "lon"]))]);
        schema.columns.push(column("part"));
        let paths = paths.with_parts(&schema, vec![("geo".to_owned(), of(&["lon"]))]);
        let all: Vec<_> = paths.iter().map(|(at, path)| format!("{at} {}", path.name)).collect();
        assert_eq!(all, ["3 geo", "4 geo.lat", "5 geo.lon", "6 part"]);
        assert_eq!(paths.get(6).unwrap().path, ["geo"]);
        assert_eq!((paths.typed(1), paths.typed(2)), (Some(3), Some(6)));
        assert_eq!((paths.member(3, 1), paths.member(6, 0)), (Some(5), None));
    }

    #[test]
    fn keys_of_a_map_are_added_after_all_others() {
        let at = ColumnType::Struct(vec![("day".to_owned(), ColumnType::Text)]);
        let visits = ColumnType::Map(Box::new(at));
        let columns = ["_id", "visits"].map(|name| Column::optional(name, ColumnType::Json));
        let schema = TableSchema::new("t", columns.to_vec(), vec![0]);
        let paths = Paths::new(&schema, vec![(1, visits)]);
        assert_eq!((paths.key(2, "a"), paths.with_key(0, "a")), (None, None));
        let (paths, at) = paths.with_key(2, "a").unwrap();
        assert_eq!((at, paths.key(2, "a"), paths.key(2, "b")), (3, Some(3), None));
        let all: Vec<_> = paths.iter().map(|(at, path)| format!("{at} {}", path.name)).collect();
        assert_eq!(all, ["2 visits", "3 visits['a']", "4 visits.a.day"]);
        assert_eq!(paths.get(4).unwrap().path, ["visits", "a", "day"]);
        assert_eq!(paths.member(3, 0), Some(4));
    }
}
