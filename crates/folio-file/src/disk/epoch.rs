//! Whether the system's cached content of a file is still what was written.
//!
//! It is, as long as the system runs and the file system stays mounted. Linux identifies both: the
//! boot by a random number (`/proc/sys/kernel/random/boot_id`, `random(4)`), the mount by a number
//! that is unique within a boot (`STATX_MNT_ID_UNIQUE`, `statx(2)`, since Linux 6.8). Another view
//! of the same files, for example a container's, is another mount. Its epoch differs although
//! nothing was lost, which is the safe side.

use std::fs;

/// The current epoch of an open file.
#[cfg(target_os = "linux")]
pub(super) fn of(file: &fs::File) -> Option<u64> {
    let epoch = boot()? ^ mount(file)?;
    (epoch != 0).then_some(epoch)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn of(_file: &fs::File) -> Option<u64> {
    None
}

/// The first half of the boot id.
#[cfg(target_os = "linux")]
fn boot() -> Option<u64> {
    use std::sync::OnceLock;

    static BOOT: OnceLock<Option<u64>> = OnceLock::new();
    *BOOT.get_or_init(|| {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(16).collect();
        u64::from_str_radix(&digits, 16).ok()
    })
}

#[cfg(target_os = "linux")]
fn mount(file: &fs::File) -> Option<u64> {
    use rustix::fs::{AtFlags, StatxFlags, statx};

    let unique = StatxFlags::from_bits_retain(0x4000);
    let found = statx(file, c"", AtFlags::EMPTY_PATH, unique).ok()?;
    (found.stx_mask & unique.bits() != 0).then_some(found.stx_mnt_id)
}
