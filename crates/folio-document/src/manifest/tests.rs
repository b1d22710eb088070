//! How manifests are read, written, and rejected.

use folio_file::DiskFileSystem;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A collection's folder with the given files in it.
fn folder(contents: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in contents {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn load(text: &str) -> Result<Manifest> {
    let folder = folder(&[("meta/manifest.json", text)]);
    Manifest::load(&DiskFileSystem, folder.path())
}

#[test]
fn a_manifest_of_zds_is_read_and_its_keys_are_kept_in_place() {
    let text = r#"{"collection":"train","version":"0.1.0","strict":false,"x":[1.50],
        "created_at":"2025-01-15T10:30:00Z","doc_count":50000,"schema_count":1}"#;
    let folder = folder(&[("meta/manifest.json", text)]);
    let mut manifest = Manifest::load(&DiskFileSystem, folder.path()).unwrap();
    assert_eq!((manifest.strict, manifest.layout, manifest.document_count), (false, None, 50_000));

    manifest.document_count = 7;
    manifest.save(&DiskFileSystem, folder.path(), true).unwrap();
    let stored = std::fs::read_to_string(manifest_path(folder.path())).unwrap();
    let expected = concat!(
        r#"{"collection":"train","version":"0.1.0","strict":false,"x":[1.50],"#,
        r#""created_at":"2025-01-15T10:30:00Z","doc_count":7,"schema_count":1}"#
    );
    let value: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(serde_json::to_string(&value).unwrap(), expected);
}

#[test]
fn what_is_saved_is_loaded() {
    let folder = folder(&[("meta/x", "")]);
    let mut manifest = Manifest::new("users", Layout::Files, SystemTime::UNIX_EPOCH);
    assert!(!manifest.is_stored);
    manifest.strict = true;
    manifest.schema = Some(json!({"type": "object"}));
    manifest.document_count = 3;
    manifest.save(&DiskFileSystem, folder.path(), true).unwrap();

    let mut loaded = Manifest::load(&DiskFileSystem, folder.path()).unwrap();
    assert!(loaded.is_stored && loaded.strict);
    assert_eq!(loaded.layout, Some(Layout::Files));
    assert_eq!(loaded.schema, manifest.schema);
    let object: Value = serde_json::from_str(&loaded.to_text()).unwrap();
    assert_eq!(object["created_at"], "1970-01-01T00:00:00Z");
    assert_eq!(object["collection"], "users");

    loaded.schema = None;
    loaded.save(&DiskFileSystem, folder.path(), false).unwrap();
    assert_eq!(Manifest::load(&DiskFileSystem, folder.path()).unwrap().schema, None);
}

#[test]
fn a_missing_manifest_means_defaults() {
    let folder = folder(&[]);
    let manifest = Manifest::load(&DiskFileSystem, folder.path()).unwrap();
    assert_eq!(manifest, Manifest::fallback());
}

#[test]
fn versions_are_known_or_refused_by_name() {
    for known in ["\"0.1.0\"", "\"1.9\"", "\"v1\"", "1", "1.0", "0"] {
        load(&format!(r#"{{"version":{known}}}"#)).unwrap();
    }
    for newer in ["\"2.0.0\"", "2", "\"17\""] {
        let error = load(&format!(r#"{{"version":{newer}}}"#)).unwrap_err();
        assert!(matches!(error, Error::Version { known: 1, .. }), "{error}");
        assert!(error.to_string().contains("manifest.json"), "{error}");
    }
    for wrong in ["\"new\"", "-1", "[]", "1e3"] {
        let error = load(&format!(r#"{{"version":{wrong}}}"#)).unwrap_err();
        assert!(matches!(error, Error::Corrupted { .. }), "{wrong}: {error}");
    }
}

#[test]
fn damage_is_located() {
    let cases = [
        ("", 0),
        ("[]", 0),
        ("\u{feff}[]", 3),
        ("{\n  \"strict\": tru\n}", 14),
        ("{\"strict\": 1}", 0),
        ("{\"layout\": \"pages\"}", 0),
        ("{} {}", 3),
    ];
    for (text, expected) in cases {
        match load(text) {
            Err(Error::Corrupted { path, offset, .. }) => {
                assert!(path.ends_with("meta/manifest.json"));
                assert_eq!(offset, expected, "{text:?}");
            }
            other => panic!("{text:?}: {other:?}"),
        }
    }
}

#[test]
fn every_truncation_and_bit_flip_is_an_error_or_a_manifest() {
    let mut manifest = Manifest::new("users", Layout::Lines, SystemTime::UNIX_EPOCH);
    manifest.schema = Some(json!({"type": "object", "required": ["a"]}));
    let text = manifest.to_text().trim_end().as_bytes().to_vec();
    let path = Path::new("manifest.json");
    for size in 0..text.len() {
        assert!(Manifest::parse(path, &text[..size]).is_err(), "cut at {size}");
    }
    for bit in 0..text.len() * 8 {
        let mut flipped = text.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match Manifest::parse(path, &flipped) {
            Ok(_) | Err(Error::Version { .. }) => {}
            Err(Error::Corrupted { offset, .. }) => assert!(offset <= text.len() as u64),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn the_layout_is_the_one_named_or_found() {
    use Layout::{Files, Lines};
    const DATA: (&str, &str) = ("meta/data.jsonl", "{\"_id\":\"a\"}\n");
    const NO_DATA: (&str, &str) = ("meta/data.jsonl", "");
    const DOC: (&str, &str) = ("docs/a.json", "{}");
    const NO_DOC: (&str, &str) = ("docs/.keep.json", "");
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<Layout>, Layout, bool);
    let cases: [Case<'_>; 11] = [
        (&[], None, Files, false),
        (&[], Some(Lines), Lines, false),
        (&[NO_DOC], None, Files, false),
        (&[DATA], None, Lines, false),
        (&[DATA, NO_DOC], None, Lines, false),
        (&[NO_DATA], None, Lines, false),
        (&[DOC], None, Files, false),
        (&[NO_DATA, DOC], None, Files, false),
        (&[DATA, DOC], None, Lines, true),
        (&[DATA, DOC], Some(Files), Files, true),
        (&[NO_DATA, DOC], Some(Lines), Lines, true),
    ];
    for (contents, named, expected, reported) in cases {
        let folder = folder(contents);
        let found = FoundLayouts::in_folder(&DiskFileSystem, folder.path(), None).unwrap();
        let manifest = Manifest { layout: named, ..Manifest::fallback() };
        let (layout, notice) = found.choose(&manifest, Files);
        assert_eq!((layout, notice.is_some()), (expected, reported), "{contents:?} {named:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Manifest::parse(Path::new("manifest.json"), &bytes);
    }
}
