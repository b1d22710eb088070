//! `folio ion`: reads Amazon Ion files, without a database.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use folio::ion::{Form, check, convert, convert_json};

use super::import::open_source;
use crate::console::Console;
use crate::failure::{EXIT_DAMAGE, Failure};
use crate::output::raw_stdout;
use crate::words::plural;

/// Print, check and convert Amazon Ion files
///
/// Reads text and binary, plain or compressed with gzip or zstd; "-" is standard input.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the values as Ion text, one per line
    Cat {
        file: PathBuf,
        /// Indent
        #[arg(long)]
        pretty: bool,
    },
    /// Print the values as JSON Lines
    ///
    /// Numbers keep their digits. Symbols, timestamps and blobs (base64) become
    /// text, "nan" and infinities null; annotations are left out.
    ToJson { file: PathBuf },
    /// Write JSON as Ion
    ///
    /// Integers become int, numbers with a point decimal, with an exponent float if it
    /// has the same digits, else decimal.
    FromJson {
        file: PathBuf,
        /// Write binary Ion, as to a file named .10n
        #[arg(long)]
        binary: bool,
        /// The file to write; by default standard output
        #[arg(short = 'O', long = "to", value_name = "PATH")]
        target: Option<PathBuf>,
        /// As --to: how older versions had it
        #[arg(short, long, value_name = "PATH", hide = true, conflicts_with = "target")]
        output: Option<PathBuf>,
    },
    /// Read every value, and report where a file is not valid Ion
    ///
    /// The exit code is 3 if a file is invalid.
    Check {
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

const EXAMPLES: &str = "\
Examples:
  $ folio ion from-json flights.json --binary --to flights.10n
  $ folio ion cat flights.10n
  $ folio ion cat --pretty flights.10n
  $ folio ion to-json flights.10n > flights.jsonl
  $ folio ion check flights.10n flights.jsonl
  $ folio export ./data -c users -f ion | folio ion cat --pretty -";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    match &arguments.action {
        Action::Cat { file, pretty } => {
            print(file, if *pretty { Form::Pretty } else { Form::Text })?;
        }
        Action::ToJson { file } => print(file, Form::Json)?,
        Action::FromJson { file, binary, target, output } => {
            let target = target.as_ref().or(output.as_ref());
            let ending = target.and_then(|path| path.extension());
            let is_binary = *binary || ending.is_some_and(|ending| ending == "10n");
            match target {
                None => drop(convert_json(open_source(file, None)?, &mut raw_stdout(), is_binary)?),
                Some(target) => write(file, target, is_binary, console)?,
            }
        }
        Action::Check { files } => return check_all(files, console),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(file: &Path, form: Form) -> Result<(), Failure> {
    convert(open_source(file, None)?, &mut raw_stdout(), form)?;
    Ok(())
}

/// Writes to a temporary file first, so that a broken input file replaces nothing.
fn write(file: &Path, output: &Path, is_binary: bool, console: &Console) -> Result<(), Failure> {
    let source = open_source(file, None)?;
    let mut partial = output.as_os_str().to_owned();
    partial.push(format!(".partial-{}", std::process::id()));
    let partial = PathBuf::from(partial);
    let written = fs::File::create(&partial)
        .map_err(|source| failed("create", output, source))
        .and_then(|target| {
            let mut target = BufWriter::new(target);
            let count = convert_json(source, &mut target, is_binary)?;
            target.flush()?;
            fs::rename(&partial, output).map_err(|source| failed("write", output, source))?;
            Ok(count)
        });
    if written.is_err() {
        // The error that led here matters more than this one.
        let _ = fs::remove_file(&partial);
    }
    let count = plural(written?, "value");
    Ok(console.confirm(&format!("wrote {count} to {}", output.display()))?)
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> Failure {
    Failure::Database(folio::Error::Io { action, path: path.to_owned(), source })
}

fn check_all(files: &[PathBuf], console: &Console) -> Result<ExitCode, Failure> {
    let mut code = ExitCode::SUCCESS;
    for file in files {
        match check(open_source(file, None)?) {
            Ok(report) => {
                let form = if report.is_binary { "binary" } else { "text" };
                let count = plural(report.value_count, "value");
                console.confirm(&format!("{}: ok, {count}, {form}", file.display()))?;
            }
            Err(error @ folio::Error::Ion { .. }) => {
                console.print(&error.to_string())?;
                code = ExitCode::from(EXIT_DAMAGE);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(code)
}
