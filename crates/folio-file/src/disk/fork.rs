//! Forks of this process.
//!
//! A lock belongs to the open file, and `fork` gives a child all open files. A parent that ended
//! without releasing its locks would leave them with the child, for as long as that lives. So the
//! system calls [`unix::in_child`] in every child (`pthread_atfork(3)`): there the locked files
//! become `/dev/null`, and only the parent's descriptors count. It also counts forks, by which a
//! handle can tell that it belongs to a parent.

#[cfg(unix)]
pub use unix::fork_count;
#[cfg(unix)]
pub(super) use unix::{forget, keep_from_children};

#[cfg(not(unix))]
pub use without::fork_count;
#[cfg(not(unix))]
pub(super) use without::{forget, keep_from_children};

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::sync::Once;
    use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

    static COUNT: AtomicU32 = AtomicU32::new(0);

    /// Descriptors of locked files; [`FREE`] where there is none. Of more than these, a child keeps
    /// the locks.
    static LOCKED: [AtomicI32; 256] = [const { AtomicI32::new(FREE) }; 256];

    const FREE: i32 = -1;

    /// The number of forks that made this process from the first one that asked.
    pub fn fork_count() -> u32 {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            // SAFETY: the handler makes only calls that are allowed between fork and exec, and lives
            // as long as the program. If it cannot be installed, children keep locks.
            #[allow(unsafe_code)]
            unsafe {
                libc::pthread_atfork(None, None, Some(in_child));
            }
        });
        COUNT.load(Ordering::Relaxed)
    }

    /// Notes a file that children must not share.
    pub(in super::super) fn keep_from_children(file: &File) {
        fork_count(); // from now on forks are noticed
        replace(FREE, file.as_raw_fd());
    }

    /// Takes that back, before the file is closed.
    pub(in super::super) fn forget(file: &File) {
        replace(file.as_raw_fd(), FREE);
    }

    fn replace(old: i32, new: i32) {
        let swap =
            |slot: &AtomicI32| slot.compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed);
        let _ = LOCKED.iter().find(|slot| swap(slot).is_ok());
    }

    extern "C" fn in_child() {
        COUNT.fetch_add(1, Ordering::Relaxed);
        for slot in &LOCKED {
            let descriptor = slot.swap(FREE, Ordering::Relaxed);
            if descriptor != FREE {
                // SAFETY: the calls are allowed in the child of a process with threads. The
                // descriptor stays open, for the value that owns it.
                #[allow(unsafe_code)]
                unsafe {
                    let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
                    if nothing != -1 {
                        libc::dup2(nothing, descriptor);
                        libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
                        libc::close(nothing);
                    }
                }
            }
        }
    }
}

#[cfg(not(unix))]
mod without {
    use std::fs::File;

    /// No process is made from another by a fork.
    pub fn fork_count() -> u32 {
        0
    }

    pub(in super::super) fn keep_from_children(_: &File) {}

    pub(in super::super) fn forget(_: &File) {}
}
