//! Where a line has a value.

/// The place of a value, or of none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    start: usize,
    end: usize,
    form: Form,
}

/// What is known of a value before it is decoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// Missing or null.
    #[default]
    Absent,
    /// A string without escapes.
    Plain,
    /// Another string.
    Escaped,
    /// Neither null nor a string.
    Other,
    /// The same, and where it ends nobody has looked: at the end of the line, or before.
    Open,
}

impl Place {
    pub(super) fn new(start: usize, end: usize, form: Form) -> Self {
        Self { start, end, form }
    }

    /// Whether there is a value that is not null.
    #[inline]
    pub(super) fn is_present(&self) -> bool {
        self.form != Form::Absent
    }

    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.form == Form::Plain
    }

    /// Whether its text goes on after the value.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.form == Form::Open
    }

    /// The offset of the value.
    #[inline]
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The text of the value.
    #[inline]
    pub(super) fn text<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        line.get(self.start..self.end).unwrap_or_default()
    }

    /// The text between the quotes of a string; `None` for another value.
    #[inline]
    pub(super) fn inner<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        match self.form {
            Form::Plain | Form::Escaped => line.get(self.start + 1..self.end - 1),
            Form::Absent | Form::Other | Form::Open => None,
        }
    }

    /// The size of its text.
    #[inline]
    pub(super) fn size(&self) -> usize {
        self.end - self.start
    }
}
