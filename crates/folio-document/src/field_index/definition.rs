//! What an index on fields is on, as text and in the manifest.
//!
//! ```json
//! {"name": "users_city", "fields": ["address.city", "age desc"], "unique": true}
//! ```
//!
//! A field is a path of names, separated by dots. A name with other characters than letters, digits,
//! `_` and `-` is written in double quotes, with a double quote doubled. `desc` after it means
//! greatest first.

use std::fmt;

use folio_types::check_collection_name;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};

/// Part of the fingerprint, to be changed with the form of keys.
const KEY_FORM: &str = "1";

/// Maximum number of fields.
const FIELDS_MAX: usize = 16;

/// An index on fields of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Its name, by the rules of collection names; unique in the collection.
    pub name: String,
    /// What it sorts by.
    pub fields: Vec<IndexField>,
    /// Whether two documents may not have the same values. Values that are missing or null are never
    /// the same.
    pub unique: bool,
}

/// A field of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexField {
    /// The names of members from the document down to the value.
    pub path: Vec<String>,
    /// Whether greater values come first.
    pub descending: bool,
}

impl IndexField {
    /// A field from its text: `address.city desc`.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn parse(text: &str) -> Result<Self> {
        let bad = |reason: &str| Error::Invalid(format!("{text:?} is not a field: {reason}"));
        let trimmed = text.trim();
        let mut rest = trimmed;
        let mut path = Vec::new();
        loop {
            let (name, after) = take_name(rest).ok_or_else(|| bad("a name is expected"))?;
            path.push(name);
            match after.strip_prefix('.') {
                Some(next) => rest = next,
                None => {
                    rest = after.trim();
                    break;
                }
            }
        }
        let descending = match rest.to_ascii_lowercase().as_str() {
            "" | "asc" => false,
            "desc" => true,
            _ => return Err(bad("write a path of names, then perhaps desc")),
        };
        Ok(Self { path, descending })
    }
}

/// The name at the front of a path, and the text after it.
fn take_name(text: &str) -> Option<(String, &str)> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find(|letter| !is_plain(letter)).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), &text[end..]));
    };
    let mut name = String::new();
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Some((name, rest)),
        }
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '$' | '@')
}

impl fmt::Display for IndexField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, name) in self.path.iter().enumerate() {
            if number > 0 {
                out.write_str(".")?;
            }
            if !name.is_empty() && name.chars().all(is_plain) {
                out.write_str(name)?;
            } else {
                write!(out, "\"{}\"", name.replace('"', "\"\""))?;
            }
        }
        out.write_str(if self.descending { " desc" } else { "" })
    }
}

impl IndexDefinition {
    /// An index on fields given as text. Without a name it is called after the collection and its
    /// fields.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::Name`].
    pub fn parse<S: AsRef<str>>(
        collection: &str,
        name: Option<&str>,
        fields: &[S],
        unique: bool,
    ) -> Result<Self> {
        let fields = fields.iter().map(|field| IndexField::parse(field.as_ref()));
        let fields: Vec<IndexField> = fields.collect::<Result<_>>()?;
        let name = match name {
            Some(name) => name.to_owned(),
            None => Self::default_name(collection, &fields),
        };
        let definition = Self { name, fields, unique };
        definition.check()?;
        Ok(definition)
    }

    /// The name of an index that was given none: `users_email_idx`.
    #[must_use]
    pub fn default_name(collection: &str, fields: &[IndexField]) -> String {
        let mut name = collection.to_owned();
        for part in fields.iter().flat_map(|field| &field.path) {
            name.push('_');
            name.extend(part.chars().map(|letter| if is_plain(letter) { letter } else { '_' }));
        }
        name.push_str("_idx");
        name.retain(|letter| !matches!(letter, '$' | '@'));
        name
    }

