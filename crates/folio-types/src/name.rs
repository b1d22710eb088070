//! Rules for document ids and collection names.
//!
//! Both may become file names (`docs/<id>.json`, `collections/<name>/`), so one rule serves both,
//! and no accepted name can leave its folder: 1 to 255 bytes; Unicode letters and digits plus `_`,
//! `-` and `.`; no leading dot; no `..`.

use thiserror::Error;

/// The longest id or collection name, in bytes of UTF-8.
pub const MAX_NAME_SIZE: usize = 255;

/// Why an id or a collection name was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// The name has no characters.
    #[error("{kind} is empty; give it at least one character")]
    Empty {
        /// `document id`, `collection name` or `statement name`.
        kind: &'static str,
    },
    /// The name is longer than [`MAX_NAME_SIZE`].
    #[error("{kind} is {size} bytes long; at most {MAX_NAME_SIZE} are allowed")]
    TooLong {
        /// `document id`, `collection name` or `statement name`.
        kind: &'static str,
        /// Its size in bytes.
        size: usize,
    },
    /// The name starts with a dot or has two in a row.
    #[error("{kind} {name:?} may not start with a dot or contain \"..\"")]
    Dots {
        /// `document id`, `collection name` or `statement name`.
        kind: &'static str,
        /// The rejected name.
        name: String,
    },
    /// The name has a character outside the allowed set.
    #[error("{kind} {name:?} contains {character:?}; use letters, digits, \"_\", \"-\" and \".\"")]
    Character {
        /// `document id`, `collection name` or `statement name`.
        kind: &'static str,
        /// The rejected name.
        name: String,
        /// The first character that is not allowed.
        character: char,
    },
}

/// Checks a document id.
///
/// # Errors
/// A [`NameError`] with the rule that the id breaks.
#[inline]
pub fn check_document_id(id: &str) -> Result<(), NameError> {
    check("document id", id)
}

/// Checks a collection name by the same rule as ids.
///
/// # Errors
/// A [`NameError`] with the rule that the name breaks.
pub fn check_collection_name(name: &str) -> Result<(), NameError> {
    check("collection name", name)
}

/// Checks the name of a saved statement, which is that of a file too.
///
/// # Errors
/// As [`check_collection_name`].
pub fn check_statement_name(name: &str) -> Result<(), NameError> {
    check("statement name", name)
}

#[inline]
fn check(kind: &'static str, name: &str) -> Result<(), NameError> {
    let bytes = name.as_bytes();
    let plain = bytes.iter().all(|&byte| PLAIN[usize::from(byte)]);
    if plain && !bytes.is_empty() && bytes.len() <= MAX_NAME_SIZE {
        return Ok(()); // ASCII letters, digits, "_" and "-": nothing more to ask
    }
    check_slowly(kind, name)
}

#[cold]
fn check_slowly(kind: &'static str, name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty { kind });
    }
    if name.len() > MAX_NAME_SIZE {
        return Err(NameError::TooLong { kind, size: name.len() });
    }
    if name.starts_with('.') || name.contains("..") {
        return Err(NameError::Dots { kind, name: name.to_owned() });
    }
    match name.chars().find(|&c| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))) {
        Some(character) => Err(NameError::Character { kind, name: name.to_owned(), character }),
        None => Ok(()),
    }
}

/// Bytes that are allowed at any position.
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'-');
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_what_people_use() {
        for id in ["u1", "user_001", "a.b", "größe", "日本", "x-1.json", &"a".repeat(255)] {
            assert_eq!(check_document_id(id), Ok(()), "{id}");
        }
    }

    #[test]
    fn refuses_what_could_leave_the_folder() {
        for id in
            ["", ".", "..", ".hidden", "a..b", "../../evil", "a/b", "a\\b", "a b", "a\0", "a\n"]
        {
            assert!(check_document_id(id).is_err(), "{id:?}");
        }
        assert!(check_document_id(&"a".repeat(256)).is_err());
        assert!(check_document_id(&"ä".repeat(128)).is_err());
    }
}
