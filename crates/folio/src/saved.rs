//! Statements that are saved with a database, each a file that people can read, edit and add:
//! `studio/<name>.sql` or `studio/<name>.zq`. The newest file of a name counts.

use std::io;
use std::path::PathBuf;

use folio_types::check_statement_name;

use crate::database::Database;
use crate::error::{Error, Result};
use crate::write::{AtomicFile, create_directory, read_small};

/// The folder, in the database's.
const FOLDER: &str = "studio";

/// A larger file is no statement.
const SIZE_MAX: u64 = 1 << 20;

/// The language of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatementLanguage {
    /// SQL.
    Sql,
    /// ZiQL.
    Ziql,
}

impl StatementLanguage {
    const ALL: [Self; 2] = [Self::Sql, Self::Ziql];

    /// The ending of its files.
    fn ending(self) -> &'static str {
        match self {
            Self::Sql => ".sql",
            Self::Ziql => ".zq",
        }
    }
}

/// A statement that is saved with a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedStatement {
    /// Its name.
    pub name: String,
    /// Its language.
    pub language: StatementLanguage,
    /// Its text.
    pub text: String,
}

impl Database {
    /// The statements saved with the database, by name.
    ///
    /// # Errors
    /// `closed`, `io`.
    pub fn saved_statements(&self) -> Result<Vec<SavedStatement>> {
        self.handle().check_open()?;
        let (files, folder) = (&self.handle().store.files, self.statements_folder());
        let entries = match files.read_directory(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("read", &folder)(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let Some((name, language)) = named(&entry.name) else { continue };
            let path = folder.join(&entry.name);
            let bytes = read_small(&**files, &path, SIZE_MAX)?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            found.push(SavedStatement { name: name.to_owned(), language, text });
        }
        found.sort_by(|one, other| (&one.name, one.language).cmp(&(&other.name, other.language)));
        Ok(found)
    }

    /// Saves a statement, in place of one of the same name.
    ///
    /// # Errors
    /// `invalid_input` for a name that no collection could have; `read_only`, `locked`, `io`.
    pub fn save_statement(&self, statement: &SavedStatement) -> Result<()> {
        let SavedStatement { name, language, text } = statement;
        check_statement_name(name)?;
        self.handle().check_writable()?;
        let store = &self.handle().store;
        let folder = self.statements_folder();
        create_directory(&*store.files, &folder)?;
        let path = folder.join(format!("{name}{}", language.ending()));
        AtomicFile::write_whole(&store.files, &path, text.as_bytes())?;
        self.remove(name, |other| other != *language)?;
        Ok(())
    }

    /// Removes a saved statement. Returns whether there was one.
    ///
    /// # Errors
    /// As [`Database::save_statement`].
    pub fn remove_statement(&self, name: &str) -> Result<bool> {
        check_statement_name(name)?;
        self.handle().check_writable()?;
        self.remove(name, |_| true)
    }

    fn remove(&self, name: &str, which: impl Fn(StatementLanguage) -> bool) -> Result<bool> {
        let mut was_there = false;
        for language in StatementLanguage::ALL.into_iter().filter(|language| which(*language)) {
            let path = self.statements_folder().join(format!("{name}{}", language.ending()));
            match self.handle().store.files.remove_file(&path) {
                Ok(()) => was_there = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("remove", &path)(error)),
            }
        }
        Ok(was_there)
    }

    fn statements_folder(&self) -> PathBuf {
        self.handle().store.root.join(FOLDER)
    }
}

/// The name and the language of a file.
fn named(file: &str) -> Option<(&str, StatementLanguage)> {
    StatementLanguage::ALL.into_iter().find_map(|language| {
        let name = file.strip_suffix(language.ending())?;
        check_statement_name(name).is_ok().then_some((name, language))
    })
}