    /// # Errors
    /// [`Error::Name`] for its name, [`Error::Invalid`] for its fields.
    pub(crate) fn check(&self) -> Result<()> {
        check_collection_name(&self.name)?;
        if self.name.len() > 200 {
            return Err(Error::Invalid(format!(
                "the name of index {:?} is longer than 200 bytes; choose a shorter one",
                self.name
            )));
        }
        if self.fields.is_empty() || self.fields.len() > FIELDS_MAX {
            return Err(Error::Invalid(format!(
                "index {:?} has {} fields; name between 1 and {FIELDS_MAX}",
                self.name,
                self.fields.len()
            )));
        }
        if self.fields.iter().any(|field| field.path.is_empty()) {
            return Err(Error::Invalid(format!("a field of index {:?} has no name", self.name)));
        }
        Ok(())
    }

    /// The texts of its fields.
    #[must_use]
    pub fn field_texts(&self) -> Vec<String> {
        self.fields.iter().map(ToString::to_string).collect()
    }

    /// Its paths.
    #[must_use]
    pub fn field_names(&self) -> Vec<String> {
        let path = |field: &IndexField| IndexField { descending: false, ..field.clone() };
        self.fields.iter().map(|field| path(field).to_string()).collect()
    }

    /// Equal for definitions that have the same entries.
    pub(crate) fn fingerprint(&self) -> u64 {
        xxh3_64(format!("{KEY_FORM} {:?}", self.field_texts()).as_bytes())
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut object = json!({ "name": self.name, "fields": self.field_texts() });
        if self.unique {
            object["unique"] = true.into();
        }
        object
    }

    /// `None` if it is not a definition.
    pub(crate) fn from_json(json: &Value) -> Option<Self> {
        let fields = json.get("fields")?.as_array()?.iter();
        let fields = fields.map(|field| IndexField::parse(field.as_str()?).ok());
        let unique = match json.get("unique") {
            None | Some(Value::Null) => false,
            Some(unique) => unique.as_bool()?,
        };
        let name = json.get("name")?.as_str()?.to_owned();
        let definition = Self { name, fields: fields.collect::<Option<_>>()?, unique };
        definition.check().ok().map(|()| definition)
    }
}

impl fmt::Display for IndexDefinition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.name, self.field_texts().join(", "))?;
        out.write_str(if self.unique { " unique" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_they_are_written() {
        for (text, path, descending) in [
            ("email", &["email"][..], false),
            ("address.city DESC", &["address", "city"], true),
            ("\"a.b\".c asc", &["a.b", "c"], false),
            ("\"say \"\"x\"\"\"", &["say \"x\""], false),
            ("größe-1.$ref", &["größe-1", "$ref"], false),
            ("\"\"", &[""], false),
        ] {
            let field = IndexField::parse(text).unwrap();
            assert_eq!((&field.path[..], field.descending), (&path.map_owned()[..], descending));
            assert_eq!(IndexField::parse(&field.to_string()).unwrap(), field, "{text}");
        }
        for text in ["", ".", "a.", ".a", "a..b", "a b", "\"a", "a desc desc", "a[0]"] {
            assert!(IndexField::parse(text).is_err(), "{text}");
        }
    }

    trait MapOwned {
        fn map_owned(&self) -> Vec<String>;
    }

    impl MapOwned for [&str] {
        fn map_owned(&self) -> Vec<String> {
            self.iter().map(|&name| name.to_owned()).collect()
        }
    }

    #[test]
    fn definitions_survive_the_manifest() {
        let fields = ["address.city", "age desc"];
        let definition = IndexDefinition::parse("users", None, &fields, true).unwrap();
        assert_eq!(definition.name, "users_address_city_age_idx");
        assert_eq!(IndexDefinition::from_json(&definition.to_json()), Some(definition.clone()));
        for json in ["{}", r#"{"name":"x","fields":[]}"#, r#"{"name":".x","fields":["a"]}"#] {
            assert_eq!(IndexDefinition::from_json(&serde_json::from_str(json).unwrap()), None);
        }
        assert!(IndexDefinition::parse::<&str>("c", None, &[], false).is_err());
        let other = IndexDefinition::parse("users", None, &["age desc"], true).unwrap();
        assert_ne!(definition.fingerprint(), other.fingerprint());
    }
}
