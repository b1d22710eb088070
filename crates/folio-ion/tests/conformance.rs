//! The official test files of Ion 1.0, from a folder laid out like `iontestdata` of ion-tests.
//!
//! `ION_TESTS_DIR` names the folder; without it, our own small folder of the same layout runs. What
//! is under `good` must read, survive text and binary and come back equal; what is under `bad` must be
//! refused. Files under `good/equivs` hold sequences (lists or s-expressions) whose elements are all
//! equal, under `good/non-equivs` all different; the annotation `embedded_documents` means that the
//! elements are strings of text Ion. Those under `good/timestamp/equivTimeline` are timestamps of one
//! point in time, whatever their precision and offset. Limits are raised: some files promise more than
//! the defaults allow.

use folio_ion::{Element, Limits, Reader, Result as Read, Symbol, Value, write};
use std::path::{Path, PathBuf};

/// Files that this crate is known to judge differently, with the reason.
const SKIPPED: [(&str, &str); 2] = [
    (
        "good/utf16.ion",
        "text Ion in UTF-16; readers here take UTF-8, as the specification recommends",
    ),
    ("good/utf32.ion", "the same in UTF-32"),
];

/// All values of `bytes`, with very high limits.
fn read_all(bytes: &[u8]) -> Read<Vec<Element>> {
    let limits = Limits {
        symbol_count: u32::MAX as usize,
        decimal_exponent: i32::MAX as u32,
        digit_count: 1 << 20,
        ..Limits::default()
    };
    Reader::new(bytes).with_limits(limits).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let ion = path.extension().is_some_and(|ending| ending == "ion" || ending == "10n");
        match path.is_dir() {
            true => files(&path, found),
            false if ion => found.push(path),
            false => {}
        }
    }
}

fn check_good(name: &str, bytes: &[u8]) -> Result<(), String> {
    let values = read_all(bytes).map_err(|error| format!("refused: {error}"))?;
    let text: Vec<String> = values.iter().map(write::to_text).collect();
    let again =
        read_all(text.join("\n").as_bytes()).map_err(|error| format!("own text: {error}"))?;
    // Symbols of a missing table lose the place of their text on the way.
    let known = !text.iter().any(|text| text.contains("$0"));
    if known && again != values {
        return Err("text does not come back equal".to_owned());
    }
    let binary =
        read_all(&write::to_binary(&values)).map_err(|error| format!("own binary: {error}"))?;
    if known && binary != values {
        return Err("binary does not come back equal".to_owned());
    }
    match () {
        () if name.contains("equivTimeline/") => points_in_time(&values),
        () if name.contains("non-equivs/") => groups(&values, false),
        () if name.contains("equivs/") => groups(&values, true),
        () => Ok(()),
    }
}

fn points_in_time(values: &[Element]) -> Result<(), String> {
    for group in values {
        let points =
            group.elements().unwrap_or_default().iter().map(|element| match &element.value {
                Value::Timestamp(timestamp) => Ok(timestamp.to_micros()),
                _ => Err("not a timestamp".to_owned()),
            });
        let points = points.collect::<Result<Vec<_>, _>>()?;
        if points.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(format!("different points in time in {}", write::to_text(group)));
        }
    }
    Ok(())
}

fn groups(values: &[Element], equal: bool) -> Result<(), String> {
    for group in values {
        let embedded =
            group.annotations.first().and_then(Symbol::text) == Some("embedded_documents");
        let elements = group.elements().unwrap_or_default();
        let members: Vec<Vec<Element>> = match embedded {
            false => elements.iter().map(|element| vec![element.clone()]).collect(),
            true => elements
                .iter()
                .map(|element| match &element.value {
                    Value::String(text) => {
                        read_all(text.as_bytes()).map_err(|error| error.to_string())
                    }
                    _ => Err("an embedded document is not a string".to_owned()),
                })
                .collect::<Result<_, _>>()?,
        };
        for (index, one) in members.iter().enumerate() {
            for (other_index, other) in members.iter().enumerate().skip(index + 1) {
                if (one == other) != equal {
                    return Err(format!(
                        "elements {index} and {other_index} of {}",
                        write::to_text(group)
                    ));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn official_files() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let root = std::env::var_os("ION_TESTS_DIR").map_or(own, PathBuf::from);
    let mut paths = Vec::new();
    files(&root, &mut paths);
    paths.sort();
    let (mut good, mut bad, mut failures) = (0, 0, Vec::new());
    for path in &paths {
        let name = path.strip_prefix(&root).unwrap_or(path).to_string_lossy().into_owned();
        if SKIPPED.iter().any(|(skipped, _)| name.ends_with(skipped)) {
            continue;
        }
        let bytes = std::fs::read(path).expect("a file just listed can be read");
        let judged = if name.contains("bad/") {
            bad += 1;
            match read_all(&bytes) {
                Ok(values) => Err(format!("accepted as {values:?}")),
                Err(_) => Ok(()),
            }
        } else {
            good += 1;
            check_good(&name, &bytes)
        };
        if let Err(why) = judged {
            failures.push(format!("{name}: {why}"));
        }
    }
    println!("{good} good and {bad} bad files, {} failures", failures.len());
    assert!(good > 0 && bad > 0, "no files under {}", root.display());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
