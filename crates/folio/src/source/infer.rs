//! Columns for JSON documents: names in order of first appearance, types that hold
//! every value seen.
//!
//! Types only ever widen: from nothing, to one type, to JSON text, which holds
//! everything. So the order of documents does not matter, and a schema inferred
//! from the first half of a file is extended by the second.

use std::collections::HashMap;

use folio_types::{Column, ColumnType, TableSchema};

use crate::json::members;

/// What the values of one member are, as far as seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    Boolean,
    Integer,
    Float,
    Text,
    Mixed,
}

impl Seen {
    fn of(json: &str) -> Self {
        match json.as_bytes().first() {
            Some(b'n') | None => Self::Nothing,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'"') => Self::Text,
            Some(b'{' | b'[') => Self::Mixed,
            _ if json.parse::<i64>().is_ok() => Self::Integer,
            _ if json.contains(['.', 'e', 'E']) => Self::Float,
            // An integer beyond 64 bits keeps its digits as JSON.
            _ => Self::Mixed,
        }
    }

    fn widen(self, other: Self) -> Self {
        match (self, other) {
            (left, right) if left == right => left,
            (Self::Nothing, other) | (other, Self::Nothing) => other,
            (Self::Integer, Self::Float) | (Self::Float, Self::Integer) => Self::Float,
            _ => Self::Mixed,
        }
    }

    fn column_type(self) -> ColumnType {
        match self {
            Self::Boolean => ColumnType::Boolean,
            Self::Integer => ColumnType::Int64,
            Self::Float => ColumnType::Float64,
            Self::Text => ColumnType::Text,
            Self::Nothing | Self::Mixed => ColumnType::Json,
        }
    }
}

/// The columns of documents, as far as seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inferred {
    names: Vec<String>,
    seen: Vec<Seen>,
    places: HashMap<String, usize>,
}

impl Inferred {
    /// Looks at one document.
    pub(crate) fn observe(&mut self, line: &str) -> Result<(), crate::json::JsonError> {
        for (name, value) in members(line)? {
            let seen = Seen::of(value);
            match self.places.get(&*name) {
                Some(place) => self.seen[*place] = self.seen[*place].widen(seen),
                None => {
                    self.places.insert(name.clone().into_owned(), self.names.len());
                    self.names.push(name.into_owned());
                    self.seen.push(seen);
                }
            }
        }
        Ok(())
    }

    /// A column for every member.
    pub(crate) fn columns(&self) -> Vec<Column> {
        let members = self.names.iter().zip(&self.seen);
        members.map(|(name, seen)| Column::optional(name.clone(), seen.column_type())).collect()
    }

    /// The schema of a table of these documents. Members that differ from another by
    /// case alone are left to the whole document.
    pub(crate) fn schema(
        &self,
        table: &str,
        key: Option<&str>,
        document: Option<&str>,
    ) -> TableSchema {
        let mut columns: Vec<Column> = Vec::new();
        if let Some(key) = key {
            columns.push(Column::required(key, ColumnType::Text));
        }
        for (name, seen) in self.names.iter().zip(&self.seen) {
            let is_taken =
                columns.iter().any(|column| column.name.to_lowercase() == name.to_lowercase());
            if !is_taken && !name.is_empty() && name.len() < 256 {
                columns.push(Column::optional(name.clone(), seen.column_type()));
            }
        }
        if let Some(document) = document
            && !self.places.contains_key(document)
        {
            columns.push(Column::optional(document, ColumnType::Json));
        }
        let primary_key = if key.is_some() { vec![0] } else { Vec::new() };
        TableSchema::new(table, columns, primary_key)
    }
}
