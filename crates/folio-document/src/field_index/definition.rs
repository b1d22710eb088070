//! What an index is on, as text and in the manifest.
//!
//! ```json
//! {"name": "users_city", "fields": ["address.city", "age desc"], "unique": true}
//! {"name": "users_tags", "fields": ["tags[]"], "where": [{"field": "active", "is": "=", "value": true}]}
//! {"name": "events_columns", "using": "columns", "fields": []}
//! ```
//!
//! A field is a path of names, separated by dots. A name with other characters than letters, digits,
//! `_` and `-` is written in double quotes, with a double quote doubled. `[]` after it means an entry
//! for each element of a list, `desc` greatest first. `where` lists conditions that a document with
//! entries fulfils, all of them. With `"using": "columns"` the index is a copy of the fields in
//! columns, of all if none are named.

use std::borrow::Cow;
use std::fmt;

use folio_json::{PathPart, elements, is_name_letter, members, take_path, unquote};
use folio_types::{
    Comparison, FieldCondition, FieldTest, IndexMethod, Literal, check_collection_name,
};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};

/// Part of the fingerprint, to be changed with the form of keys.
const KEY_FORM: &str = "1";

/// The same for columns.
const COLUMN_FORM: &str = "1";

/// Maximum number of fields, and of conditions.
const FIELDS_MAX: usize = 16;

/// Maximum number of named columns.
const COLUMNS_MAX: usize = 1000;

/// The comparisons of conditions, as they are written.
const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// An index of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Its name, by the rules of collection names; unique in the collection.
    pub name: String,
    /// What kind of index it is.
    pub method: IndexMethod,
    /// What it sorts by or, of columns, the fields it copies; all if there are none.
    pub fields: Vec<IndexField>,
    /// Whether two documents may not have the same values. Values that are missing or null are never
    /// the same.
    pub unique: bool,
    /// What documents with entries fulfil; all documents have them if it is empty.
    pub conditions: Vec<FieldCondition>,
}

/// A field of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexField {
    /// The names of members from the document down to the value.
    pub path: Vec<String>,
    /// Whether there is an entry for each element of the list at the path. Anything else than a list,
    /// and null among the elements, has no entry.
    pub elements: bool,
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
        let (mut parts, rest) = take_path(text.trim()).map_err(bad)?;
        let elements = parts.pop_if(|last| *last == PathPart::Elements).is_some();
        let names = parts.into_iter().map(|part| match part {
            PathPart::Member(name) => Some(name),
            PathPart::Elements | PathPart::Values => None,
        });
        let form = "write a path of names, then perhaps [], then perhaps desc";
        let path: Vec<String> = names.collect::<Option<_>>().ok_or_else(|| bad(form))?;
        let rest = rest.trim();
        let descending = match rest.to_ascii_lowercase().as_str() {
            "" | "asc" => false,
            "desc" => true,
            _ => return Err(bad(form)),
        };
        Ok(Self { path, elements, descending })
    }
}

impl fmt::Display for IndexField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, name) in self.path.iter().enumerate() {
            if number > 0 {
                out.write_str(".")?;
            }
            out.write_str(&shown_name(name))?;
        }
        out.write_str(if self.elements { "[]" } else { "" })?;
        out.write_str(if self.descending { " desc" } else { "" })
    }
}

