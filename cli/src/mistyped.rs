//! Suggestions for a mistyped command, option or word.
//!
//! The argument parser's own suggestions miss swapped letters (`gte`), and prefer `export` to
//! `import` for `imprt`. So names are compared here in the same way as those of collections and
//! members. If none is near, the parser's suggestion stays.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use folio::near_match;

use crate::command::Cli;

/// Adds a near name to an error about the arguments.
pub(crate) fn suggest(mut words: clap::Error, arguments: &[OsString]) -> clap::Error {
    if let Some(ContextValue::Strings(valid)) = words.get(ContextKind::ValidValue)
        && let Some(ContextValue::String(value)) = words.get(ContextKind::InvalidValue)
    {
        if let Some(near) = near_match(value, valid).map(str::to_owned) {
            words.insert(ContextKind::SuggestedValue, ContextValue::String(near));
        }
        return words;
    }
    let (asked, suggested) = match &words {
        _ if words.get(ContextKind::InvalidSubcommand).is_some() => {
            (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand)
        }
        _ => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    };
    let Some(ContextValue::String(name)) = words.get(asked) else { return words };
    let mut values = arguments.iter().skip_while(|word| *word != "--");
    if words.kind() == ErrorKind::UnknownArgument && values.any(|word| word == name.as_str()) {
        let tip = "what follows '--' is no option; write options before it";
        words.remove(ContextKind::SuggestedArg);
        words.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return words;
    }
    let mut whole = Cli::command();
    whole.build();
    let command = addressed(&whole, arguments);
    let near = if asked == ContextKind::InvalidSubcommand {
        let names: Vec<String> = command.get_subcommands().flat_map(names_of).collect();
        near_match(name, &names).map(|near| ContextValue::Strings(vec![near.to_owned()]))
    } else {
        let options = command.get_arguments().filter(|option| !option.is_hide_set());
        let names: Vec<String> =
            options.filter_map(|option| Some(format!("--{}", option.get_long()?))).collect();
        near_match(name, &names).map(|near| ContextValue::String(near.to_owned()))
    };
    if let Some(near) = near {
        words.insert(suggested, near);
    }
    words
}

fn names_of(command: &Command) -> impl Iterator<Item = String> + '_ {
    command.get_visible_aliases().chain([command.get_name()]).map(str::to_owned)
}

/// The command addressed by the arguments, as far as they are valid.
fn addressed<'a>(whole: &'a Command, arguments: &[OsString]) -> &'a Command {
    let mut command = whole;
    let words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    for word in words.filter(|word| !word.starts_with('-')) {
        match command.find_subcommand(word) {
            Some(inner) => command = inner,
            None => break,
        }
    }
    command
}
