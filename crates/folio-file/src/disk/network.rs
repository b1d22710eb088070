//! Detects network file systems.
//!
//! Over a network, locks may be local to one client and a sync may guarantee less, so a store
//! warns. Linux identifies the type of a file system by a magic number (`statfs(2)`). All file
//! systems in user space share one number; for those the mount table names the program.

use std::path::Path;

/// Whether the path, or its nearest existing parent, is on a network file system. `false` if that
/// cannot be determined.
#[cfg(target_os = "linux")]
pub(super) fn is_network(path: &Path) -> bool {
    let Ok(absolute) = std::path::absolute(path) else { return false };
    let Some((existing, found)) =
        absolute.ancestors().find_map(|parent| Some((parent, rustix::fs::statfs(parent).ok()?)))
    else {
        return false;
    };
    // The field is signed on some machines; the magic is its low 32 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let magic = found.f_type as u32;
    if magic != magic::FUSE {
        return magic::NETWORK.contains(&magic);
    }
    let Ok(existing) = existing.canonicalize() else { return false };
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mountinfo") else { return false };
    user_space_kind(&mounts, &existing).is_some_and(|kind| NETWORK_PROGRAMS.contains(&kind))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_network(_path: &Path) -> bool {
    false
}

/// From `linux/magic.h` and the sources of the file systems themselves.
#[cfg(target_os = "linux")]
mod magic {
    pub(super) const FUSE: u32 = 0x6573_5546;

    pub(super) const NETWORK: [u32; 12] = [
        0x0000_6969, // NFS
        0x0000_517B, // SMB
        0xFF53_4D42, // CIFS
        0xFE53_4D42, // SMB2
        0x0102_1997, // 9p
        0x5346_414F, // AFS
        0x6B41_4653, // kAFS
        0x7375_7245, // Coda
        0x0000_564C, // NCP
        0x00C3_6400, // Ceph
        0x0BD0_0BD0, // Lustre
        0x4750_4653, // GPFS
    ];
}

/// Names after `fuse.` in the mount table of programs that use the network.
#[cfg(target_os = "linux")]
const NETWORK_PROGRAMS: [&str; 14] = [
    "sshfs",
    "rclone",
    "s3fs",
    "mountpoint-s3",
    "goofys",
    "gcsfuse",
    "glusterfs",
    "ceph-fuse",
    "juicefs",
    "davfs",
    "curlftpfs",
    "smbnetfs",
    "nfs",
    "moosefs",
];

/// The program of the user-space file system of a path: `sshfs` for `fuse.sshfs`. `mounts` is the
/// text of `/proc/self/mountinfo`, described in `proc_pid_mountinfo(5)`: the mount point is the
/// fifth field, the type the first one after a single hyphen.
#[cfg(target_os = "linux")]
fn user_space_kind<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    mounts
        .lines()
        .filter_map(|line| {
            let (mount, source) = line.split_once(" - ")?;
            let point = unescape(mount.split(' ').nth(4)?);
            let kind = source.split(' ').next()?;
            path.starts_with(&point).then_some((point.len(), kind))
        })
        // Of mount points with equal length, the last is mounted on top.
        .max_by_key(|(length, _)| *length)
        .and_then(|(_, kind)| kind.strip_prefix("fuse."))
}

/// Decodes the octal escapes (`\040` for a space) of the mount table.
#[cfg(target_os = "linux")]
fn unescape(text: &str) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let octal = (first == b'\\').then(|| after.get(..3)).flatten();
        let value = octal
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(value.unwrap_or(first));
        rest = if value.is_some() { &after[3..] } else { after };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:35 / /home/ann/server rw,nosuid shared:2 - fuse.sshfs ann@host: rw
41 22 0:36 / /home/ann/my\\040disk rw master:3 shared:4 - fuse.ntfs-3g /dev/sdb1 rw
42 40 0:37 / /home/ann/server/inner rw - tmpfs tmpfs rw
nonsense
";

    #[test]
    fn the_longest_mount_point_names_the_program() {
        for (path, expected) in [
            ("/home/ann", None),
            ("/home/ann/server", Some("sshfs")),
            ("/home/ann/server/data/x", Some("sshfs")),
            ("/home/ann/server/inner/x", None),
            ("/home/ann/serverless", None),
            ("/home/ann/my disk/x", Some("ntfs-3g")),
        ] {
            assert_eq!(user_space_kind(MOUNTS, Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn escapes_are_octal() {
        assert_eq!(unescape("a\\040b\\134c\\9"), "a b\\c\\9");
    }

    #[test]
    fn a_missing_path_is_judged_by_its_parent() {
        assert_eq!(is_network(Path::new("/proc/no/such/path")), is_network(Path::new("/proc")));
        assert!(!is_network(Path::new("/proc")));
    }
}
