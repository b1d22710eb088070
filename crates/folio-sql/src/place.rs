//! Converts the parser's places in a text to the engine's.

use folio_compute::Span;

/// A place of the parser.
pub(crate) trait Place {
    /// The engine's span.
    fn to_span(&self) -> Span;
}

impl Place for sqlparser::tokenizer::Span {
    fn to_span(&self) -> Span {
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Span {
            line: narrow(self.start.line),
            column: narrow(self.start.column),
            end_line: narrow(self.end.line),
            end_column: narrow(self.end.column),
        }
    }
}
