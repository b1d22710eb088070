//! Finds the functions of a source file and the lines each one spans.
//!
//! Rust and JavaScript functions end where their braces balance, Python's
//! where the indentation falls back. A closure or an arrow inside a function
//! belongs to it; a named function inside one is counted on its own too.

use super::blank::{is_word_byte, line_at, words};
use super::tree::{Language, SourceFile};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// From 1: the line of the name.
    pub(super) first_line: usize,
    /// The line of the closing brace, or the last indented one.
    pub(super) last_line: usize,
}

impl Function {
    pub(super) fn line_count(&self) -> usize {
        self.last_line - self.first_line + 1
    }
}

pub(super) fn functions(file: &SourceFile) -> Vec<Function> {
    match file.language {
        Language::Rust => rust(&file.code),
        Language::Python => python(&file.code),
        Language::Script => script(&file.code),
        _ => Vec::new(),
    }
}

fn rust(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for offset in words(code, "fn") {
        let name = leading_word(&code[offset + 2..]);
        if name.is_empty() {
            continue; // a function pointer type
        }
        if let Some(end) = braced_end(code, offset) {
            found.push(spanning(code, name, offset, end));
        }
    }
    found
}

/// `function name(`, `name(…) {` as a method, and `const name = (…) => {`.
fn script(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    let mut offset = 0;
    for line in code.split_inclusive('\n') {
        if let Some(name) = script_function_name(line.trim())
            && let Some(end) = braced_end(code, offset)
        {
            found.push(spanning(code, name, offset, end));
        }
        offset += line.len();
    }
    found
}

fn script_function_name(line: &str) -> Option<&str> {
    const NOT_METHODS: [&str; 8] =
        ["if", "for", "while", "switch", "catch", "function", "return", "with"];
    if let Some(at) = words(line, "function").next() {
        let name = leading_word(line[at + "function".len()..].trim_start_matches(['*', ' ']));
        return (!name.is_empty()).then_some(name);
    }
    let opens = line.strip_suffix('{')?.trim_end();
    if let Some(head) = opens.strip_suffix("=>") {
        let (binding, _) = head.split_once('=')?;
        let declared = ["const ", "let ", "var ", "export "].iter().any(|w| binding.starts_with(w));
        return binding.split_whitespace().last().filter(|_| declared);
    }
    let head = opens.strip_suffix(')')?;
    let head =
        head.trim_start_matches("static ").trim_start_matches("async ").trim_start_matches('*');
    let name = leading_word(head);
    let is_method = head[name.len()..].starts_with('(') && !NOT_METHODS.contains(&name);
    (is_method && !name.is_empty()).then_some(name)
}

fn python(code: &str) -> Vec<Function> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        let Some(head) = text.strip_prefix("async def ").or_else(|| text.strip_prefix("def "))
        else {
            continue;
        };
        let indent = line.len() - text.len();
        let mut last = index;
        for (offset, body) in lines[index + 1..].iter().enumerate() {
            let text = body.trim();
            if text.is_empty() {
                continue;
            }
            // A signature over several lines closes at its own indentation.
            let inside = body.len() - body.trim_start().len() > indent || text.starts_with(')');
            if !inside {
                break;
            }
            last = index + 1 + offset;
        }
        let name = leading_word(head).to_owned();
        found.push(Function { name, first_line: index + 1, last_line: last + 1 });
    }
    found
}

fn leading_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.bytes().position(|byte| !is_word_byte(byte)).unwrap_or(text.len());
    &text[..end]
}

fn spanning(code: &str, name: &str, first: usize, last: usize) -> Function {
    Function {
        name: name.to_owned(),
        first_line: line_at(code, first),
        last_line: line_at(code, last),
    }
}

/// The offset of the brace that closes the first one opened outside
/// parentheses from `start`; none when a `;` ends the declaration before.
fn braced_end(code: &str, start: usize) -> Option<usize> {
    let mut brace_depth = 0_usize;
    let mut group_depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' if brace_depth == 0 => group_depth += 1,
            b')' | b']' if brace_depth == 0 => group_depth = group_depth.saturating_sub(1),
            b';' if brace_depth == 0 && group_depth == 0 => return None,
            b'{' if group_depth == 0 => brace_depth += 1,
            b'}' if group_depth == 0 => {
                brace_depth = brace_depth.checked_sub(1)?;
                if brace_depth == 0 {
                    return Some(offset);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    /// Compares the functions of a file as `name first-last`.
    fn expect(path: &str, text: &str, expected: &[&str]) {
        let tree = Tree::from_files(&[(path, text)]);
        let found: Vec<String> = functions(&tree.files()[0])
            .iter()
            .map(|f| format!("{} {}-{}", f.name, f.first_line, f.last_line))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn rust_functions() {
        expect("a.rs", "fn a(b: [u8; 4]) -> u8 {\n    \"}\";\n    '}'\n}\n", &["a 1-4"]);
        expect("a.rs", "trait T {\n    fn a();\n    fn b() {}\n}\n", &["b 3-3"]);
        expect("a.rs", "type F = fn(u8) -> u8;\n", &[]);
        expect("a.rs", "fn a() {\n    fn b() {\n    }\n}\n", &["a 1-4", "b 2-3"]);
        expect("a.rs", "fn a()\nwhere\n    F: Fn(u8),\n{\n}\n", &["a 1-5"]);
    }

    #[test]
    fn python_functions() {
        expect("a.py", "def a(\n    b,\n) -> int:\n    x\n\n    y\n\nz\n", &["a 1-6"]);
        expect("a.py", "class C:\n    async def a(self):\n        x\n    y = 1\n", &["a 2-3"]);
        expect("a.py", "def a():\n    '''\nnot code\n    '''\n    x\n", &["a 1-5"]);
    }

    #[test]
    fn script_functions() {
        expect("a.js", "function a() {\n  if (x) {\n  }\n}\n", &["a 1-4"]);
        expect("a.js", "const a = async (b) => {\n  c;\n};\n", &["a 1-3"]);
        expect("a.js", "class C {\n  async get(id) {\n    x;\n  }\n}\n", &["get 2-4"]);
        expect("a.js", "test(\"a\", () => {\n  x;\n});\n", &[]);
    }
}
