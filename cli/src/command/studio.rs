//! `folio studio`: shows a database in the browser.

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use folio_studio::{Limits, Studio};
use signal_hook::flag;

use crate::arguments::{open_to_change, open_to_read};
use crate::console::Console;
use crate::failure::Failure;
use crate::signals::ENDING;

/// Show a database in the browser: browse, sort, filter, ask
///
/// Serves pages on 127.0.0.1 until Ctrl-C, and prints their address, which has a token. Nothing
/// leaves the machine, and nothing is changed without --write. Statements end after a minute, at
/// 10,000 rows, and when their page is closed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a directory, or a .zds archive to read from
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The port to listen on; by default a free one
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// The address to listen on; only this machine's own, 127.0.0.1, is served
    #[arg(long, value_name = "ADDRESS", default_value = OWN, hide_default_value = true)]
    listen: String,

    /// Open no browser
    #[arg(long)]
    no_open: bool,

    /// Let statements change the database
    #[arg(long)]
    write: bool,

    /// End when standard input does, for a program that starts it
    #[arg(long)]
    end_with_input: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ folio studio ./data
  $ folio studio ./data --no-open --write";

/// The address of the machine itself.
const OWN: &str = "127.0.0.1";

/// How soon a signal is noticed.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    check_listen(&arguments.listen)?;
    let path = &arguments.database;
    let database = if arguments.write { open_to_change(path)? } else { open_to_read(path)? };
    let is_ended = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        flag::register(signal, Arc::clone(&is_ended))?;
    }
    if arguments.end_with_input {
        let is_ended = Arc::clone(&is_ended);
        thread::Builder::new().name("folio-input".to_owned()).spawn(move || {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            is_ended.store(true, Ordering::Release);
        })?;
    }
    let studio = Studio::start(database.clone(), arguments.port, Limits::default())
        .map_err(|error| Failure::Usage(format!("port {}: {error}", arguments.port)))?;
    console.print(&studio.url())?;
    console.note(match arguments.write {
        true => "the studio may change the database; Ctrl-C ends it",
        false => "the studio only reads; Ctrl-C ends it",
    });
    if !arguments.no_open {
        open(&studio.url(), console);
    }
    while !is_ended.load(Ordering::Acquire) && !studio.is_ended() {
        thread::sleep(LOOK);
    }
    drop(studio);
    database.close()?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses to be seen by other machines: without TLS, whoever is on the way reads along.
fn check_listen(address: &str) -> Result<(), Failure> {
    match address {
        OWN | "localhost" => Ok(()),
        other => Err(Failure::Usage(format!(
            "--listen {other}: the studio is not served to other machines, because it has no TLS; \
             start it here with --port 8080, run `ssh -N -L 8080:127.0.0.1:8080 THIS_MACHINE` on \
             the other machine, and open the address there"
        ))),
    }
}

/// Opens an address in the browser of the user.
fn open(url: &str, console: &Console) {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(url);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.spawn().is_err() {
        console.note("there is no browser to open; open the address yourself");
    }
}
