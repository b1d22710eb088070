//! Limits on the size and depth of an input.
//!
//! In Ion, a few bytes can announce a lot: an import may claim a billion symbols, a decimal an
//! exponent of any size, and brackets may nest as deep as the file is long. Each of these has a
//! limit here. The defaults accept every sensible file and keep the worst one harmless.

/// Limits on what a reader accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Nesting of containers. The tree reader recurses, so the stack limits this.
    pub depth: usize,
    /// Symbols in one symbol table, imported ones included.
    pub symbol_count: usize,
    /// Absolute value of a decimal's exponent.
    pub decimal_exponent: u32,
    /// Digits of one number (conversion between bases takes quadratic time).
    pub digit_count: usize,
    /// Bytes of one top-level value, or of one element of a top-level list read as records.
    pub value_size: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            depth: 256,
            symbol_count: 1 << 20,
            decimal_exponent: 1_000_000,
            digit_count: 20_000,
            value_size: 16 << 20,
        }
    }
}
