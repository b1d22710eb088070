//! The files that the checks read: everything git tracks or would track.
//!
//! A file that is not UTF-8 or larger than a mebibyte holds data, not text
//! that people wrote, and is listed by name only. Tests plant a tree in memory
//! with `Tree::from_files`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use super::blank::blank;

const TEXT_SIZE_MAX: usize = 1024 * 1024;

/// Folders that commands make, as `.gitignore` lists them.
const BUILT_FOLDERS: [&str; 5] = ["target", "build", ".venv", "node_modules", "__pycache__"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Python,
    /// JavaScript and TypeScript.
    Script,
    Shell,
    Markdown,
    Other,
}

impl Language {
    fn of(path: &str, text: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("rs") => Language::Rust,
            Some("py") => Language::Python,
            Some("js" | "mjs" | "cjs" | "ts") => Language::Script,
            Some("sh") => Language::Shell,
            Some("md") => Language::Markdown,
            None if text.starts_with("#!") && text.lines().next().is_some_and(is_shell) => {
                Language::Shell
            }
            _ => Language::Other,
        }
    }
}

fn is_shell(first_line: &str) -> bool {
    first_line.ends_with("bash") || first_line.ends_with("sh")
}

#[derive(Debug)]
pub(super) struct SourceFile {
    /// From the repository's root, with forward slashes.
    pub(super) path: String,
    pub(super) text: String,
    /// The text with comments and string contents replaced by spaces: same
    /// length, same lines.
    pub(super) code: String,
    pub(super) language: Language,
}

impl SourceFile {
    fn new(path: &str, text: String) -> Self {
        let language = Language::of(path, &text);
        let code = blank(&text, language);
        SourceFile { path: path.to_owned(), text, code, language }
    }

    /// A generated file says so near its top; nobody edits its lines.
    pub(super) fn is_generated(&self) -> bool {
        self.text.lines().take(5).any(|line| line.contains("@generated"))
    }
}

#[derive(Debug, Default)]
pub(super) struct Tree {
    files: Vec<SourceFile>,
    /// Every file and folder, those that are no text included.
    names: BTreeSet<String>,
}

impl Tree {
    /// Reads what git lists at `root`: tracked files, and untracked ones that
    /// no ignore rule covers, so that a new file is checked before it is added.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let mut tree = Tree::default();
        for path in listed_files(root)? {
            // A file deleted in the working tree is still listed.
            let Ok(bytes) = fs::read(root.join(&path)) else { continue };
            let text =
                if bytes.len() > TEXT_SIZE_MAX { None } else { String::from_utf8(bytes).ok() };
            tree.insert(&path, text);
        }
        Ok(tree)
    }

    #[cfg(test)]
    pub(super) fn from_files(files: &[(&str, &str)]) -> Self {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.insert(path, Some((*text).to_owned()));
        }
        tree
    }

    fn insert(&mut self, path: &str, text: Option<String>) {
        for (slash, _) in path.match_indices('/') {
            self.names.insert(path[..slash].to_owned());
        }
        self.names.insert(path.to_owned());
        if let Some(text) = text {
            self.files.push(SourceFile::new(path, text));
        }
    }

    pub(super) fn files(&self) -> &[SourceFile] {
        &self.files
    }

    pub(super) fn in_language(&self, language: Language) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(move |file| file.language == language)
    }

    pub(super) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.file(path).map(|file| file.text.as_str())
    }

    /// True for a file or a folder of the tree.
    pub(super) fn exists(&self, path: &str) -> bool {
        path.is_empty() || self.names.contains(path)
    }
}

/// What git lists; in an unpacked archive, which has no git, what lies there.
fn listed_files(root: &Path) -> Result<BTreeSet<String>, String> {
    if !root.join(".git").exists() {
        let mut found = BTreeSet::new();
        walk(root, "", &mut found)?;
        return Ok(found);
    }
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run git to list the files: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("git cannot list the files of {}: {reason}", root.display()));
    }
    let listing = String::from_utf8_lossy(&output.stdout);
    Ok(listing.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn walk(root: &Path, folder: &str, found: &mut BTreeSet<String>) -> Result<(), String> {
    let unreadable = |error: io::Error| format!("cannot list {folder}: {error}");
    for entry in fs::read_dir(root.join(folder)).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if !entry.file_type().map_err(unreadable)?.is_dir() {
            found.insert(path);
        } else if !BUILT_FOLDERS.contains(&name.as_str()) {
            walk(root, &path, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_exist_beside_files() {
        let tree = Tree::from_files(&[("docs/formats/document-store.md", "# Format\n")]);
        assert!(tree.exists("docs/formats"));
        assert!(tree.exists("docs/formats/document-store.md"));
        assert!(!tree.exists("docs/format"));
    }

    #[test]
    fn a_script_without_extension_is_known_by_its_first_line() {
        let tree = Tree::from_files(&[
            ("scripts/setup", "#!/usr/bin/env bash\n"),
            ("scripts/setup.txt", "#!/usr/bin/env bash\n"),
            ("LICENSE-MIT", "MIT License\n"),
        ]);
        let languages: Vec<Language> = tree.files().iter().map(|file| file.language).collect();
        assert_eq!(languages, [Language::Shell, Language::Other, Language::Other]);
    }
}
