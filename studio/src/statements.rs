//! Statements that are saved with the database.

use folio::{SavedStatement, StatementLanguage};
use serde_json::{Value, json};

use crate::failure::{Failure, text};
use crate::shared::Shared;

/// What the pages call the languages.
const LANGUAGES: [(&str, StatementLanguage); 2] =
    [("sql", StatementLanguage::Sql), ("ziql", StatementLanguage::Ziql)];

pub(crate) fn saved(shared: &Shared) -> Result<String, Failure> {
    let statements = shared.database.saved_statements()?.into_iter().map(|saved| {
        let language = LANGUAGES.iter().find(|(_, language)| *language == saved.language);
        json!({"name": saved.name, "language": language.map(|(name, _)| name), "text": saved.text})
    });
    let statements: Vec<Value> = statements.collect();
    let is_writable = shared.database.is_writable();
    Ok(json!({"statements": statements, "is_writable": is_writable}).to_string())
}

pub(crate) fn save(asked: &Value, shared: &Shared) -> Result<String, Failure> {
    let name = text(asked, "language")?;
    let (_, language) = LANGUAGES
        .into_iter()
        .find(|(own, _)| *own == name)
        .ok_or(Failure::Asked("the languages are sql and ziql"))?;
    let (name, text) = (text(asked, "name")?.to_owned(), text(asked, "text")?.to_owned());
    shared.database.save_statement(&SavedStatement { name, language, text })?;
    Ok("{}".to_owned())
}

pub(crate) fn forget(asked: &Value, shared: &Shared) -> Result<String, Failure> {
    let was_there = shared.database.remove_statement(text(asked, "name")?)?;
    Ok(json!({"was_there": was_there}).to_string())
}
