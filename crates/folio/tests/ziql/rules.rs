//! Checks that the list of rules and the scripts that show them agree.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_rule_has_a_section_and_every_section_a_rule() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/ziql");
    let mut sections = BTreeSet::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(script) = path.to_str().unwrap().strip_suffix(".txt") else { continue };
        let script = script.rsplit('/').next().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let names = text.lines().filter_map(|line| line.strip_prefix("== "));
        sections.extend(names.map(|name| format!("{script}: {name}")));
    }
    let rules = fs::read_to_string(folder.join("rules.md")).unwrap();
    let mut shown = BTreeSet::new();
    let mut lines = rules.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(section) = line.strip_prefix("  - ") {
            assert!(sections.contains(section), "there is no section `{section}`");
            shown.insert(section.to_owned());
        } else if line.starts_with("- ") {
            let is_shown = lines.peek().is_some_and(|next| next.starts_with("  - "));
            assert!(is_shown, "no section shows: {line}");
        }
    }
    let left: Vec<_> = sections.difference(&shown).collect();
    assert!(left.is_empty(), "sections of no rule: {left:#?}");
    assert!(shown.len() > 60, "{} sections", shown.len());
}
