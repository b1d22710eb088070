//! The signals that ask a process to end, on each system.

#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};

/// Ctrl-C, `kill`, and the end of the terminal.
#[cfg(unix)]
pub(crate) const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Windows ends a program itself when its console is closed.
#[cfg(windows)]
pub(crate) const ENDING: [i32; 2] = [SIGINT, SIGTERM];

/// Ends the process some time after HUP, because the line editor may block forever on a lost
/// terminal. Committed data is safe; an open transaction is rolled back.
#[cfg(unix)]
pub(crate) fn end_with_terminal() -> std::io::Result<()> {
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;
    use std::{process, thread};

    /// The time for a shell to end by itself after its terminal is gone.
    const GRACE: Duration = Duration::from_secs(1);

    let (mut receiver, sender) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(SIGHUP, sender)?;
    thread::Builder::new().name("folio-hangup".to_owned()).spawn(move || {
        if receiver.read_exact(&mut [0]).is_ok() {
            thread::sleep(GRACE);
            process::exit(128 + SIGHUP);
        }
    })?;
    Ok(())
}

#[cfg(windows)]
pub(crate) fn end_with_terminal() -> std::io::Result<()> {
    Ok(())
}
