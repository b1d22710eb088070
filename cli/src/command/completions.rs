//! `folio completions`: the shell learns the commands.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

use crate::arguments::Cli;
use crate::failure::Failure;

/// Print the completions for a shell
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
    // The generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "folio", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
