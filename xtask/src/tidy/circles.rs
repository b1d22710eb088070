//! Modules of a crate that import each other in a circle.
//!
//! Cargo refuses circles of crates; inside a crate nothing does, and files that import each
//! other in a circle can only be understood together. Two measures per crate, from the `use`
//! declarations and the paths in the code, tests left out:
//!
//! - `circle`: the files of the largest circle. Up to [`CIRCLE_MAX`] are one noun that is cut
//!   into files; more are a knot.
//! - `pair`: how many pairs of modules at the top of the crate import each other.
//!
//! A name that a module re-exports counts for the file that it comes from, so that a list of
//! `pub use` is no import. A path through a macro is not seen.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::allowance::Allowances;
use super::tree::{Language, SourceFile, Tree};

/// Files that may import each other in a circle.
const CIRCLE_MAX: usize = 7;

pub(super) fn check(tree: &Tree, allowances: &mut Allowances) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources(tree) {
        let modules = Modules::read(tree, &source);
        let imports = modules.imports();
        let circle = largest_circle(&imports);
        if circle.len() > CIRCLE_MAX && !allowances.allow("circle", &source, circle.len()) {
            let names: Vec<&str> =
                circle.iter().take(4).map(|path| &path[source.len()..]).collect();
            let message = format!(
                "{} files import each other in a circle, at most {CIRCLE_MAX}: {}, …",
                circle.len(),
                names.join(", ")
            );
            findings.push(Finding::new(&source, 1, message));
        }
        let pairs = mutual_pairs(&imports, &source);
        if !pairs.is_empty() && !allowances.allow("pair", &source, pairs.len()) {
            let names: Vec<String> =
                pairs.iter().map(|(left, right)| format!("{left} and {right}")).collect();
            let message = format!("modules import each other: {}", names.join(", "));
            findings.push(Finding::new(&source, 1, message));
        }
    }
    findings
}

/// Prints the largest circle of each crate whose folder contains `wanted`, file by file with
/// what each file imports of it, and the imports behind each pair of modules.
pub(super) fn print(tree: &Tree, wanted: &str) {
    for source in sources(tree).iter().filter(|source| source.contains(wanted)) {
        let modules = Modules::read(tree, source);
        let imports = modules.imports();
        let circle = largest_circle(&imports);
        println!("{source}: {} files in the largest circle", circle.len());
        for file in circle.iter().filter(|_| circle.len() > 1) {
            let targets = imports[file].iter().filter(|target| circle.contains(target));
            let targets: Vec<&str> = targets.map(|target| &target[source.len()..]).collect();
            println!("  {} → {}", &file[source.len()..], targets.join(" "));
        }
        for (left, right) in mutual_pairs(&imports, source) {
            println!("{source}: {left} and {right} import each other");
            for (from, to) in [(&left, &right), (&right, &left)] {
                for (file, target) in arrows_between(&imports, source, from, to) {
                    println!("  {} → {}", &file[source.len()..], &target[source.len()..]);
                }
            }
        }
    }
}

/// The imports from one module at the top of a crate to another.
fn arrows_between<'a>(
    imports: &'a BTreeMap<&'a str, BTreeSet<&'a str>>,
    source: &str,
    from: &str,
    to: &str,
) -> Vec<(&'a str, &'a str)> {
    let arrows = imports.iter().filter(|(file, _)| top_module(file, source) == Some(from));
    let arrows = arrows.flat_map(|(file, targets)| targets.iter().map(|target| (*file, *target)));
    arrows.filter(|(_, target)| top_module(target, source) == Some(to)).collect()
}

/// The `src/` folders of the crates, each with a slash behind it.
fn sources(tree: &Tree) -> Vec<String> {
    let manifests = tree.files().iter().filter_map(|file| file.path.strip_suffix("Cargo.toml"));
    manifests
        .map(|folder| format!("{folder}src/"))
        .filter(|folder| is_crate(tree, folder))
        .collect()
}

fn is_crate(tree: &Tree, source: &str) -> bool {
    ["lib.rs", "main.rs"].iter().any(|root| tree.exists(&format!("{source}{root}")))
}

/// The modules of a crate: their files by their paths, such as `btree::seek`.
struct Modules<'a> {
    files: BTreeMap<String, &'a SourceFile>,
    /// What a module re-exports: the path of a name, and where it comes from.
    exports: BTreeMap<String, Vec<String>>,
}

impl<'a> Modules<'a> {
    fn read(tree: &'a Tree, source: &str) -> Self {
        let mut modules = Self { files: BTreeMap::new(), exports: BTreeMap::new() };
        for file in tree.in_language(Language::Rust) {
            let Some(path) = file.path.strip_prefix(source) else { continue };
            if let Some(module) = module_of(path) {
                modules.files.insert(module, file);
            }
        }
        let mut exports = BTreeMap::new();
        for (module, file) in &modules.files {
            for (name, target) in uses(file, module).into_iter().filter_map(Use::export) {
                exports.entry(join(module, &name)).or_insert_with(Vec::new).push(target);
            }
        }
        modules.exports = exports;
        modules
    }

