//! `folio put`: stores one document.

use std::io::{self, IsTerminal, Read};
use std::process::ExitCode;

use clap::Args;
use folio::Put;
use folio::json::{find, unquote};

use crate::arguments::{NewCollection, Target};
use crate::console::Console;
use crate::failure::Failure;

/// Store a document, replacing the one with the same id
///
/// The document is JSON text from --data or from standard input. The order of its fields and the
/// digits of its numbers are preserved.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,

    /// The id; optional if the document has an "_id"
    #[arg(value_name = "ID")]
    id: Option<String>,

    #[command(flatten)]
    document: DocumentText,

    #[command(flatten)]
    new: NewCollection,
}

/// JSON text on the command line or from standard input.
#[derive(Debug, Args)]
pub(crate) struct DocumentText {
    /// The JSON text; by default standard input
    #[arg(short, long, value_name = "JSON")]
    data: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  $ folio put ./data -c users user_001 --data '{\"name\": \"Alice\"}'
  $ echo '{\"_id\": \"user_002\", \"name\": \"Bob\"}' | folio put ./data -c users";

impl DocumentText {
    /// The given text, or all of standard input.
    pub(crate) fn read(&self, console: &Console) -> Result<String, Failure> {
        if let Some(text) = &self.data {
            return Ok(text.clone());
        }
        if io::stdin().is_terminal() {
            console.note("reading JSON from the terminal; end with Ctrl-D, or use --data");
        }
        let mut bytes = Vec::new();
        io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::Incomplete(format!("cannot read standard input: {error}")))?;
        String::from_utf8(bytes).map_err(|_| {
            Failure::Incomplete("standard input is not UTF-8; convert it first".to_owned())
        })
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let json = arguments.document.read(console)?;
    let id = match &arguments.id {
        Some(id) => id.clone(),
        None => carried_id(&json)?,
    };
    let (database, collection) = arguments.target.open_to_write(&arguments.new)?;
    let put = collection.put_raw(&id, &json)?;
    console.print_notices(&collection);
    database.close()?;
    let what = match put {
        Put::Inserted => "inserted",
        Put::Replaced => "replaced",
    };
    console.confirm(&format!("{what} {id}"))?;
    Ok(ExitCode::SUCCESS)
}

fn carried_id(json: &str) -> Result<String, Failure> {
    let id = find(json, "_id").ok().flatten().and_then(unquote);
    id.map(std::borrow::Cow::into_owned).ok_or_else(|| {
        Failure::Usage("give the id, or a JSON object that contains it as \"_id\"".to_owned())
    })
}
