//! Path patterns: `*`, `?`, `[a-z]` within a name, `**` for any number of folders.
//!
//! DuckDB's C interface opens files but does not expand patterns, so this module searches the local
//! disk.

use crate::bind::is_pattern;
use std::path::{Path, PathBuf};

/// The local files that `pattern` matches, sorted.
pub(crate) fn expand(pattern: &str) -> Result<Vec<String>, String> {
    if pattern.contains("://") {
        return Err(format!(
            "cannot expand \"{pattern}\": patterns work on local files; list the files"
        ));
    }
    let (root, rest) = match pattern.strip_prefix('/') {
        Some(rest) => (PathBuf::from("/"), rest),
        None => (PathBuf::new(), pattern),
    };
    let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    let mut found = Vec::new();
    walk(&root, &parts, &mut found);
    found.sort();
    found.dedup();
    if found.is_empty() {
        return Err(format!("no files match \"{pattern}\""));
    }
    Ok(found)
}

fn walk(folder: &Path, parts: &[&str], found: &mut Vec<String>) {
    let Some((part, rest)) = parts.split_first() else { return };
    if *part == "**" {
        walk(folder, rest, found);
        for (path, is_folder) in entries(folder) {
            if is_folder {
                walk(&path, parts, found);
            }
        }
        return;
    }
    if !is_pattern(part) {
        return step(&folder.join(part), rest, found);
    }
    for (path, _) in entries(folder) {
        let name =
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let hidden = name.starts_with('.') && !part.starts_with('.');
        if !hidden && matches(part.as_bytes(), name.as_bytes()) {
            step(&path, rest, found);
        }
    }
}

fn step(path: &Path, rest: &[&str], found: &mut Vec<String>) {
    match rest.is_empty() {
        true if path.is_file() => found.push(path.to_string_lossy().into_owned()),
        true => {}
        false => walk(path, rest, found),
    }
}

/// The entries of `folder`. Links to folders do not count as folders, so that every walk ends.
fn entries(folder: &Path) -> Vec<(PathBuf, bool)> {
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(listing) = std::fs::read_dir(place) else { return Vec::new() };
    let entries = listing.flatten().map(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        (folder.join(entry.file_name()), is_folder)
    });
    entries.collect()
}

/// Whether `name` matches `pattern`, in time proportional to their product.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match one(&pattern[at..], name[from]) {
            Some(length) => {
                at += length;
                from += 1;
            }
            None if pattern.get(at) == Some(&b'*') => {
                star = Some((at + 1, from));
                at += 1;
            }
            None => match &mut star {
                Some((after, taken)) => {
                    *taken += 1;
                    (at, from) = (*after, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// The length of the pattern's first item if it matches `byte`.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern.first()? {
        b'*' => None,
        b'?' => Some(1),
        b'[' => {
            let close = pattern.iter().position(|byte| *byte == b']')?;
            let set = &pattern[1..close];
            let (negated, set) = match set.first() {
                Some(b'!' | b'^') => (true, &set[1..]),
                _ => (false, set),
            };
            let within = set.contains(&byte)
                || set
                    .windows(3)
                    .any(|range| range[1] == b'-' && (range[0]..=range[2]).contains(&byte));
            (within != negated).then_some(close + 1)
        }
        first => (*first == byte).then_some(1),
    }
}
