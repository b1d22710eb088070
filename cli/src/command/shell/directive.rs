//! Directives: lines that begin with a point and control the shell.

use std::path::Path;

use clap::{Parser, ValueEnum};
use folio::near_match;

use super::{Flow, Shell};
use crate::command::{Cli, Command, import as import_command};
use crate::failure::Failure;
use crate::language::Language;
use crate::output::{self, Format};
use crate::text;

/// A directive: its name, argument and description.
pub(super) struct Directive {
    pub(super) name: &'static str,
    /// The argument after the name.
    takes: &'static str,
    pub(super) about: &'static str,
    run: fn(&mut Shell<'_>, &str) -> Result<Flow, Failure>,
}

/// All directives, in the order of the help.
pub(super) const DIRECTIVES: &[Directive] = &[
    Directive { name: ".help", takes: "", about: "this list", run: help },
    Directive {
        name: ".tables",
        takes: "[TEXT]",
        about: "tables, views and collections whose names contain TEXT",
        run: tables,
    },
    Directive {
        name: ".schema",
        takes: "[NAME]",
        about: "the statements that create the tables, or in ZiQL the structs",
        run: schema,
    },
    Directive { name: ".sql", takes: "", about: "statements are SQL from here on", run: sql },
    Directive { name: ".ziql", takes: "", about: "statements are ZiQL from here on", run: ziql },
    Directive { name: ".language", takes: "[sql|ziql]", about: "the same, by name", run: language },
    Directive {
        name: ".mode",
        takes: "[FORMAT]",
        about: "print as table, jsonl, json, csv, md or vertical",
        run: mode,
    },
    Directive {
        name: ".vertical",
        takes: "[on|off]",
        about: "print a line per value, or as before",
        run: vertical,
    },
    Directive {
        name: ".null",
        takes: "[TEXT]",
        about: "the text that a table shows for NULL; '' shows nothing",
        run: null,
    },
    Directive {
        name: ".rows",
        takes: "[COUNT|all]",
        about: "the maximum number of rows that a table shows",
        run: rows,
    },
    Directive {
        name: ".timing",
        takes: "[on|off]",
        about: "show the time of each statement",
        run: timing,
    },
    Directive {
        name: ".bail",
        takes: "[on|off]",
        about: "stop a script at its first error",
        run: bail,
    },
    Directive {
        name: ".explain",
        takes: "STATEMENT",
        about: "show the plan of a statement",
        run: explain,
    },
    Directive { name: ".read", takes: "FILE", about: "run the statements of a file", run: read },
    Directive {
        name: ".import",
        takes: "FILE -c NAME",
        about: "import documents from a file; takes the arguments of `folio import`",
        run: import,
    },
    Directive { name: ".quit", takes: "", about: "leave, as Ctrl-D does", run: quit },
];

/// The names of directives in other shells.
const ALIASES: &[(&str, &str)] = &[
    (".exit", ".quit"),
    (".q", ".quit"),
    (".timer", ".timing"),
    (".describe", ".schema"),
    ("help", ".help"),
    ("exit", ".quit"),
    ("quit", ".quit"),
    ("\\q", ".quit"),
    ("\\?", ".help"),
    ("\\h", ".help"),
    ("\\d", ".schema"),
    ("\\dt", ".tables"),
    ("\\l", ".tables"),
    ("\\timing", ".timing"),
    ("\\i", ".read"),
    ("\\x", ".vertical"),
    (".nullvalue", ".null"),
    (".expanded", ".vertical"),
];

/// Words that are directives when alone on a line.
const WORDS: &[&str] = &["help", "exit", "quit"];

/// Whether a line is a directive in the form of other shells: `exit`, or `\\d users`.
pub(super) fn is_foreign(line: &str) -> bool {
    let line = line.trim_end_matches([';', ' ', '\t', '\r']);
    line.starts_with('\\') || WORDS.iter().any(|word| line.eq_ignore_ascii_case(word))
}

/// The formats of `.mode`.
pub(super) const FORMATS: &[&str] = &["table", "jsonl", "json", "csv", "md", "vertical"];

/// Runs a line such as `.mode json`.
pub(super) fn run(shell: &mut Shell<'_>, line: &str) -> Result<Flow, Failure> {
    let line = line.trim_end_matches([';', ' ']);
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if matches!(name, "\\d") && argument.is_empty() {
        return tables(shell, "");
    }
    let own_name = own_name(name);
    match DIRECTIVES.iter().find(|directive| directive.name == own_name) {
        Some(directive) => (directive.run)(shell, argument.trim()),
        None => Err(unknown(name)),
    }
}

/// The name of a directive in this shell.
pub(super) fn own_name(name: &str) -> &str {
    let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
    alias.map_or(name, |(_, own)| own)
}

fn unknown(name: &str) -> Failure {
    let own = DIRECTIVES.iter().map(|own| own.name);
    let names = own.chain(ALIASES.iter().map(|(alias, _)| *alias)).map(str::to_owned);
    let names: Vec<String> = names.collect();
    Failure::Usage(match near_match(name, &names) {
        Some(near) => format!("unknown directive {name}; did you mean {near}?"),
        None => format!("unknown directive {name}; .help lists all directives"),
    })
}

fn help(shell: &mut Shell<'_>, _: &str) -> Result<Flow, Failure> {
    for Directive { name, takes, about, .. } in DIRECTIVES {
        shell.console.print(&format!("{:<24}{about}", format!("{name} {takes}")))?;
    }
    shell.console.print(
        "\nA statement ends with a semicolon and may span lines. Tab completes, the arrows\nand \
         Ctrl-R search the history, Ctrl-C cancels, Ctrl-D leaves.",
    )?;
    Ok(Flow::Continue)
}

fn tables(shell: &mut Shell<'_>, text: &str) -> Result<Flow, Failure> {
    let text = text.to_lowercase();
    let relations = shell.session.relations()?;
    let found = relations.iter().filter(|relation| relation.name.to_lowercase().contains(&text));
    let objects: Vec<String> = found
        .map(|relation| {
            let (name, kind) = (&relation.name, relation.kind.word());
            serde_json::json!({"name": name, "kind": kind, "rows": relation.row_count}).to_string()
        })
        .collect();
    if objects.is_empty() {
        shell.console.note(&match relations.is_empty() {
            true => "the database is empty; create a table, or use .import".to_owned(),
            false => format!("no name contains {text:?}; .tables lists all"),
        });
        return Ok(Flow::Continue);
    }
    output::print_objects(&objects, shell.format(), shell.console)?;
    Ok(Flow::Continue)
}

/// Shows the statements that create tables and views in SQL, the structs in ZiQL.
fn schema(shell: &mut Shell<'_>, name: &str) -> Result<Flow, Failure> {
    let name = name.trim_matches(['"', '`']);
    if name.is_empty() && shell.language() == Language::Ziql {
        shell.console.print(shell.session.schema()?.trim_end())?;
        return Ok(Flow::Continue);
    }
    let is_list = name.is_empty();
    let names = match name {
        "" => shell.session.relations()?.into_iter().map(|relation| relation.name).collect(),
        name => vec![name.to_owned()],
    };
    for name in names {
        let definition = shell.session.definition(&name)?;
        if definition.is_empty() {
            // For a collection, show the fields of its documents.
            if is_list {
                shell.console.print(&format!("-- collection {name}"))?;
            }
            shell.run_statement(&format!("DESCRIBE \"{name}\""), Language::Sql)?;
        } else {
            shell.console.print(definition.trim_end())?;
        }
    }
    Ok(Flow::Continue)
}

fn sql(shell: &mut Shell<'_>, _: &str) -> Result<Flow, Failure> {
    shell.set_language(Language::Sql);
    Ok(Flow::Continue)
}

fn ziql(shell: &mut Shell<'_>, _: &str) -> Result<Flow, Failure> {
    shell.set_language(Language::Ziql);
    Ok(Flow::Continue)
}

fn language(shell: &mut Shell<'_>, name: &str) -> Result<Flow, Failure> {
    match &*name.to_ascii_lowercase() {
        "sql" => sql(shell, ""),
        "ziql" => ziql(shell, ""),
        "" => {
            shell.console.print(&shell.language().to_string())?;
            Ok(Flow::Continue)
        }
        _ => Err(Failure::Usage(format!("unknown language {name:?}; use sql or ziql"))),
    }
}

fn mode(shell: &mut Shell<'_>, name: &str) -> Result<Flow, Failure> {
    if name.is_empty() {
        let own = shell.format().to_possible_value();
        shell.console.print(own.as_ref().map_or("", |value| value.get_name()))?;
        return Ok(Flow::Continue);
    }
    let Ok(format) = Format::from_str(name, true) else {
        let formats = FORMATS.join(", ");
        return Err(Failure::Usage(format!("unknown format {name:?}; use one of {formats}")));
    };
    shell.format = Some(format);
    Ok(Flow::Continue)
}

fn vertical(shell: &mut Shell<'_>, word: &str) -> Result<Flow, Failure> {
    let is_vertical = shell.format() == Format::Vertical;
    match (is_vertical, switched("vertical", is_vertical, word)?) {
        (false, true) => {
            shell.format_before = shell.format;
            shell.format = Some(Format::Vertical);
        }
        (true, false) => {
            let before = shell.format_before.take();
            shell.format = before.filter(|format| *format != Format::Vertical);
        }
        _ => {}
    }
    Ok(Flow::Continue)
}

fn null(shell: &mut Shell<'_>, text: &str) -> Result<Flow, Failure> {
    if text.is_empty() {
        shell.console.print(&shell.style.null)?;
        return Ok(Flow::Continue);
    }
    shell.style.null = words_of(text).join(" ");
    Ok(Flow::Continue)
}

fn rows(shell: &mut Shell<'_>, word: &str) -> Result<Flow, Failure> {
    let limit = match (word, word.parse()) {
        ("", _) => {
            let limit = shell.style.row_limit;
            shell.console.print(&limit.map_or("all".to_owned(), |limit| limit.to_string()))?;
            return Ok(Flow::Continue);
        }
        (word, _) if word.eq_ignore_ascii_case("all") => None,
        (_, Ok(limit @ 1..)) => Some(limit),
        _ => {
            let text =
                format!("{word:?} is not a number of rows; write a number such as 1000, or all");
            return Err(Failure::Usage(text));
        }
    };
    shell.style.row_limit = limit;
    Ok(Flow::Continue)
}

/// The new state of a switch; without a word it is toggled.
fn switched(switch: &str, now: bool, word: &str) -> Result<bool, Failure> {
    match &*word.to_ascii_lowercase() {
        "on" => Ok(true),
        "off" => Ok(false),
        "" => Ok(!now),
        _ => Err(Failure::Usage(format!("{switch} is on or off, not {word:?}"))),
    }
}

fn bail(shell: &mut Shell<'_>, word: &str) -> Result<Flow, Failure> {
    shell.has_bail = switched("bail", shell.has_bail, word)?;
    Ok(Flow::Continue)
}

fn timing(shell: &mut Shell<'_>, word: &str) -> Result<Flow, Failure> {
    shell.has_timing = switched("timing", shell.has_timing, word)?;
    shell.console.confirm(if shell.has_timing { "timing is on" } else { "timing is off" })?;
    Ok(Flow::Continue)
}

fn explain(shell: &mut Shell<'_>, statement: &str) -> Result<Flow, Failure> {
    if statement.is_empty() {
        return Err(Failure::Usage("write the statement after .explain".to_owned()));
    }
    let language = shell.language().of(statement);
    shell.run_statement(&format!("EXPLAIN {statement}"), language)?;
    Ok(Flow::Continue)
}

fn read(shell: &mut Shell<'_>, path: &str) -> Result<Flow, Failure> {
    let path = path.trim_matches(['\'', '"']);
    if path.is_empty() {
        return Err(Failure::Usage("write the file after .read".to_owned()));
    }
    let text = text::of_file(Path::new(path))?;
    shell.run_nested(&text)
}

/// Does the work of `folio import` on the open database.
fn import(shell: &mut Shell<'_>, line: &str) -> Result<Flow, Failure> {
    let database = shell.path.to_string_lossy().into_owned();
    let words = ["folio".to_owned(), "import".to_owned(), database];
    let cli = Cli::try_parse_from(words.into_iter().chain(words_of(line)));
    let arguments = match cli.map(|cli| cli.command) {
        Ok(Command::Import(arguments)) if arguments.names_files() => arguments,
        Ok(_) => return Err(Failure::Usage("write the file after .import".to_owned())),
        Err(words) => {
            let text = words.render().to_string();
            let text = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            return Err(Failure::Usage(format!("{text}; see `folio import --help`")));
        }
    };
    import_command::run(&arguments, shell.console)?;
    shell.refresh_names();
    Ok(Flow::Continue)
}

/// The words of a line; quotes protect spaces.
fn words_of(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '\'' | '"' => rest[1..].split_once(first).unwrap_or((&rest[1..], "")),
            _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

fn quit(_: &mut Shell<'_>, _: &str) -> Result<Flow, Failure> {
    Ok(Flow::Quit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_spaces() {
        assert_eq!(words_of(" 'a b.csv' -c  x \"y"), ["a b.csv", "-c", "x", "y"]);
        assert_eq!(words_of(""), [""; 0]);
    }

    #[test]
    fn mistyped_directives_are_recognised() {
        for (name, hint) in
            [(".tabels", ".tables?"), (".hlep", ".help?"), (".xyzzy", ".help lists")]
        {
            let Failure::Usage(text) = unknown(name) else { panic!("a failure of usage") };
            assert!(text.contains(hint), "{text}");
        }
    }
}
