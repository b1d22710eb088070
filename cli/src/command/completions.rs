//! `folio completions`: writes a completion script for a shell.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

use super::Cli;
use crate::failure::Failure;

/// Print the completions for a shell
///
/// They complete commands, options and, after -c, the collections of the database on the line.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: ShellName,
}

/// The shells whose completions are tested.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
}

const EXAMPLES: &str = "\
Examples:
  $ folio completions bash > folio.bash
  $ folio completions zsh > _folio
  $ folio completions fish > folio.fish

Then, for bash, `source folio.bash` in ~/.bashrc; zsh wants the file in a folder of
$fpath, fish in ~/.config/fish/completions.";

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let shell = match arguments.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    // The generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "folio", &mut script);
    let script = String::from_utf8_lossy(&script);
    io::stdout().write_all(with_collections(&script, arguments.shell).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Extends the generated script, which knows commands and options, with the names of collections.
/// The command lists them if the line names a database.
fn with_collections(script: &str, shell: ShellName) -> String {
    match shell {
        ShellName::Bash => {
            // The last lines name the function that completes.
            let completed =
                script.replace("complete -F _folio ", "complete -F _folio_or_collections ");
            format!("{completed}\n{BASH}")
        }
        ShellName::Zsh => {
            let option = ":NAME:_default' \\\n'--collection=[";
            let named = option.replace("_default", "_folio_collections");
            let long = script.replace(option, &named);
            let lines = long.lines().map(|line| match line.starts_with("'--collection=[") {
                true => line.replace(":NAME:_default", ":NAME:_folio_collections"),
                false => line.to_owned(),
            });
            let text: Vec<String> = lines.collect();
            let (first, rest) = text.split_first().map_or(("", &[][..]), |(a, b)| (a, b));
            format!("{first}\n\n{ZSH}\n{}\n", rest.join("\n"))
        }
        ShellName::Fish => {
            let lines = script.lines().map(|line| match line.contains("-l collection ") {
                true => format!("{} -f -a '(__fish_folio_collections)'", line),
                false => line.to_owned(),
            });
            format!("{FISH}\n{}\n", lines.collect::<Vec<_>>().join("\n"))
        }
    }
}

const BASH: &str = r#"_folio_or_collections() {
    local word current="${COMP_WORDS[COMP_CWORD]}"
    case "${COMP_WORDS[COMP_CWORD-1]}" in
        -c|--collection)
            for word in "${COMP_WORDS[@]:2}"; do
                if [[ -e "$word/folio.json" || -d "$word/collections" || -f "$word" && "$word" == *.zds ]]; then
                    COMPREPLY=($(compgen -W "$(folio list "$word" --names 2>/dev/null)" -- "$current"))
                    return 0
                fi
            done
            ;;
    esac
    _folio "$@"
}
"#;

const ZSH: &str = r#"_folio_collections() {
    local word
    for word in "${words[@]}"; do
        if [[ -e "$word/folio.json" || -d "$word/collections" || -f "$word" && "$word" == *.zds ]]; then
            compadd -- ${(f)"$(folio list "$word" --names 2>/dev/null)"}
            return
        fi
    done
    _default
}
"#;

const FISH: &str = r#"function __fish_folio_collections
    for word in (commandline -opc)
        if test -e "$word/folio.json" -o -d "$word/collections"
            folio list "$word" --names 2>/dev/null
            return
        end
    end
end
"#;