    /// The files that each file imports.
    fn imports(&self) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
        let mut imports = BTreeMap::new();
        for (module, file) in &self.files {
            let mut targets = BTreeSet::new();
            for path in uses(file, module).into_iter().filter_map(Use::import) {
                if let Some(target) = self.file_of(&path, 8) {
                    targets.insert(target);
                }
            }
            targets.remove(&*file.path);
            imports.insert(&*file.path, targets);
        }
        imports
    }

    /// The file where the last name of a path is defined, through at most `hops` re-exports.
    fn file_of(&self, path: &str, hops: usize) -> Option<&'a str> {
        let mut module = path;
        loop {
            let origins = self.exports.get(module).filter(|_| hops > 0);
            if let Some(origin) = origins.and_then(|origins| origins.first()) {
                let rest = &path[module.len()..];
                return self.file_of(&format!("{origin}{rest}"), hops - 1);
            }
            if let Some(file) = self.files.get(module) {
                return Some(&file.path);
            }
            module = module.rsplit_once("::").map_or("", |(parent, _)| parent);
        }
    }
}

/// The module of a file below `src/`; tests are none.
fn module_of(path: &str) -> Option<String> {
    let path = path.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let is_test = path.split('/').any(|part| part == "tests" || part.ends_with("_tests"));
    match path {
        _ if is_test => None,
        "lib" | "main" => Some(String::new()),
        path => Some(path.replace('/', "::")),
    }
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// A path that code names, from the root of its crate.
struct Use {
    path: String,
    /// The name under which it is re-exported.
    exported: Option<String>,
}

impl Use {
    fn export(self) -> Option<(String, String)> {
        self.exported.map(|name| (name, self.path))
    }

    fn import(self) -> Option<String> {
        self.exported.is_none().then_some(self.path)
    }
}

/// What a file names of its own crate, down to the tests at its end.
fn uses(file: &SourceFile, module: &str) -> Vec<Use> {
    let code = file.code.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(|letter: char| letter.is_alphanumeric() || letter == '_') {
        rest = &rest[start..];
        let end = rest
            .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        if word == "use" {
            let (tree, after) = after.split_once(';').unwrap_or((after, ""));
            let before = code[..code.len() - tree.len() - after.len() - 1].trim_end();
            let before = before.strip_suffix("use").unwrap_or(before).trim_end();
            let is_export = before.ends_with("pub") || is_restricted(before);
            let tree: String = tree.split_whitespace().collect::<Vec<_>>().join(" ");
            flatten(&tree, "", module, is_export, &mut found);
            rest = after;
        } else if matches!(word, "crate" | "super" | "self") && after.starts_with("::") {
            let length = after
                .find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':')
                .unwrap_or(after.len());
            let path = format!("{word}{}", after[..length].trim_end_matches(':'));
            found.extend(absolute(&path, module).map(|path| Use { path, exported: None }));
            rest = &after[length..];
        }
    }
    found
}

/// Whether text ends in `pub(…)`.
fn is_restricted(text: &str) -> bool {
    text.ends_with(')') && text.rfind("pub(").is_some_and(|at| !text[at..].contains(';'))
}

/// `a::{b, c as d}` as its paths.
fn flatten(tree: &str, prefix: &str, module: &str, is_export: bool, found: &mut Vec<Use>) {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let prefix = format!("{prefix}{}", tree[..open].replace(' ', ""));
        let inner = tree[open + 1..].trim_end().trim_end_matches('}');
        let (mut depth, mut start) = (0usize, 0);
        for (at, letter) in inner.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    flatten(&inner[start..at], &prefix, module, is_export, found);
                    start = at + 1;
                }
                _ => {}
            }
        }
        flatten(&inner[start..], &prefix, module, is_export, found);
        return;
    }
    if tree.is_empty() {
        return;
    }
    let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
    let path = format!("{prefix}{path}");
    let path = path.strip_suffix("::self").unwrap_or(&path);
    let Some(path) = absolute(path, module) else { return };
    let last = path.rsplit("::").next().unwrap_or_default();
    let name = if alias.is_empty() { last } else { alias.trim() }.to_owned();
    found.push(Use { path, exported: is_export.then_some(name) });
}

/// A path from the crate's root; `None` for what other crates have. A path that begins with
/// neither `crate`, `self` nor `super` may lead into a child: it is taken for one, and leads
/// back to the module itself where there is none.
fn absolute(path: &str, module: &str) -> Option<String> {
    let mut base = module.to_owned();
    let mut parts = path.split("::").peekable();
    match parts.peek().copied() {
        Some("crate") => {
            base.clear();
            parts.next();
        }
        Some("self") => {
            parts.next();
        }
        Some("super") => {}
        Some(first) if first.starts_with(char::is_lowercase) => {}
        _ => return None,
    }
    while parts.next_if_eq(&"super").is_some() {
        base.truncate(base.rfind("::").unwrap_or(0));
    }
    for part in parts {
        base = join(&base, part);
    }
    Some(base)
}