fn shown_name(name: &str) -> String {
    match !name.is_empty() && name.chars().all(is_name_letter) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
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
        let definition =
            Self { name, method: IndexMethod::Fields, fields, unique, conditions: Vec::new() };
        definition.check()?;
        Ok(definition)
    }

    /// A copy in columns of the fields given as text, of all if there are none. Without a name it is
    /// called after the collection.
    ///
    /// # Errors
    /// As [`IndexDefinition::parse`].
    pub fn columns<S: AsRef<str>>(
        collection: &str,
        name: Option<&str>,
        fields: &[S],
    ) -> Result<Self> {
        let fields = fields.iter().map(|field| IndexField::parse(field.as_ref()));
        let name = name.map_or_else(|| Self::default_columns_name(collection), str::to_owned);
        let definition = Self {
            name,
            method: IndexMethod::Columns,
            fields: fields.collect::<Result<_>>()?,
            unique: false,
            conditions: Vec::new(),
        };
        definition.check()?;
        Ok(definition)
    }

    /// The name of columns that were given none: `users_columns_idx`.
    #[must_use]
    pub fn default_columns_name(collection: &str) -> String {
        format!("{collection}_columns_idx")
    }

    /// The name of an index that was given none: `users_email_idx`.
    #[must_use]
    pub fn default_name(collection: &str, fields: &[IndexField]) -> String {
        let mut name = collection.to_owned();
        for part in fields.iter().flat_map(|field| &field.path) {
            name.push('_');
            name.extend(
                part.chars().map(|letter| if is_name_letter(letter) { letter } else { '_' }),
            );
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
        if self.method == IndexMethod::Columns {
            return self.check_columns();
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
        if self.fields.iter().filter(|field| field.elements).count() > 1 {
            return Err(Error::Invalid(format!(
                "index {:?} has the elements of two lists; name one list",
                self.name
            )));
        }
        let is_bad = |condition: &FieldCondition| {
            let is_foreign = |comparison: &Comparison| !COMPARISONS.contains(comparison);
            condition.path.is_empty()
                || matches!(&condition.test, FieldTest::Compare(other, _) if is_foreign(other))
        };
        if self.conditions.len() > FIELDS_MAX || self.conditions.iter().any(is_bad) {
            return Err(Error::Invalid(format!(
                "the condition of index {:?} is not up to {FIELDS_MAX} comparisons of fields with \
                 literals",
                self.name
            )));
        }
        Ok(())
    }

    fn check_columns(&self) -> Result<()> {
        let is_plain =
            |field: &IndexField| !field.elements && !field.descending && !field.path.is_empty();
        let problem = if self.unique {
            "is unique, which columns cannot be"
        } else if !self.conditions.is_empty() {
            "has a condition, which columns cannot have"
        } else if !self.fields.iter().all(is_plain) {
            "has a field with [] or desc, which columns cannot have"
        } else if self.fields.len() > COLUMNS_MAX {
            "names more than 1,000 fields; name none for all"
        } else {
            return Ok(());
        };
        Err(Error::Invalid(format!("index {:?} {problem}", self.name)))
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

    /// The conditions as in SQL; `None` without any.
    #[must_use]
    pub fn condition_text(&self) -> Option<String> {
        let texts = self.conditions.iter().map(|condition| condition.to_sql(&shown_name));
        (!self.conditions.is_empty()).then(|| texts.collect::<Vec<_>>().join(" AND "))
    }

    /// Equal for definitions that have the same entries.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut text = match self.method {
            IndexMethod::Fields => format!("{KEY_FORM} {:?}", self.field_texts()),
            IndexMethod::Columns => format!("columns {COLUMN_FORM} {:?}", self.field_texts()),
        };
        text.extend(self.condition_text());
        xxh3_64(text.as_bytes())
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut object = json!({ "name": self.name, "fields": self.field_texts() });
        if self.method == IndexMethod::Columns {
            object["using"] = "columns".into();
        }
        if self.unique {
            object["unique"] = true.into();
        }
        if !self.conditions.is_empty() {
            object["where"] = self.conditions.iter().map(condition_to_json).collect();
        }
        object
    }

    /// `None` if it is not a definition.
    pub(crate) fn from_json(json: &str) -> Option<Self> {
        let members = members(json).ok()?;
        let of = |name: &str| value_of(&members, name);
        let fields = elements(of("fields")?)?.into_iter();
        let fields = fields.map(|field| IndexField::parse(&unquote(field)?).ok());
        let unique = match of("unique") {
            None | Some("null" | "false") => false,
            Some("true") => true,
            Some(_) => return None,
        };
        let conditions = match of("where") {
            None => Vec::new(),
            Some(all) => {
                elements(all)?.into_iter().map(condition_from_json).collect::<Option<_>>()?
            }
        };
        let name = unquote(of("name")?)?.into_owned();
        let method = match of("using").map(unquote) {
            None => IndexMethod::Fields,
            Some(Some(using)) if using == "columns" => IndexMethod::Columns,
            Some(_) => return None,
        };
        let fields = fields.collect::<Option<_>>()?;
        let definition = Self { name, method, fields, unique, conditions };
        definition.check().ok().map(|()| definition)
    }
}

/// The text of the last member of a name.
fn value_of<'a>(members: &[(Cow<'a, str>, &'a str)], name: &str) -> Option<&'a str> {
    members.iter().rfind(|(own, _)| own == name).map(|(_, value)| *value)
}

