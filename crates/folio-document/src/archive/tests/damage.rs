//! Archives with missing or wrong bytes.

use proptest::prelude::*;

use super::zip_bytes::{Entry, archive};
use super::*;

fn small() -> Vec<u8> {
    archive(&[
        Entry::stored("zds.json", "{\"name\": \"x\"}"),
        Entry::stored("collections/c/meta/data.jsonl", "{\"_id\":\"a\"}\n{\"_id\":\"b\"}\n"),
        Entry::deflated("collections/d/docs/x.json", b' ', 300),
    ])
}

type Contents = Vec<(PathBuf, Vec<u8>)>;

/// The content of an archive read in place, or the error.
fn read(bytes: &[u8]) -> Result<Contents> {
    let files = MemoryFileSystem::new();
    files.write(ARCHIVE, bytes).unwrap();
    let archive = open_archive(&files)?;
    archive.verify(&mut no_progress)?;
    Ok(tree(&archive, Path::new(ARCHIVE)))
}

/// The same, unpacked.
fn unpacked(bytes: &[u8]) -> Result<Contents> {
    let files = MemoryFileSystem::new();
    files.write(ARCHIVE, bytes).unwrap();
    let unpacked = unpack_to(&files, ARCHIVE_UNPACKED);
    unpacked?;
    let strip =
        |path: PathBuf| Path::new(ARCHIVE).join(path.strip_prefix(ARCHIVE_UNPACKED).unwrap());
    let tree = tree(&files, Path::new(ARCHIVE_UNPACKED));
    Ok(tree.into_iter().map(|(path, bytes)| (strip(path), bytes)).collect())
}

const ARCHIVE_UNPACKED: &str = "/out";

#[test]
fn no_truncated_archive_opens() {
    let bytes = small();
    assert_eq!(read(&bytes).unwrap(), unpacked(&bytes).unwrap());
    for size in 0..bytes.len() {
        assert!(read(&bytes[..size]).is_err(), "cut at {size}");
        assert!(unpacked(&bytes[..size]).is_err(), "cut at {size}");
        assert!(read(&bytes[size + 1..]).is_err(), "from {size}");
    }
}

#[test]
fn no_flipped_bit_changes_what_is_read() {
    let bytes = small();
    let whole = read(&bytes).unwrap();
    let mut harmless = 0;
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        for contents in [read(&flipped), unpacked(&flipped)] {
            match contents {
                Err(_) => {}
                // Versions, times and attributes are ignored.
                Ok(contents) => {
                    assert_eq!(contents, whole, "bit {bit}");
                    harmless += 1;
                }
            }
        }
    }
    println!("{harmless} of {} reads were not touched by the flip", bytes.len() * 16);
    assert!(harmless < bytes.len() * 16 / 4);
}

#[test]
fn an_archive_cut_while_it_is_open_is_an_error() {
    let files = MemoryFileSystem::new();
    files.write(ARCHIVE, &small()).unwrap();
    let archive = open_archive(&files).unwrap();
    let data = Path::new(ARCHIVE).join("collections/c/meta/data.jsonl");
    let open = archive.open(&data, folio_file::OpenMode::Read).unwrap();
    files.truncate_silently(ARCHIVE, 60).unwrap();
    assert!(open.read_at(&mut [0; 24], 0).is_err());
    assert!(content(&archive, &Path::new(ARCHIVE).join("collections/d/docs/x.json")).is_err());
}

#[test]
fn damage_names_the_archive_the_member_and_what_to_do() {
    let mut bytes = small();
    let at = bytes.windows(5).position(|window| window == b"\"_id\"").unwrap();
    bytes[at] ^= 4;
    let error = read(&bytes).unwrap_err();
    assert_eq!(error.code(), folio_types::ErrorCode::Corrupted);
    let text = error.to_string();
    assert!(
        text.contains("a.zds") && text.contains("data.jsonl") && text.contains("again"),
        "{text}"
    );
    // It is not readable in place either: the member does not open.
    let files = MemoryFileSystem::new();
    files.write(ARCHIVE, &bytes).unwrap();
    let archive = open_archive(&files).unwrap();
    let root = Path::new(ARCHIVE);
    let error = content(&archive, &root.join("collections/c/meta/data.jsonl")).unwrap_err();
    assert!(error.to_string().contains("data.jsonl"), "{error}");
    assert!(content(&archive, &root.join("zds.json")).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_are_opened_without_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        at in 0usize..1000,
        keep_end in any::<bool>(),
    ) {
        let _ = read(&bytes);
        // Garbage in the middle of a good archive.
        let mut mixed = small();
        let at = at % mixed.len();
        let end = if keep_end { mixed.len().saturating_sub(22) } else { mixed.len() };
        for (to, from) in mixed[at.min(end)..end].iter_mut().zip(&bytes) {
            *to = *from;
        }
        let whole = read(&small()).unwrap();
        for contents in [read(&mixed), unpacked(&mixed)].into_iter().flatten() {
            prop_assert_eq!(contents, whole.clone());
        }
    }
}
