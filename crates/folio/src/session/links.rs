//! Which rows belong to which: references that tables declare, and ids of documents that other
//! documents have.
//!
//! Documents declare nothing. A path whose examples, as the types know them, are all ids of a
//! collection is taken for a link to it: a surface shows it as such, and nothing depends on it.

use folio_types::check_document_id;

use super::{RelationKind, window};
use crate::collection::Collection;
use crate::database::Database;
use crate::error::Result;

/// A link from rows of one relation to rows of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationLink {
    /// The relation whose rows link.
    pub from: String,
    /// The relation that they link to.
    pub to: String,
    /// Paths of `from`, and the columns of `to` that have the same values.
    pub columns: Vec<(String, String)>,
    /// Whether a table declares it. Otherwise examples suggest it.
    pub is_declared: bool,
}

impl Database {
    /// All links, by the names of their relations. Those of documents are found by a few look-ups
    /// for each path: they are links as far as examples show.
    ///
    /// # Errors
    /// Errors of the stores; the first call reads documents whose types are not known yet.
    pub fn links(&self) -> Result<Vec<RelationLink>> {
        let mut session = self.session()?;
        let mut found = Vec::new();
        for table in session.tables_and_views()? {
            for reference in &table.constraints.references {
                let pairs = reference.columns.iter().map(|name| window::column_path(name));
                found.push(RelationLink {
                    from: table.schema.name.clone(),
                    to: reference.table.clone(),
                    columns: pairs.zip(reference.target.iter().cloned()).collect(),
                    is_declared: true,
                });
            }
        }
        let relations = session.relations()?;
        let names = relations.iter().filter(|other| other.kind == RelationKind::Collection);
        let collections: Vec<Collection> =
            names.map(|other| self.existing_collection(&other.name)).collect::<Result<_>>()?;
        for from in &collections {
            found.extend(links_of(from, &collections)?);
        }
        found.sort_by(|one, other| (&one.from, &one.columns).cmp(&(&other.from, &other.columns)));
        Ok(found)
    }
}

fn links_of(from: &Collection, collections: &[Collection]) -> Result<Vec<RelationLink>> {
    let mut found = Vec::new();
    for field in from.fields()? {
        let is_testable =
            window::steps(field.path.strip_suffix("[]").unwrap_or(&field.path)).is_some();
        if field.type_name != "text" || field.path == "_id" || !is_testable {
            continue;
        }
        let examples: Option<Vec<String>> =
            field.examples.iter().map(|example| id_of(example)).collect();
        let Some(examples) = examples.filter(|examples| !examples.is_empty()) else { continue };
        for to in collections {
            if has_all(to, &examples)? {
                found.push(RelationLink {
                    from: from.name().to_owned(),
                    to: to.name().to_owned(),
                    columns: vec![(field.path.clone(), "_id".to_owned())],
                    is_declared: false,
                });
            }
        }
    }
    Ok(found)
}

fn has_all(collection: &Collection, ids: &[String]) -> Result<bool> {
    for id in ids {
        if !collection.exists(id)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The id that a text of JSON may be. The example of a long text is cut, and none.
fn id_of(example: &str) -> Option<String> {
    let text: String = serde_json::from_str(example).ok()?;
    (!text.ends_with('…') && check_document_id(&text).is_ok()).then_some(text)
}
