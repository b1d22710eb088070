//! `folio ziql`: the entity language.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use folio::Value;

use super::sql::watch;
use crate::arguments::{Printing, open_or_create};
use crate::console::Console;
use crate::failure::Failure;
use crate::{output, text};

/// Run ZiQL: grab, add, update and delete entities
///
/// All chains are run in order, each whole or not at all; the answer of the last
/// statement is printed, on a terminal as a table, else as JSON Lines. The database
/// is created when it is missing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a directory, or a .zds archive to read from
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The statements, separated by semicolons; standard input when left out
    #[arg(value_name = "ZIQL")]
    statements: Option<String>,

    /// A parameter, `$name` in the statements: a JSON value, or else a string
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    parameters: Vec<String>,

    #[command(flatten)]
    printing: Printing,
}

const EXAMPLES: &str = "\
Examples:
  $ folio schema apply ./data schema.zq
  $ folio ziql ./data \"ADD User (name = 'Ann', age = 34) ('Bob', 20)\"
  $ folio ziql ./data \"GRAB User [10; name, posts [3; title] |DESC at|] {age > 30} |name|\"
  $ folio ziql ./data 'GRAB User {name = $who}' -p who=Ann -o json";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let text = match &arguments.statements {
        Some(text) => text.clone(),
        None => text::of_input()?,
    };
    let parameters = arguments.parameters.iter().map(|given| parameter(given));
    let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
    for (index, (name, _)) in parameters.iter().enumerate() {
        if parameters[..index].iter().any(|(earlier, _)| earlier == name) {
            return Err(Failure::Usage(format!("parameter {name:?} is given twice")));
        }
    }
    let database = open_or_create(&arguments.database, console)?;
    let mut session = database.session()?;
    watch(session.interrupt());
    let rows = session.ziql(&text, &parameters)?;
    let format = output::resolve(arguments.printing.format(), console);
    output::print_rows_of_query(rows, format, console)?;
    database.close()?;
    Ok(ExitCode::SUCCESS)
}

/// `name=value`
fn parameter(given: &str) -> Result<(&str, Value), Failure> {
    let Some((name, text)) = given.split_once('=') else {
        let error = format!("parameter {given:?} has no value; write NAME=VALUE");
        return Err(Failure::Usage(error));
    };
    let value = serde_json::from_str(text).ok().and_then(|json| value_of(&json));
    Ok((name, value.unwrap_or_else(|| Value::Text(text.to_owned()))))
}

fn value_of(json: &serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;
    Some(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => match number.as_i64() {
            Some(value) => Value::Integer(value),
            None => Value::Float(number.as_f64()?),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(value_of).collect::<Option<_>>()?),
        Json::Object(_) => return None,
    })
}