fn condition_to_json(condition: &FieldCondition) -> Value {
    let path = condition.path.iter().map(|name| shown_name(name)).collect::<Vec<_>>().join(".");
    let literal = |literal: &Literal| match literal {
        Literal::Text(text) => Value::from(text.as_str()),
        Literal::Number(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        Literal::Boolean(truth) => Value::from(*truth),
    };
    match &condition.test {
        FieldTest::Compare(comparison, value) => {
            json!({"field": path, "is": comparison.symbol(), "value": literal(value)})
        }
        FieldTest::OneOf(list) => {
            json!({"field": path, "is": "in", "value": list.iter().map(literal).collect::<Value>()})
        }
        FieldTest::Null => json!({"field": path, "is": "null"}),
        FieldTest::NotNull => json!({"field": path, "is": "not null"}),
    }
}

fn condition_from_json(json: &str) -> Option<FieldCondition> {
    let members = members(json).ok()?;
    let of = |name: &str| value_of(&members, name);
    let field = IndexField::parse(&unquote(of("field")?)?).ok()?;
    let literal = |value: &str| match value.as_bytes().first()? {
        b'"' => Some(Literal::Text(unquote(value)?.into_owned())),
        b't' | b'f' => Some(Literal::Boolean(value == "true")),
        b'-' | b'0'..=b'9' => Some(Literal::Number(value.to_owned())),
        _ => None,
    };
    let test = match &*unquote(of("is")?)? {
        "null" => FieldTest::Null,
        "not null" => FieldTest::NotNull,
        "in" => {
            let list = elements(of("value")?)?.into_iter();
            FieldTest::OneOf(list.map(literal).collect::<Option<_>>()?)
        }
        symbol => {
            let found = COMPARISONS.into_iter().find(|known| known.symbol() == symbol)?;
            FieldTest::Compare(found, literal(of("value")?)?)
        }
    };
    let is_plain = !field.elements && !field.descending;
    is_plain.then_some(FieldCondition { path: field.path, test })
}

impl fmt::Display for IndexDefinition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        if self.method == IndexMethod::Columns {
            out.write_str(" using columns")?;
        }
        if !self.fields.is_empty() {
            write!(out, " ({})", self.field_texts().join(", "))?;
        }
        out.write_str(if self.unique { " unique" } else { "" })?;
        self.condition_text().map_or(Ok(()), |text| write!(out, " where {text}"))
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
            ("a.tags[]", &["a", "tags"], false),
            ("tags[] desc", &["tags"], true),
        ] {
            let field = IndexField::parse(text).unwrap();
            assert_eq!((&field.path[..], field.descending), (&path.map_owned()[..], descending));
            assert_eq!(IndexField::parse(&field.to_string()).unwrap(), field, "{text}");
        }
        for text in
            ["", ".", "a.", ".a", "a..b", "a b", "\"a", "a desc desc", "a[0]", "a[].b", "a []"]
        {
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

    fn read_again(definition: &IndexDefinition) -> Option<IndexDefinition> {
        IndexDefinition::from_json(&definition.to_json().to_string())
    }

    #[test]
    fn definitions_survive_the_manifest() {
        let fields = ["address.city", "age desc"];
        let definition = IndexDefinition::parse("users", None, &fields, true).unwrap();
        assert_eq!(definition.name, "users_address_city_age_idx");
        assert_eq!(read_again(&definition), Some(definition.clone()));
        for json in ["{}", r#"{"name":"x","fields":[]}"#, r#"{"name":".x","fields":["a"]}"#] {
            assert_eq!(IndexDefinition::from_json(json), None);
        }
        let condition = |test| FieldCondition { path: vec!["a".into(), "B c".into()], test };
        let number = || Literal::Number("1.5".into());
        let partial = IndexDefinition {
            conditions: vec![
                condition(FieldTest::Compare(Comparison::GreaterOrEqual, number())),
                condition(FieldTest::OneOf(vec![Literal::Text("x".into()), number()])),
                condition(FieldTest::Compare(Comparison::NotEqual, Literal::Boolean(false))),
                condition(FieldTest::Null),
                condition(FieldTest::NotNull),
            ],
            ..IndexDefinition::parse("users", None, &["tags[] desc", "n"], false).unwrap()
        };
        assert_eq!(read_again(&partial), Some(partial.clone()));
        assert_eq!(
            partial.to_string(),
            "users_tags_n_idx (tags[] desc, n) where a.\"B c\" >= 1.5 AND a.\"B c\" IN ('x', 1.5) \
             AND a.\"B c\" <> false AND a.\"B c\" IS NULL AND a.\"B c\" IS NOT NULL"
        );
        for list in [r#"[{"field":"a","is":"like","value":1}]"#, r#"[{"field":"a","is":"="}]"#, "1"]
        {
            let mut json = definition.to_json();
            json["where"] = serde_json::from_str(list).unwrap();
            assert_eq!(IndexDefinition::from_json(&json.to_string()), None, "{list}");
        }
        assert!(IndexDefinition::parse::<&str>("c", None, &[], false).is_err());
        for fields in [&["a.b", "c"][..], &[]] {
            let columns = IndexDefinition::columns("c", None, fields).unwrap();
            assert_eq!(read_again(&columns), Some(columns));
        }
        assert!(IndexDefinition::columns("c", None, &["a desc"]).is_err());
        assert!(IndexDefinition::parse("c", None, &["a[]", "b[]"], false).is_err());
        let other = IndexDefinition::parse("users", None, &["age desc"], true).unwrap();
        assert_ne!(definition.fingerprint(), other.fingerprint());
    }
}
