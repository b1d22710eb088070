//! `folio export`: documents to a file.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use folio::export::{ExportOptions, Format, export, write};

use crate::arguments::{Target, count};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::raw_stdout;
use crate::progress::Progress;
use crate::words::plural;

/// Write a collection to a file
///
/// The file appears under its name once it is complete. Without -o the
/// documents go to standard output.
///
/// In CSV, columns are the top-level fields in order of first appearance, or
/// those of --fields; objects and arrays stand as JSON text.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,

    /// How to write; told by the extension of -o when left out, else jsonl
    #[arg(short, long, value_enum)]
    format: Option<FormatName>,

    /// The file, or the directory for zds
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// Only these fields, as dotted paths; "_id" always comes first
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    fields: Vec<String>,

    /// Only documents for which this SQL condition holds
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,

    /// At most so many documents
    #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true)]
    limit: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// JSON Lines: one document per line
    Jsonl,
    /// One JSON array
    Json,
    /// Comma-separated values
    Csv,
    /// Amazon Ion text, a struct per line
    Ion,
    /// Binary Amazon Ion
    IonBinary,
    /// A directory in the layout of ZDS, compacted
    Zds,
}

const EXAMPLES: &str = "\
Examples:
  $ folio export ./data -c train --format jsonl -o train.jsonl
  $ folio export ./data -c train -o train.csv
  $ folio export ./data -c train -o train.ion
  $ folio export ./data -c users --format csv --fields name,address.city -o users.csv
  $ folio export ./data -c users --format zds -o ./users
  $ folio export ./data -c train | gzip > train.jsonl.gz";

impl Arguments {
    fn format(&self) -> FormatName {
        let extension = self.output.as_ref().and_then(|path| path.extension()?.to_str());
        self.format.unwrap_or(match extension {
            Some("csv") => FormatName::Csv,
            Some("json") => FormatName::Json,
            Some("ion") => FormatName::Ion,
            Some("10n") => FormatName::IonBinary,
            _ => FormatName::Jsonl,
        })
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let options = ExportOptions {
        format: match arguments.format() {
            FormatName::Jsonl => Format::JsonLines,
            FormatName::Json => Format::Json,
            FormatName::Csv => Format::Csv,
            FormatName::Ion => Format::Ion,
            FormatName::IonBinary => Format::IonBinary,
            FormatName::Zds => Format::Zds,
        },
        fields: arguments.fields.clone(),
        limit: arguments.limit,
        condition: arguments.condition.clone(),
        ..ExportOptions::default()
    };
    let Some(path) = &arguments.output else {
        if arguments.format() == FormatName::Zds {
            return Err(Failure::Usage("name the directory to export to with -o".to_owned()));
        }
        let collection = arguments.target.open_to_read()?;
        console.tell_notices(&collection);
        write(&collection, &mut raw_stdout(), &options, &mut |_, _| true)?;
        return Ok(ExitCode::SUCCESS);
    };
    let collection = arguments.target.open_to_read()?;
    console.tell_notices(&collection);
    if is_device(path) && arguments.format() != FormatName::Zds {
        let mut device = OpenOptions::new().write(true).open(path)?;
        write(&collection, &mut device, &options, &mut |_, _| true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let progress = Progress::begin(console, "exporting");
    let report =
        export(&collection, path, &options, &mut |done, total| progress.tell(done, total))?;
    drop(progress);
    console.confirm(&format!(
        "exported {} to {}",
        plural(report.document_count, "document"),
        path.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the path names what is written to as it is: `/dev/stdout`, `/dev/null`, a pipe.
fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}
