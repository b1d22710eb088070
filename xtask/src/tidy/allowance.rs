//! The allow-list: what breaks a rule today, by how much, and why.
//!
//! `xtask/tidy-allow.txt` holds one entry a line:
//!
//! ```text
//! length crates/folio-sql/src/bind.rs 540 one arm per statement, none longer than a line
//! length crates/folio-sql/src/bind.rs::bind_select 82 splits badly: the clauses share a scope
//! words .github/workflows/release.yml 2 a release names the registry it publishes to
//! ```
//!
//! The list may only shrink. An entry's number is exact: when the measure falls, or the
//! entry is no longer needed, tidy asks for the entry to follow; when it
//! rises, that is a finding like any other. [`ENTRIES_MAX`] does the same for
//! the number of entries, so that adding one means raising a constant in a
//! reviewed file.

use super::Finding;
use super::tree::Tree;

pub(super) const LIST: &str = "xtask/tidy-allow.txt";

/// The length of the list. Lower it when an entry goes; raising it needs an
/// argument that the reader of the commit accepts.
const ENTRIES_MAX: usize = 1;

const REASON_WORDS_MIN: usize = 4;

#[derive(Debug)]
struct Entry {
    line: usize,
    rule: String,
    place: String,
    measure: usize,
    reason: String,
    /// What the check measured where this entry was asked for.
    measured: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Allowances {
    entries: Vec<Entry>,
}

impl Allowances {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = parse_entry(line, index + 1).ok_or_else(|| {
                format!("{LIST}:{}: expected `rule path[::function] number reason`", index + 1)
            })?;
            entries.push(entry);
        }
        Ok(Allowances { entries })
    }

    /// True when the list lets `place` reach `measure` under `rule`. Every
    /// check asks for each place it would report, so that entries without a
    /// place show up as unused.
    pub(super) fn allow(&mut self, rule: &str, place: &str, measure: usize) -> bool {
        let entry = self.entries.iter_mut().find(|e| e.rule == rule && e.place == place);
        match entry {
            Some(entry) => {
                entry.measured = Some(measure);
                measure <= entry.measure
            }
            None => false,
        }
    }
}

fn parse_entry(line: &str, number: usize) -> Option<Entry> {
    let mut words = line.splitn(4, ' ');
    Some(Entry {
        line: number,
        rule: words.next()?.to_owned(),
        place: words.next()?.to_owned(),
        measure: words.next()?.parse().ok()?,
        reason: words.next()?.trim().to_owned(),
        measured: None,
    })
}

/// Reports entries that can be lowered or removed, and reasons that say
/// nothing. Runs after every other check.
pub(super) fn check(_tree: &Tree, allowances: &mut Allowances) -> Vec<Finding> {
    let mut findings = check_entries(allowances);
    let count = allowances.entries.len();
    if count != ENTRIES_MAX {
        let message = format!("{count} entries, but ENTRIES_MAX in allowance.rs is {ENTRIES_MAX}");
        findings.push(Finding::new(LIST, 1, message));
    }
    findings
}

fn check_entries(allowances: &Allowances) -> Vec<Finding> {
    let mut findings = Vec::new();
    for entry in &allowances.entries {
        let message = match entry.measured {
            None => Some("is no longer needed: remove the entry".to_owned()),
            Some(measured) if measured < entry.measure => {
                Some(format!("is down to {measured}: lower the entry from {}", entry.measure))
            }
            Some(_) => None,
        };
        if let Some(message) = message {
            let message = format!("{} {} {message}", entry.rule, entry.place);
            findings.push(Finding::new(LIST, entry.line, message));
        }
        if entry.reason.split_whitespace().count() < REASON_WORDS_MIN {
            findings.push(Finding::new(LIST, entry.line, "the reason does not say why"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "length a.rs 540 one arm per statement kind\n";

    fn expect(list: &str, measured: Option<usize>, expected: &[&str]) {
        let mut allowances = Allowances::parse(list).expect("the planted list parses");
        if let Some(measured) = measured {
            allowances.allow("length", "a.rs", measured);
        }
        let messages: Vec<String> =
            check_entries(&allowances).into_iter().map(|finding| finding.message).collect();
        assert_eq!(messages, expected);
    }

    #[test]
    fn an_entry_follows_its_measure() {
        expect(ENTRY, Some(540), &[]);
        expect(ENTRY, Some(510), &["length a.rs is down to 510: lower the entry from 540"]);
        expect(ENTRY, None, &["length a.rs is no longer needed: remove the entry"]);
    }

    #[test]
    fn an_entry_does_not_cover_growth() {
        let mut allowances = Allowances::parse(ENTRY).expect("the planted list parses");
        assert!(allowances.allow("length", "a.rs", 540));
        assert!(!allowances.allow("length", "a.rs", 541));
        assert!(!allowances.allow("length", "b.rs", 1));
    }

    #[test]
    fn a_reason_has_words() {
        expect("length a.rs 540 too long\n", Some(540), &["the reason does not say why"]);
        assert!(Allowances::parse("length a.rs 540\n").is_err());
        assert!(Allowances::parse("# a comment\n\n").is_ok());
    }

    #[test]
    fn the_number_of_entries_is_part_of_the_source() {
        let count = ENTRIES_MAX + 1;
        let mut allowances =
            Allowances::parse(&ENTRY.repeat(count)).expect("the planted list parses");
        let findings = check(&Tree::default(), &mut allowances);
        let counted = format!("{count} entries");
        assert!(findings.iter().any(|finding| finding.message.starts_with(&counted)));
    }
}
