//! `folio index`: indexes of a collection, and those of tables to look at.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use folio::{Collection, IndexOptions, IndexStats, Tables};
use serde_json::json;

use crate::arguments::{Printing, Target, Targets, open_to_read};
use crate::console::Console;
use crate::failure::{EXIT_DAMAGE, Failure};
use crate::output::{print_groups, resolve};
use crate::progress::Progress;
use crate::words::plural;

/// Create, list, check and drop indexes of documents
///
/// An index on fields makes conditions on them fast, in SQL, in ZiQL and with --where. Columns, a
/// copy of the documents as Parquet files, make scans and groupings fast. Every write maintains both.
/// Indexes of tables are created and dropped by SQL; `list` shows them too.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  $ folio index add ./data -c users email --unique
  $ folio index add ./data -c users address.city 'age desc' --name by_city
  $ folio index add ./data -c users 'tags[]'
  $ folio index add ./data -c users email --where 'active = true' --name active
  $ folio index add ./data -c users --using columns
  $ folio index list ./data -c users
  $ folio index check ./data -c users by_city
  $ folio index drop ./data -c users by_city";

#[derive(Debug, Subcommand)]
enum Action {
    /// Create an index
    ///
    /// After an interruption the same command continues.
    Add {
        #[command(flatten)]
        target: Target,

        /// The fields: dotted paths, each perhaps with '[]' after it, for the elements of a list, and
        /// with ' desc'. Columns are of all fields if none are named
        #[arg(value_name = "FIELD", required_unless_present = "using")]
        fields: Vec<String>,

        /// What kind of index it is
        #[arg(long, value_name = "KIND", value_parser = ["fields", "columns"])]
        using: Option<String>,

        /// Refuse documents whose values another document has
        #[arg(long)]
        unique: bool,

        /// Only documents that meet this condition: comparisons of fields with literals
        #[arg(long = "where", value_name = "CONDITION")]
        condition: Option<String>,

        /// The name; by default one after the collection and the fields
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Print the indexes with their sizes
    ///
    /// -c names a table too. By default those of all collections and tables are printed.
    List {
        #[command(flatten)]
        targets: Targets,

        #[command(flatten)]
        printing: Printing,
    },
    /// Compare an index, or all, with the documents; the exit code is 3 if they differ
    Check {
        #[command(flatten)]
        target: Target,

        /// The index; by default all
        #[arg(value_name = "INDEX")]
        name: Option<String>,
    },
    /// Drop an index
    Drop {
        #[command(flatten)]
        target: Target,

        /// The index
        #[arg(value_name = "INDEX")]
        name: String,
    },
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    match &arguments.action {
        Action::Add { target, fields, using, unique, condition, name } => {
            let (database, collection) = target.open_to_change()?;
            let options = IndexOptions {
                name: name.clone(),
                unique: *unique,
                condition: condition.clone(),
                ..IndexOptions::default()
            };
            let options = options.using(using.as_deref().unwrap_or("fields"))?;
            let progress = Progress::begin(console, "indexing");
            let report = &mut |done, total| progress.report(done, total);
            let name = collection.create_index(fields, &options, report)?;
            console.print_notices(&collection);
            console.confirm(&format!("created index {name}"))?;
            database.close()?;
        }
        Action::List { targets, printing } => list(targets, printing, console)?,
        Action::Check { target, name } => return check(target, name.as_deref(), console),
        Action::Drop { target, name } => {
            let (database, collection) = target.open_to_change()?;
            collection.drop_index(name)?;
            console.confirm(&format!("dropped index {name}"))?;
            database.close()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(targets: &Targets, printing: &Printing, console: &Console) -> Result<(), Failure> {
    let database = open_to_read(&targets.database)?;
    let tables = database.tables()?;
    let collections = database.collections()?;
    let is_wanted = |name: &str| targets.collection.as_ref().is_none_or(|wanted| wanted == name);
    let (mut groups, mut is_found) = ([Vec::new(), Vec::new()], targets.collection.is_none());
    for name in collections.iter().filter(|name| is_wanted(name)) {
        let collection = database.collection(name)?;
        groups[0].extend(described(&collection)?);
        console.print_notices(&collection);
        is_found = true;
    }
    for table in tables.list()?.iter().filter(|table| is_wanted(&table.name)) {
        groups[1].extend(described_of_table(&tables, &table.name)?);
        is_found = true;
    }
    if !is_found {
        // The error names what is near.
        let name = targets.collection.as_deref().unwrap_or_default();
        groups[0].extend(described(&database.collection(name)?)?);
    }
    print_groups(groups.to_vec(), resolve(printing.format(), console), console)
}

/// One object per index of a collection.
pub(crate) fn described(collection: &Collection) -> Result<Vec<String>, Failure> {
    let indexes = collection.indexes()?;
    Ok(indexes.iter().map(|index| object("collection", collection.name(), index)).collect())
}

/// One object per index of a table.
pub(crate) fn described_of_table(tables: &Tables, name: &str) -> Result<Vec<String>, Failure> {
    Ok(tables.indexes(name)?.iter().map(|index| object("table", name, index)).collect())
}

fn object(kind: &str, name: &str, index: &IndexStats) -> String {
    let object = json!({
        kind: name,
        "index": index.definition.name,
        "using": index.definition.method.name(),
        "fields": index.definition.field_texts().join(", "),
        "unique": index.definition.unique,
        "condition": index.definition.condition_text(),
        "entry_count": index.entry_count,
        "size": index.size,
        "is_ready": index.is_ready,
    });
    object.to_string()
}

fn check(target: &Target, name: Option<&str>, console: &Console) -> Result<ExitCode, Failure> {
    let collection = target.open_to_read()?;
    let names: Vec<String> = match name {
        Some(name) => vec![name.to_owned()],
        None => collection.indexes()?.into_iter().map(|index| index.definition.name).collect(),
    };
    let mut is_clean = true;
    for name in names {
        let check = collection.check_index(&name)?;
        is_clean &= check.problems.is_empty();
        let state = match (check.is_behind, check.problems.len() as u64) {
            (true, _) => "does not fit the data; the next write builds it again".to_owned(),
            (false, 0) => match check.entry_count {
                1 => "1 entry, no problems".to_owned(),
                count => format!("{count} entries, no problems"),
            },
            (false, count) => plural(count, "problem"),
        };
        console.print(&format!("{name}: {state}"))?;
        for problem in &check.problems {
            console.print(&format!("  {problem}"))?;
        }
    }
    console.print_notices(&collection);
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::from(EXIT_DAMAGE) })
}