/// The largest set of files of which each leads to each other.
fn largest_circle<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<&'a str> {
    let mut largest = Vec::new();
    let mut seen = BTreeSet::new();
    let backwards = reversed(imports);
    for file in imports.keys() {
        if seen.contains(file) {
            continue;
        }
        let after = reached(file, imports);
        let circle: Vec<&str> = reached(file, &backwards).intersection(&after).copied().collect();
        seen.extend(circle.iter().copied());
        if circle.len() > largest.len() {
            largest = circle;
        }
    }
    largest
}

fn reversed<'a>(
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut backwards: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, targets) in imports {
        for target in targets {
            backwards.entry(target).or_default().insert(file);
        }
    }
    backwards
}

/// A file, and all that it leads to.
fn reached<'a>(file: &'a str, imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::from([file]);
    let mut open = vec![file];
    while let Some(next) = open.pop() {
        for target in imports.get(next).into_iter().flatten() {
            if found.insert(target) {
                open.push(target);
            }
        }
    }
    found
}

/// Modules at the top of a crate that import each other; its root is none.
fn mutual_pairs(
    imports: &BTreeMap<&str, BTreeSet<&str>>,
    source: &str,
) -> BTreeSet<(String, String)> {
    let mut arrows = BTreeSet::new();
    for (file, targets) in imports {
        for target in targets {
            if let (Some(from), Some(to)) = (top_module(file, source), top_module(target, source))
                && from != to
            {
                arrows.insert((from.to_owned(), to.to_owned()));
            }
        }
    }
    let is_mutual =
        |(from, to): &&(String, String)| from < to && arrows.contains(&(to.clone(), from.clone()));
    arrows.iter().filter(is_mutual).cloned().collect()
}

/// The module at the top of the crate that a file belongs to.
fn top_module<'a>(path: &'a str, source: &str) -> Option<&'a str> {
    let name = path.strip_prefix(source)?.split('/').next()?.trim_end_matches(".rs");
    (!matches!(name, "lib" | "main")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::{expect, expect_allowing};
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/a/Cargo.toml", "[package]\n");

    #[test]
    fn modules_that_import_each_other() {
        let root = ("crates/a/src/lib.rs", "mod b;\nmod c;\n");
        let back = ("crates/a/src/c/mod.rs", "use crate::b::{self, Beta};\n");
        let planted = [MANIFEST, root, ("crates/a/src/b.rs", "use crate::c::Gamma;\n"), back];
        let found = ["crates/a/src/:1: modules import each other: b and c"];
        expect(check, &planted, &found);
        expect_allowing(check, "pair crates/a/src/ 1 told apart in the next step\n", &planted, &[]);
        let one_way = [MANIFEST, root, ("crates/a/src/b.rs", "use std::fmt;\n"), back];
        expect(check, &one_way, &[]);
    }

    #[test]
    fn a_re_export_and_a_test_are_no_imports() {
        let planted = [
            MANIFEST,
            ("crates/a/src/lib.rs", "mod b;\nmod c;\npub use b::Beta;\npub(crate) use c::Gamma;\n"),
            ("crates/a/src/b.rs", "use crate::Gamma;\n"),
            ("crates/a/src/c.rs", "fn f() {}\n#[cfg(test)]\nmod tests { use crate::b::Beta; }\n"),
        ];
        expect(check, &planted, &[]);
        let inline = ("crates/a/src/c.rs", "fn f() -> crate::Beta { todo() }\n");
        let found = ["crates/a/src/:1: modules import each other: b and c"];
        expect(check, &[planted[0], planted[1], planted[2], inline], &found);
    }

    #[test]
    fn eight_files_in_a_circle() {
        let ring = |count: usize| {
            let mut files = vec![
                (MANIFEST.0.to_owned(), MANIFEST.1.to_owned()),
                ("crates/a/src/lib.rs".to_owned(), "mod m;\n".to_owned()),
                ("crates/a/src/m/mod.rs".to_owned(), String::new()),
            ];
            files.extend((0..count).map(|n| {
                let next = (n + 1) % count;
                (format!("crates/a/src/m/f{n}.rs"), format!("use super::f{next}::F;\n"))
            }));
            files
        };
        let check_ring = |count: usize| {
            let files = ring(count);
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (&**path, &**text)).collect();
            check(&Tree::from_files(&files), &mut Allowances::default()).len()
        };
        assert_eq!((check_ring(7), check_ring(8)), (0, 1));
    }
}
