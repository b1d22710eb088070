//! Records of the standard corpus that fail here on purpose, with the reasons.

use std::collections::{BTreeMap, HashMap};

/// Reasons by file and line.
pub(crate) fn all() -> HashMap<&'static str, BTreeMap<usize, &'static str>> {
    let mut all: HashMap<&str, BTreeMap<usize, &str>> = HashMap::new();
    for line in include_str!("exceptions.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let parts: Vec<&str> = line.splitn(3, '|').map(str::trim).collect();
        let [file, lines, reason] = parts[..] else { panic!("not an exception: {line}") };
        for number in lines.split_whitespace() {
            let number = number.parse().expect("the number of a line");
            all.entry(file).or_default().insert(number, reason);
        }
    }
    all
}
