//! SIGTERM, SIGINT and SIGHUP: flushes open databases before they end the process.
//!
//! Node ends a process at these signals without any notification, unless the program listens to
//! them. A JavaScript listener in this package would change that. Node would keep the process
//! alive, a busy program would not end, and code that counts listeners would take it for the
//! program's and not end the process. So the signal is handled below JavaScript, and only where it
//! would end the process. A thread flushes, restores the previous handler, and sends the signal
//! again: the process ends as usual, a moment later.
//!
//! A listener of the program, added earlier or later, replaces this handler. Node then leaves the
//! end to the program, whose `process.exit` flushes.

#![allow(unsafe_code)]

use std::io::{self, Read, Write};
use std::mem;
use std::os::fd::IntoRawFd;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// The signals, and the previous action of each.
static TAKEN: Mutex<[(libc::c_int, Option<Before>); 3]> =
    Mutex::new([(libc::SIGTERM, None), (libc::SIGINT, None), (libc::SIGHUP, None)]);

/// The write end of the signal pipe; -1 before it exists.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// A process that must end does not wait longer for a hanging disk.
const FLUSH_MAX: Duration = Duration::from_secs(2);

/// The previous action of a signal.
#[derive(Clone, Copy)]
struct Before(libc::sigaction);

// SAFETY: it holds the address of a function and flags, which are nobody's.
unsafe impl Send for Before {}

/// Handles the signals that would end the process. A later call adds those that would end it by
/// then.
pub(crate) fn flush_at_end() {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    for (signal, before) in taken.iter_mut() {
        if let Some(found) = action_of(*signal)
            && ends_process(&found)
            && (PIPE.load(Ordering::Acquire) >= 0 || begin().is_ok())
        {
            *before = Some(Before(found));
            take(*signal);
        }
    }
}

/// Whether this is the default action of Node or the system. Node's own handler ends the process
/// and is removed by its first call; handlers of programs stay.
fn ends_process(action: &libc::sigaction) -> bool {
    match action.sa_sigaction {
        libc::SIG_DFL => true,
        libc::SIG_IGN => false,
        _ => action.sa_flags & libc::SA_RESETHAND != 0,
    }
}

fn action_of(signal: libc::c_int) -> Option<libc::sigaction> {
    // SAFETY: zeros are a value of this type of integers and sets of bits.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: a null action changes nothing, and `action` is a live out parameter.
    (unsafe { libc::sigaction(signal, ptr::null(), &mut action) } == 0).then_some(action)
}

fn take(signal: libc::c_int) {
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = on_signal as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `on_signal` has the type of a handler without SA_SIGINFO and calls nothing that
    // a handler may not; this library is never unloaded, as napi keeps it.
    unsafe {
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}

/// Notifies the thread. A signal handler may call very few functions; `write` is one.
extern "C" fn on_signal(signal: libc::c_int) {
    let byte = signal as u8;
    // SAFETY: `errno` is of this thread, and is put back for the code that was interrupted;
    // `byte` is live, and the descriptor is open as long as the process.
    unsafe {
        let errno = errno_place();
        let before = *errno;
        libc::write(PIPE.load(Ordering::Acquire), ptr::from_ref(&byte).cast(), 1);
        *errno = before;
    }
}

/// The address of this thread's `errno`.
///
/// # Safety
/// None is needed; what it calls is foreign.
unsafe fn errno_place() -> *mut libc::c_int {
    // SAFETY: it takes nothing and answers an address that is valid as long as the thread.
    #[cfg(any(target_os = "linux", target_os = "emscripten"))]
    unsafe {
        libc::__errno_location()
    }
    // SAFETY: as above.
    #[cfg(not(any(target_os = "linux", target_os = "emscripten")))]
    unsafe {
        libc::__error()
    }
}

/// Creates the pipe and the thread that reads it.
fn begin() -> io::Result<()> {
    let (mut reader, writer) = io::pipe()?;
    thread::Builder::new().name("folio-signal".to_owned()).spawn(move || {
        let mut byte = [0];
        while reader.read_exact(&mut byte).is_ok() {
            end(libc::c_int::from(byte[0]));
        }
    })?;
    PIPE.store(writer.into_raw_fd(), Ordering::Release); // open as long as the process
    Ok(())
}

/// Flushes, and sends the signal again with its previous action.
fn end(signal: libc::c_int) {
    let (sender, receiver) = mpsc::channel();
    let begun = thread::Builder::new().spawn(move || {
        // If this fails, the receiver has stopped waiting.
        let _ = sender.send(folio::flush_all());
    });
    let flushed = begun.ok().and_then(|_| receiver.recv_timeout(FLUSH_MAX).ok());
    let notices = match flushed {
        Some(Ok(notices)) => notices.into_iter().map(|notice| notice.0).collect(),
        Some(Err(error)) => vec![format!("the last writes were not flushed: {error}")],
        None => Vec::new(),
    };
    for notice in notices {
        let _ = writeln!(io::stderr(), "foliodb: {notice}");
    }
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = taken.iter().find(|(number, _)| *number == signal).and_then(|(_, before)| *before);
    let is_ours = action_of(signal)
        .is_some_and(|action| action.sa_sigaction == on_signal as *const () as libc::sighandler_t);
    // SAFETY: what is put back is what the system said was there; the process sends a signal
    // to itself.
    unsafe {
        if let Some(Before(before)) = before
            && is_ours
        {
            libc::sigaction(signal, &before, ptr::null_mut());
        }
        libc::kill(libc::getpid(), signal);
    }
}
