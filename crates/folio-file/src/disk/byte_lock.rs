//! Locks on single bytes of a file, by which processes signal numbers to each other.
//!
//! Linux ties such a lock to the open file (`F_OFD_SETLK`, fcntl(2)). Two handles of one process
//! exclude each other, and closing one does not release the other's lock. Other systems have no
//! such locks, so there are no conflicts.

#[cfg(not(target_os = "linux"))]
pub(super) use without::{is_locked, try_lock, unlock};

#[cfg(target_os = "linux")]
pub(super) use linux::{is_locked, try_lock, unlock};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::ops::Range;
    use std::os::fd::AsRawFd;

    pub(in super::super) fn try_lock(file: &File, offset: u64, alone: bool) -> io::Result<bool> {
        let kind = if alone { libc::F_WRLCK } else { libc::F_RDLCK };
        match control(file, libc::F_OFD_SETLK, kind, offset..offset + 1) {
            Ok(_) => Ok(true),
            Err(error) if is_taken(&error) => Ok(false),
            Err(error) if has_no_such_lock(&error) => Ok(true),
            Err(error) => Err(error),
        }
    }

    pub(in super::super) fn unlock(file: &File, offset: u64) -> io::Result<()> {
        match control(file, libc::F_OFD_SETLK, libc::F_UNLCK, offset..offset + 1) {
            Err(error) if !has_no_such_lock(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Finds a lock that prevents locking the range exclusively.
    pub(in super::super) fn is_locked(file: &File, range: Range<u64>) -> io::Result<bool> {
        if range.is_empty() {
            return Ok(false);
        }
        match control(file, libc::F_OFD_GETLK, libc::F_WRLCK, range) {
            Ok(found) => Ok(i32::from(found.l_type) != libc::F_UNLCK),
            Err(error) if has_no_such_lock(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn control(
        file: &File,
        command: libc::c_int,
        kind: libc::c_int,
        range: Range<u64>,
    ) -> io::Result<libc::flock> {
        let number = |value: u64| i64::try_from(value).map_err(|_| io::ErrorKind::InvalidInput);
        let mut lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: number(range.start)?,
            l_len: number(range.end - range.start)?,
            l_pid: 0, // required by these commands
        };
        // SAFETY: the descriptor is open for as long as `file` is borrowed; the commands
        // read and write one `flock`, which lives until the call has returned.
        #[allow(unsafe_code)]
        let result = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(lock) }
    }

    fn is_taken(error: &io::Error) -> bool {
        matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES))
    }

    /// Some file systems, and kernels before 3.15, do not support it.
    fn has_no_such_lock(error: &io::Error) -> bool {
        matches!(
            error.raw_os_error(),
            Some(libc::EINVAL | libc::ENOLCK | libc::ENOSYS | libc::EOPNOTSUPP)
        )
    }
}

#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "the twin can fail")]
mod without {
    use std::fs::File;
    use std::io;
    use std::ops::Range;

    pub(in super::super) fn try_lock(_: &File, _: u64, _: bool) -> io::Result<bool> {
        Ok(true)
    }

    pub(in super::super) fn unlock(_: &File, _: u64) -> io::Result<()> {
        Ok(())
    }

    pub(in super::super) fn is_locked(_: &File, _: Range<u64>) -> io::Result<bool> {
        Ok(false)
    }
}
