//! Colours for the text being typed.

use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};

use super::input::is_directive;
use super::names::SharedNames;
use crate::language::{Kind, Token, tokens};

/// Colours words by their kind.
pub(super) struct Colours {
    pub(super) names: SharedNames,
}

impl Highlighter for Colours {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        let mut text = StyledText::new();
        if is_directive(line) {
            text.push((Color::Yellow.normal(), line.to_owned()));
            return text;
        }
        let names = self.names.lock();
        let language = names.language.of(line);
        for token in tokens(line, language) {
            let style = match token.kind {
                Kind::Word => {
                    let word = &line[token.range.clone()];
                    let is_keyword = |keyword: &&&str| keyword.eq_ignore_ascii_case(word);
                    match language.keywords().iter().find(is_keyword) {
                        Some(_) => Color::Blue.bold(),
                        None if names.relations.find(word).is_some() => Color::Cyan.normal(),
                        None => Style::new(),
                    }
                }
                _ => style_of(&token),
            };
            text.push((style, line[token.range].to_owned()));
        }
        text
    }
}

fn style_of(token: &Token) -> Style {
    match token.kind {
        Kind::Comment => Style::new().dimmed(),
        Kind::Text if token.is_closed => Color::Green.normal(),
        Kind::Text => Color::Green.underline(),
        Kind::Number => Color::Magenta.normal(),
        Kind::QuotedName => Color::Cyan.normal(),
        Kind::Space | Kind::Word | Kind::Symbol(_) => Style::new(),
    }
}
