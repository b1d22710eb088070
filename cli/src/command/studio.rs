//! `folio studio`: shows a database in the browser.

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use folio_studio::{Limits, Listen, StartError, Studio, Tls, Token};
use signal_hook::flag;

use crate::arguments::{open_to_change, open_to_read};
use crate::console::Console;
use crate::failure::Failure;
use crate::signals::ENDING;

/// Show a database in the browser: browse, sort, filter, ask
///
/// Serves pages on 127.0.0.1 until Ctrl-C, and prints their address, which has a token. Nothing
/// leaves the machine, and nothing is changed without --write. Statements end after a minute, at
/// 10,000 rows, and when their page is closed. Other machines are served with --listen, and then
/// only with a token of yours and TLS.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a directory, or a .zds archive to read from
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The port to listen on; by default a free one
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// The address or name to listen on; by default 127.0.0.1. Beyond this machine it takes
    /// --token-file, --tls-cert and --tls-key
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,

    /// A file with the token of the address, at least 32 letters and digits; by default the token is
    /// random and new at every start
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Serve https with the certificates in this PEM file, the own one first
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The PEM file of the certificate's key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

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
  $ folio studio ./data --no-open --write
  $ folio studio ./data --listen 0.0.0.0 --token-file token --tls-cert cert.pem --tls-key key.pem";

/// How soon a signal is noticed.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let listen = listen(arguments)?;
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
    let studio = Studio::start(database.clone(), listen, Limits::default()).map_err(not_started)?;
    console.print(studio.url())?;
    console.note(match arguments.write {
        true => "the studio may change the database; Ctrl-C ends it",
        false => "the studio only reads; Ctrl-C ends it",
    });
    if !arguments.no_open {
        open(studio.url(), console);
    }
    while !is_ended.load(Ordering::Acquire) && !studio.is_ended() {
        thread::sleep(LOOK);
    }
    drop(studio);
    database.close()?;
    Ok(ExitCode::SUCCESS)
}

/// Where the arguments say to listen, and what guards it.
fn listen(arguments: &Arguments) -> Result<Listen, Failure> {
    let mut listen = Listen::local(arguments.port);
    if let Some(host) = &arguments.listen {
        listen.host.clone_from(host);
    }
    if let Some(file) = &arguments.token_file {
        listen.token = Some(Token::read(file).map_err(not_started)?);
    }
    if let (Some(certificate), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) {
        listen.tls = Some(Tls::read(certificate, key).map_err(not_started)?);
    }
    Ok(listen)
}

/// Why it does not start, with the flags that would let it.
fn not_started(error: StartError) -> Failure {
    Failure::Usage(match error {
        StartError::Unguarded { host, has_token, has_tls } => {
            let flags = [(has_token, "--token-file"), (has_tls, "--tls-cert and --tls-key")];
            let missing = flags.iter().filter(|(is_there, _)| !is_there).map(|(_, flag)| *flag);
            let missing = missing.collect::<Vec<_>>().join(", and with ");
            format!(
                "--listen {host}: other machines are served with {missing} only; or start it here \
                 with --port 8080, run `ssh -N -L 8080:127.0.0.1:8080 THIS_MACHINE` on the other \
                 machine, and open the address there"
            )
        }
        error => error.to_string(),
    })
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
