//! Sentences about differences from the source.

/// A difference from the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// It was imported in another form, as the sentence says.
    Changed(String),
    /// It was not imported.
    LeftOut(String),
}

impl Note {
    /// For something imported in another form.
    pub fn changed(text: impl Into<String>) -> Self {
        Self::Changed(text.into())
    }

    /// For something not imported.
    pub fn left_out(text: impl Into<String>) -> Self {
        Self::LeftOut(text.into())
    }

    /// The sentence, which names its subject.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Changed(text) | Self::LeftOut(text) => text,
        }
    }
}
