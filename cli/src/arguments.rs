//! The arguments that commands share.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use folio::{Collection, CollectionOptions, Database, Layout, OpenOptions, Session, Strict};

use crate::console::Console;
use crate::failure::Failure;
use crate::output::Format;

/// A database and one of its collections.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The database: a directory, or a .zds archive to read from
    #[arg(value_name = "DATABASE")]
    pub(crate) database: PathBuf,

    /// The collection; optional if the database has exactly one
    #[arg(short, long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
}

impl Target {
    /// Opens the collection to read from it.
    pub(crate) fn open_to_read(&self) -> Result<Collection, Failure> {
        let database = open_to_read(&self.database)?;
        let name = self.name(&database)?;
        Ok(database.collection(&name)?)
    }

    /// Opens the collection to write to it; what is missing is created.
    pub(crate) fn open_to_write(
        &self,
        new: &NewCollection,
    ) -> Result<(Database, Collection), Failure> {
        let database = Database::open(&self.database)?;
        let name = self.name(&database)?;
        let collection = database.collection_with(&name, &new.options())?;
        Ok((database, collection))
    }

    /// Opens the collection, which must be there, to change it.
    pub(crate) fn open_to_change(&self) -> Result<(Database, Collection), Failure> {
        let database = open_to_change(&self.database)?;
        let name = self.name(&database)?;
        let collection = database.existing_collection(&name)?;
        Ok((database, collection))
    }

    fn name(&self, database: &Database) -> Result<String, Failure> {
        if let Some(name) = &self.collection {
            return Ok(name.clone());
        }
        let mut names = database.collections()?;
        match names.len() {
            1 => Ok(names.remove(0)),
            0 => Err(Failure::Usage("name the collection with -c".to_owned())),
            _ => Err(Failure::Usage(format!("name the collection with -c: {}", names.join(", ")))),
        }
    }
}

/// A database, and one or all of its collections.
#[derive(Debug, Args)]
pub(crate) struct Targets {
    /// The database: a directory, or a .zds archive to read from
    #[arg(value_name = "DATABASE")]
    pub(crate) database: PathBuf,

    /// Only this collection; by default all of them
    #[arg(short, long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
}

impl Targets {
    /// The names meant, which need not exist when one was given.
    pub(crate) fn names(&self, database: &Database) -> Result<Vec<String>, Failure> {
        match &self.collection {
            Some(name) => Ok(vec![name.clone()]),
            None => Ok(database.collections()?),
        }
    }
}

/// What a collection is to be if it is created now.
#[derive(Debug, Args)]
pub(crate) struct NewCollection {
    /// Require every document to have the fields and types of the first
    #[arg(long)]
    strict: bool,

    /// How a new collection stores documents: as lines of one file, or one file each
    #[arg(long, value_enum, default_value_t = LayoutName::Lines)]
    layout: LayoutName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LayoutName {
    Lines,
    Files,
}

impl NewCollection {
    fn options(&self) -> CollectionOptions {
        CollectionOptions {
            layout: match self.layout {
                LayoutName::Lines => Layout::Lines,
                LayoutName::Files => Layout::Files,
            },
            strict: if self.strict { Strict::FirstDocument } else { Strict::AsStored },
        }
    }
}

/// What a statement may use.
#[derive(Debug, Args)]
pub(crate) struct Limits {
    /// Stop a statement that takes longer: 500ms, 5s, 2min
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,

    /// Stop a statement that uses more memory: 512MB, 2GB
    #[arg(long, value_name = "SIZE")]
    memory_limit: Option<String>,
}

impl Limits {
    /// Sets them for the statements of a session.
    pub(crate) fn set(&self, session: &mut Session) -> Result<(), Failure> {
        let given = [
            ("--timeout", "statement_timeout", &self.timeout, "a time with its unit, such as 5s"),
            ("--memory-limit", "memory_limit", &self.memory_limit, "a size, such as 2GB"),
        ];
        for (flag, setting, text, wanted) in given {
            let Some(text) = text else { continue };
            // A number alone is milliseconds in SQL, and would be taken for seconds here.
            let is_bare = flag == "--timeout" && text.parse::<u64>().is_ok_and(|time| time > 0);
            let statement = format!("SET {setting} TO '{}'", text.replace('\'', "''"));
            if is_bare || session.execute(&statement, &[]).is_err() {
                return Err(Failure::Usage(format!("{flag} is {wanted}, not {text:?}")));
            }
        }
        Ok(())
    }
}

/// How documents are printed.
#[derive(Debug, Args)]
pub(crate) struct Printing {
    /// The output format: by default a table on a terminal, otherwise JSON Lines
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Format>,

    /// Print JSON Lines, as -o jsonl does
    #[arg(long, conflicts_with_all = ["output", "json"])]
    jsonl: bool,

    /// Print one JSON array, as -o json does
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

impl Printing {
    /// The format asked for, if any was.
    pub(crate) fn format(&self) -> Option<Format> {
        match (self.jsonl, self.json) {
            (true, _) => Some(Format::Jsonl),
            (_, true) => Some(Format::Json),
            _ => self.output,
        }
    }
}

/// The arguments as the parser takes them. Statements that begin with a comment (`-- all users`)
/// get a leading space, since no option begins like that.
pub(crate) fn spaced(arguments: &[OsString]) -> impl Iterator<Item = OsString> {
    arguments.iter().map(|argument| match argument.to_str() {
        Some(text) if is_comment(text) => format!(" {text}").into(),
        _ => argument.clone(),
    })
}

/// Whether there is a space where the name of an option would be.
fn is_comment(text: &str) -> bool {
    let name = text.strip_prefix("--").and_then(|rest| rest.split('=').next());
    name.is_some_and(|name| name.contains(char::is_whitespace))
}

/// A number of documents, from the shell.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "give a whole number, such as 10".to_owned())
}

/// Opens a database without changing anything.
pub(crate) fn open_to_read(path: &PathBuf) -> Result<Database, Failure> {
    Ok(Database::open_with(path, &OpenOptions::read_only())?)
}

/// Opens a database; where nothing is yet, an empty one is created.
pub(crate) fn open_or_create(path: &PathBuf, console: &Console) -> Result<Database, Failure> {
    let is_missing = !path.exists();
    let database = Database::open(path)?;
    if is_missing {
        database.create()?;
        console.note(&format!("created database {}", path.display()));
    }
    Ok(database)
}

/// Opens a database that must be there, to change it.
pub(crate) fn open_to_change(path: &PathBuf) -> Result<Database, Failure> {
    Ok(Database::open_with(path, &OpenOptions { create: false, ..OpenOptions::default() })?)
}

/// Takes the names of file formats.
pub(crate) fn format_named(
    names: &'static [&'static str],
) -> impl TypedValueParser<Value = folio::format::Format> {
    PossibleValuesParser::new(names).try_map(|name| folio::format::Format::named(&name))
}
