//! What the system's memory holds of a file, is it still what was written?
//!
//! It is, as long as the system runs and the file system stays mounted. Linux names
//! both: the boot by a random number (`/proc/sys/kernel/random/boot_id`, `random(4)`),
//! the mount by one that is not given twice in a boot (`STATX_MNT_ID_UNIQUE`, `statx(2)`,
//! since Linux 6.8). Another view of the same files, a container's for instance, is
//! another mount; then an epoch seems to be over that is not, which is the safe side.

use std::fs;

/// The present epoch of an open file.
#[cfg(target_os = "linux")]
pub(super) fn of(file: &fs::File) -> Option<u64> {
    let epoch = boot()? ^ mount(file)?;
    (epoch != 0).then_some(epoch)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn of(_file: &fs::File) -> Option<u64> {
    None
}

/// The first half of the boot's number.
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
