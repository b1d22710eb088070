//! The commands, one file each, with `Arguments` from the command line and `run`.

pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod delete;
pub(crate) mod drop;
pub(crate) mod dump;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod ion;
pub(crate) mod list;
pub(crate) mod lsp;
pub(crate) mod pack;
pub(crate) mod patch;
pub(crate) mod put;
pub(crate) mod reindex;
pub(crate) mod rename;
pub(crate) mod restore;
pub(crate) mod salvage;
pub(crate) mod scan;
pub(crate) mod schema;
pub(crate) mod shell;
pub(crate) mod sql;
pub(crate) mod stats;
pub(crate) mod studio;
pub(crate) mod unpack;
pub(crate) mod vacuum;
pub(crate) mod validate;
pub(crate) mod ziql;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::console::Console;
use crate::failure::Failure;

/// A database whose data you can read: JSON documents in JSON Lines files, with fast lookups and
/// scans.
#[derive(Debug, Parser)]
#[command(name = "folio", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Print no notes, no progress and no confirmations
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  $ folio put ./data -c users user_003 --data '{\"name\": \"Ann\", \"age\": 34}'
  $ folio get ./data -c users user_003 --pretty
  $ folio import ./data -c flights flights.jsonl --generate-ids
  $ folio scan ./data -c users --fields name,age --limit 10
  $ grep Ann ./data/collections/users/meta/data.jsonl

Exit codes: 0 done, 1 error, 2 wrong usage, 3 damage found, 130 interrupted.
Commands that write create what is missing, as ziql and schema do; commands that read never do.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Arguments),
    Put(put::Arguments),
    Get(get::Arguments),
    Delete(delete::Arguments),
    Drop(drop::Arguments),
    Rename(rename::Arguments),
    Patch(patch::Arguments),
    Scan(scan::Arguments),
    Sql(sql::Arguments),
    Ziql(ziql::Arguments),
    Shell(shell::Arguments),
    Studio(studio::Arguments),
    Lsp(lsp::Arguments),
    Schema(schema::Arguments),
    List(list::Arguments),
    Stats(stats::Arguments),
    Import(import::Arguments),
    Export(export::Arguments),
    Ion(ion::Arguments),
    #[command(visible_alias = "check")]
    Validate(validate::Arguments),
    Reindex(reindex::Arguments),
    Index(index::Arguments),
    Compact(compact::Arguments),
    Vacuum(vacuum::Arguments),
    Salvage(salvage::Arguments),
    Inspect(inspect::Arguments),
    Bench(bench::Arguments),
    Backup(backup::Arguments),
    Dump(dump::Arguments),
    Restore(restore::Arguments),
    Pack(pack::Arguments),
    Unpack(unpack::Arguments),
    Completions(completions::Arguments),
}

/// Runs a command.
pub(crate) fn execute(command: Command, console: &Console) -> Result<ExitCode, Failure> {
    match command {
        Command::Init(arguments) => init::run(&arguments, console),
        Command::Put(arguments) => put::run(&arguments, console),
        Command::Get(arguments) => get::run(&arguments, console),
        Command::Delete(arguments) => delete::run(&arguments, console),
        Command::Drop(arguments) => drop::run(&arguments, console),
        Command::Rename(arguments) => rename::run(&arguments, console),
        Command::Patch(arguments) => patch::run(&arguments, console),
        Command::Scan(arguments) => scan::run(&arguments, console),
        Command::Sql(arguments) => sql::run(&arguments, console),
        Command::Ziql(arguments) => ziql::run(&arguments, console),
        Command::Shell(arguments) => shell::run(&arguments, console),
        Command::Studio(arguments) => studio::run(&arguments, console),
        Command::Lsp(arguments) => lsp::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments, console),
        Command::List(arguments) => list::run(&arguments, console),
        Command::Stats(arguments) => stats::run(&arguments, console),
        Command::Import(arguments) => import::run(&arguments, console),
        Command::Export(arguments) => export::run(&arguments, console),
        Command::Ion(arguments) => ion::run(&arguments, console),
        Command::Validate(arguments) => validate::run(&arguments, console),
        Command::Reindex(arguments) => reindex::run(&arguments, console),
        Command::Index(arguments) => index::run(&arguments, console),
        Command::Compact(arguments) => compact::run(&arguments, console),
        Command::Vacuum(arguments) => vacuum::run(&arguments, console),
        Command::Salvage(arguments) => salvage::run(&arguments, console),
        Command::Inspect(arguments) => inspect::run(&arguments, console),
        Command::Bench(arguments) => bench::run(&arguments, console),
        Command::Backup(arguments) => backup::run(&arguments, console),
        Command::Dump(arguments) => dump::run(&arguments, console),
        Command::Restore(arguments) => restore::run(&arguments, console),
        Command::Pack(arguments) => pack::run(&arguments, console),
        Command::Unpack(arguments) => unpack::run(&arguments, console),
        Command::Completions(arguments) => completions::run(&arguments),
    }
}
