//! The types of a collection as source text: interfaces of TypeScript, typed dictionaries or pydantic
//! models of Python.
//!
//! ```text
//! tree → declarations (`declare`): a name for each object, its members with the kinds of their values
//!      → typescript, python: the text
//! ```
//!
//! A member that some objects lack is optional, one that has nulls takes null, and one with values of
//! several kinds is a union. The types describe the documents there are: nothing checks them for
//! those to come.

mod declare;
mod python;
mod typescript;

use folio_json::Tree;

use declare::declarations;

/// A language that types are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeLanguage {
    /// Interfaces of TypeScript.
    TypeScript,
    /// Classes of Python that derive from `TypedDict`.
    TypedDict,
    /// Models of the Python package pydantic.
    Pydantic,
}

/// The types of the documents of a collection.
pub(crate) fn source(types: &Tree, collection: &str, language: TypeLanguage) -> String {
    let declared = declarations(types, collection);
    match language {
        TypeLanguage::TypeScript => typescript::write(&declared, collection),
        TypeLanguage::TypedDict => python::write_dictionaries(&declared, collection),
        TypeLanguage::Pydantic => python::write_models(&declared, collection),
    }
}

#[cfg(test)]
mod tests;
