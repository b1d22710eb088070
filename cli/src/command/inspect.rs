//! `folio inspect`: shows one page of the tables' data file.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use folio::{CellContent, PageInspection};
use serde_json::json;

use crate::arguments::open_to_read;
use crate::console::Console;
use crate::failure::{EXIT_DAMAGE, Failure};

/// Show a page of the tables' data file as it is on disk
///
/// Works even if the tables no longer open. Newer images of the page in the log are ignored. The
/// exit code is 3 if the page is damaged.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// What to show
    #[arg(value_enum)]
    what: What,

    /// Its number, from 1
    #[arg(value_name = "NUMBER")]
    number: u32,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    Page,
}

const EXAMPLES: &str = "\
Examples:
  $ folio inspect ./data page 1
  $ folio inspect ./data page 1 --json";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let What::Page = arguments.what;
    let page = open_to_read(&arguments.database)?.tables()?.inspect(arguments.number)?;
    let text = if arguments.json { object(&page) } else { page.to_string().trim_end().to_owned() };
    console.print(&text)?;
    let is_sound = page.problem.is_none();
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(EXIT_DAMAGE) })
}

fn object(page: &PageInspection) -> String {
    let cells = page.cells.iter().map(|(key, content)| match content {
        CellContent::Value(size) => json!({"key": hex(key), "value_size": size}),
        CellContent::Child(child) => json!({"key": hex(key), "child": child.0}),
    });
    let object = json!({
        "page": page.page.0,
        "offset": page.offset,
        "size": page.bytes.len(),
        "kind": page.kind,
        "level": page.level,
        "tree": page.tree.0,
        "log_position": page.lsn.0,
        "count": page.count,
        "used_size": page.used_size,
        "link": page.link.0,
        "problem": page.problem,
        "cells": cells.collect::<Vec<_>>(),
    });
    object.to_string()
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
