//! The prompt: the language, and a star while a transaction is open.

use std::borrow::Cow;

use nu_ansi_term::Color as Paint;
use reedline::{Color, Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus};

use crate::language::Language;

/// The prompt before the cursor.
pub(super) struct Begin {
    pub(super) language: Language,
    pub(super) is_in_transaction: bool,
}

impl Prompt for Begin {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        let mark = if self.is_in_transaction { "*" } else { "" };
        format!("{}{mark}", self.language).into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        "> ".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        let width = self.render_prompt_left().len();
        format!("{:width$}> ", "").into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "not ",
        };
        format!(" {failing}found: {}> ", search.term).into()
    }

    fn get_prompt_color(&self) -> Color {
        match self.language {
            Language::Sql => Paint::LightGreen,
            Language::Ziql => Paint::LightPurple,
        }
    }
}
