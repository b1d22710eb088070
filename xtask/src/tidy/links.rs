//! Relative links in Markdown resolve, anchors included.

use std::collections::BTreeSet;

use super::Finding;
use super::allowance::Allowances;
use super::tree::{Language, SourceFile, Tree};

pub(super) fn check(tree: &Tree, _allowances: &mut Allowances) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.in_language(Language::Markdown) {
        for (line, target) in links(&file.text) {
            if let Some(message) = broken(tree, file, target) {
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    findings
}

/// What is wrong with a link; nothing for one that leaves the repository.
fn broken(tree: &Tree, file: &SourceFile, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let resolved =
        if path.is_empty() { Some(file.path.clone()) } else { resolve(&file.path, path) };
    let Some(resolved) = resolved else {
        return Some(format!("link `{target}` leaves the repository"));
    };
    if !tree.exists(&resolved) {
        return Some(format!("link `{target}`: no file {resolved}"));
    }
    let headed =
        anchor.is_empty() || tree.text(&resolved).is_none_or(|text| anchors(text).contains(anchor));
    (!headed).then(|| format!("link `{target}`: no heading `#{anchor}` in {resolved}"))
}

/// `target` as seen from the folder of `from`; none above the root.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The targets of `[text](target)` and `[label]: target`, with their lines,
/// code left out.
fn links(markdown: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in prose_lines(markdown) {
        for (offset, _) in line.match_indices("](") {
            let in_code = line[..offset].matches('`').count() % 2 == 1;
            if let Some(end) = line[offset..].find(')')
                && !in_code
            {
                let target = &line[offset + 2..offset + end];
                found.push((number, target.split(' ').next().unwrap_or(target)));
            }
        }
        if let Some(rest) = line.strip_prefix('[')
            && let Some((_, target)) = rest.split_once("]: ")
        {
            found.push((number, target.trim()));
        }
    }
    found
}

/// The lines outside of fenced blocks, numbered from 1.
fn prose_lines(markdown: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    markdown.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fence && !fenced).then_some((index + 1, line))
    })
}

/// The anchors that a forge gives to the headings.
fn anchors(markdown: &str) -> BTreeSet<String> {
    let headings = prose_lines(markdown).filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| slug(line.trim_start_matches('#').trim())).collect()
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::super::expect;
    use super::*;

    #[test]
    fn what_resolves() {
        let readme = "[a](docs/a.md#two-words) [b](docs) [c](https://example.org/x)\n\
            `[d](gone.md)`\n```\n[e](gone.md)\n```\n[f]: docs/a.md\n[g](#top)\n# Top\n";
        let planted =
            [("README.md", readme), ("docs/a.md", "## Two `words`!\n[r](../README.md)\n")];
        expect(check, &planted, &[]);
    }

    #[test]
    fn what_does_not() {
        let planted = [
            ("README.md", "\n[a](docs/b.md)\n[b](docs/a.md#three)\n[c]: gone\n"),
            ("docs/a.md", "# Two\n[out](../../etc)\n"),
        ];
        let found = [
            "README.md:2: link `docs/b.md`: no file docs/b.md",
            "README.md:3: link `docs/a.md#three`: no heading `#three` in docs/a.md",
            "README.md:4: link `gone`: no file gone",
            "docs/a.md:2: link `../../etc` leaves the repository",
        ];
        expect(check, &planted, &found);
    }
}
