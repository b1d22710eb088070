//! `folio export`: writes documents to a file.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use folio::export::{ExportOptions, Format, export, write};

use crate::arguments::{Target, count, format_named};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::raw_stdout;
use crate::progress::Progress;
use crate::words::plural;

/// Write a collection to a file
///
/// The extension of the file selects its format: .jsonl, .json, .csv, .tsv, .ion, .10n (binary
/// Ion), .parquet or .arrow, each also with .gz or .zst. It appears under its name once it is
/// complete. Without --to the documents go to standard output, as JSON Lines.
///
/// In CSV and TSV, columns are the top-level fields in order of first appearance, or
/// those of --fields; objects and arrays are JSON text, and null is an empty cell. In
/// Parquet and Arrow, each column has a type that holds all its values, objects and arrays
/// included; what has no such type is JSON text. A fraction there is a double: it is rounded if
/// it has more digits than a double holds, about 16. The other formats have all digits.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,

    /// The format, if the name of the file does not select it; zds is a directory
    #[arg(short, long, value_name = "FORMAT", value_parser = format_named(&Format::NAMES))]
    format: Option<Format>,

    /// The file to write, or the directory for zds
    #[arg(short = 'O', long = "to", value_name = "PATH")]
    target_path: Option<PathBuf>,

    /// The format, as -o is everywhere; else the file, as older versions had it
    #[arg(short, long, value_name = "FORMAT", hide = true)]
    output: Option<PathBuf>,

    /// Only these fields, as dotted paths; "_id" always comes first
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    fields: Vec<String>,

    /// Only documents that meet this SQL condition
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,

    /// The maximum number of documents
    #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true)]
    limit: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  $ folio export ./data -c train --to train.jsonl
  $ folio export ./data -c train -O train.csv.gz
  $ folio export ./data -c train -O train.parquet
  $ folio export ./data -c users --fields name,address.city -O users.csv
  $ folio export ./data -c users --format zds -O ./users
  $ folio export ./data -c train | gzip > train.jsonl.gz";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let (format, path) = arguments.written()?;
    let options = ExportOptions {
        format,
        fields: arguments.fields.clone(),
        limit: arguments.limit,
        condition: arguments.condition.clone(),
        ..ExportOptions::default()
    };
    let Some(path) = path else {
        if format == Some(Format::Zds) {
            return Err(Failure::Usage("name the directory to export to with --to".to_owned()));
        }
        let collection = arguments.target.open_to_read()?;
        console.print_notices(&collection);
        write(&collection, &mut raw_stdout(), &options, &mut |_, _| true)?;
        console.print_notices(&collection); // of files that are no documents
        return Ok(ExitCode::SUCCESS);
    };
    let collection = arguments.target.open_to_read()?;
    console.print_notices(&collection);
    if is_device(path) && format != Some(Format::Zds) {
        let mut device = OpenOptions::new().write(true).open(path)?;
        write(&collection, &mut device, &options, &mut |_, _| true)?;
        console.print_notices(&collection);
        return Ok(ExitCode::SUCCESS);
    }
    let progress = Progress::begin(console, "exporting");
    let report =
        export(&collection, path, &options, &mut |done, total| progress.report(done, total))?;
    drop(progress);
    console.print_notices(&collection);
    console.confirm(&format!(
        "exported {} to {}",
        plural(report.document_count, "document"),
        path.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    /// The format and the file. The value of -o is a format if it names one and no other is given.
    /// Otherwise it is the file, its meaning before --to existed.
    fn written(&self) -> Result<(Option<Format>, Option<&Path>), Failure> {
        let (format, path) = (self.format, self.target_path.as_deref());
        let Some(output) = self.output.as_deref() else { return Ok((format, path)) };
        let named = output.to_str().and_then(|name| Format::named(name).ok());
        match (named, format, path) {
            (Some(named), None, path) => Ok((Some(named), path)),
            (_, format, None) => Ok((format, Some(output))),
            (Some(_), Some(_), Some(_)) => {
                Err(Failure::Usage("-o and --format both name a format; give one".to_owned()))
            }
            (None, _, Some(_)) => Err(Failure::Usage(format!(
                "{output:?} is not a format, and --to already names the file; the formats are {}",
                Format::NAMES.join(", ")
            ))),
        }
    }
}

/// Whether the path is a device, which is written in place: `/dev/stdout`, `/dev/null`, a pipe.
fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}
