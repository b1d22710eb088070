//! Finds the examples of a Markdown file, and puts other output in their place.

/// One command and the lines it is said to print.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Example {
    /// The line of the command, from 1.
    pub(super) line: usize,
    /// The whole command, continuation lines included.
    pub(super) command: String,
    /// The line of the first expected line, from 1, even when there is none.
    pub(super) expected_line: usize,
    pub(super) expected: Vec<String>,
}

pub(super) fn parse(markdown: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut in_block = false;
    // Output above a block's first command belongs to nothing.
    let mut in_example = false;
    for (index, line) in markdown.lines().enumerate() {
        if line.starts_with("```") {
            in_block = line.trim_end() == "```console";
            in_example = false;
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| in_block) {
            in_example = true;
            examples.push(Example {
                line: index + 1,
                command: command.to_owned(),
                expected_line: index + 2,
                expected: Vec::new(),
            });
        } else if let Some(example) = examples.last_mut().filter(|_| in_example) {
            match line.strip_prefix("> ").filter(|_| example.expected.is_empty()) {
                Some(rest) => {
                    example.command.push('\n');
                    example.command.push_str(rest);
                    example.expected_line = index + 2;
                }
                None => example.expected.push(line.trim_end().to_owned()),
            }
        }
    }
    examples
}

/// The text with `printed` where the example's expected lines stand.
pub(super) fn replace_expected(markdown: &str, example: &Example, printed: &[String]) -> String {
    let mut lines: Vec<&str> = markdown.lines().collect();
    let first = example.expected_line - 1;
    lines.splice(first..first + example.expected.len(), printed.iter().map(String::as_str));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_continuations_and_output() {
        let text =
            "$ not in a block\n```console\n$ cat <<X\n> a\n> X\na\n\nb\n```\n```sh\n$ c\n```\n";
        let example = Example {
            line: 3,
            command: "cat <<X\na\nX".to_owned(),
            expected_line: 6,
            expected: vec!["a".to_owned(), String::new(), "b".to_owned()],
        };
        assert_eq!(parse(text), [example]);
    }

    #[test]
    fn output_is_replaced_in_place() {
        let text = "```console\n$ a\nold\n$ b\n```\n";
        let examples = parse(text);
        let after = replace_expected(text, &examples[0], &["new".to_owned(), "two".to_owned()]);
        assert_eq!(after, "```console\n$ a\nnew\ntwo\n$ b\n```\n");
    }
}
