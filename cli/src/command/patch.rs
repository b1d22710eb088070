//! `folio patch`: changes parts of a document.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use super::get::no_document;
use super::put::DocumentText;
use crate::arguments::Target;
use crate::console::Console;
use crate::failure::Failure;

/// Change some fields of a document
///
/// The patch is a JSON merge patch (RFC 7396): its fields replace those of the
/// document, objects merge, and null removes a field.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,

    /// The id
    #[arg(value_name = "ID")]
    id: String,

    #[command(flatten)]
    patch: DocumentText,
}

const EXAMPLES: &str = "\
Examples:
  $ folio patch ./data -c users user_001 --data '{\"age\": 31}'
  $ folio patch ./data -c users user_001 --data '{\"age\": null}'";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let text = arguments.patch.read(console)?;
    let patch: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::Incomplete(format!("the patch is not valid JSON: {error}")))?;
    if !patch.is_object() {
        let text = "the patch is not a JSON object; give the fields to change, as in {\"age\": 31}";
        return Err(Failure::Incomplete(text.to_owned()));
    }
    let (database, collection) = arguments.target.open_to_change()?;
    let patched = collection.patch(&arguments.id, &patch)?;
    console.print_notices(&collection);
    if patched.is_none() {
        return Err(no_document(&collection, &arguments.id));
    }
    database.close()?;
    console.confirm(&format!("patched {}", arguments.id))?;
    Ok(ExitCode::SUCCESS)
}
