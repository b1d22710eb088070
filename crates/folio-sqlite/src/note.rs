//! What does not come over as it was, as sentences.

/// Something that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// It came over in another form, as the sentence says.
    Changed(String),
    /// It did not come over.
    LeftOut(String),
}

impl Note {
    /// Of something that came over in another form.
    pub fn changed(text: impl Into<String>) -> Self {
        Self::Changed(text.into())
    }

    /// Of something that did not come over.
    pub fn left_out(text: impl Into<String>) -> Self {
        Self::LeftOut(text.into())
    }

    /// The sentence, which names what it is about.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Changed(text) | Self::LeftOut(text) => text,
        }
    }
}
