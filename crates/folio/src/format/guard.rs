//! Runs third-party parsers, which panic on some invalid files.
//!
//! A panic becomes an error of the file, and prints nothing to standard error. The panic hook is
//! per process. It is replaced once, when the first such file is read, by one that forwards
//! everything to the previous hook, except panics of a thread inside a parser. Messages of other
//! threads are never suppressed. If the program sets a hook later, it replaces this one and sees
//! those panics too.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether this thread is in a parser.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a parser; `None` if it panics.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(set_hook);
    let around = IS_QUIET.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(around);
    done.ok()
}

fn set_hook() {
    // A panicking thread may not change the hook.
    if std::thread::panicking() {
        return;
    }
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        // While a thread ends, the flag is gone, and no parser runs.
        if !IS_QUIET.try_with(Cell::get).unwrap_or(false) {
            before(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::guarded;

    /// The child's message on standard error.
    const CHILD: &str = "FOLIO_TEST_GUARD_CHILD";

    #[test]
    fn panics_of_parsers_are_silent_and_others_are_not() {
        if std::env::var_os(CHILD).is_some() {
            assert_eq!(guarded(|| -> u8 { panic!("a parser's") }), None);
            let (sent, received) = std::sync::mpsc::channel::<()>();
            // Another thread panics while this one is in a parser.
            let other = std::thread::spawn(move || {
                received.recv().unwrap();
                panic!("another thread's");
            });
            guarded(|| {
                sent.send(()).unwrap();
                other.join().unwrap_err();
            });
            let nested = std::panic::catch_unwind(|| panic!("our own"));
            assert!(nested.is_err());
            return;
        }
        let this = std::env::current_exe().unwrap();
        let name = "format::guard::tests::panics_of_parsers_are_silent_and_others_are_not";
        let child = Command::new(this)
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success(), "{said}");
        assert!(!said.contains("a parser's"), "{said}");
        assert!(said.contains("another thread's") && said.contains("our own"), "{said}");
    }
}
