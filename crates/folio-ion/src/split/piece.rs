//! Splits a piece of text independently, so that several threads can split one file.
//!
//! Where a piece may begin is a guess: a line that opens a struct begins a value, unless the line
//! is in a long string or a comment. The previous piece checks the guess: if it was read from a
//! position between values and also ends between values, the next one begins there. A piece that
//! defines symbols is rejected, because later pieces would need them.

use super::{Format, Splitter, Stop};
use crate::limits::Limits;
use crate::reader::Encoding;
use crate::shred::Block;
use memchr::memmem;
use std::io;

impl Block {
    /// The values of `bytes`: text at `offset` of its stream that begins between two values. Rows
    /// are counted from the first row of the stream. `None` if the text does not end between two
    /// values, has version markers or symbol tables, or is malformed. Text inside values is not
    /// checked.
    pub fn of_piece(bytes: Vec<u8>, offset: u64, limits: Limits) -> Option<Block> {
        let mut splitter = Splitter::new(io::empty(), bytes.len(), Format::Values, limits);
        splitter.encoding = Some(Encoding::Text);
        splitter.last = true;
        let (stop, row_count) = splitter.scan_text(&bytes).ok()?;
        let Stop::End(_) = stop else { return None };
        Some(Block {
            encoding: Encoding::Text,
            bytes,
            start: 0,
            offset,
            first_row: 0,
            row_count,
            ends: splitter.ends,
            in_list: false,
            symbols: splitter.symbols,
        })
    }
}

/// The start of the first line that opens a struct, from `at` to the end of `bytes`. The line feed
/// before it may be before `at`.
pub fn next_opening_line(bytes: &[u8], at: usize) -> Option<usize> {
    let from = at.max(1) - 1;
    memmem::find(bytes.get(from..)?, b"\n{").map(|found| from + found + 1)
}

#[cfg(test)]
mod tests {
    use super::{Block, next_opening_line};
    use crate::limits::Limits;

    fn rows(text: &str) -> Option<u64> {
        Block::of_piece(text.into(), 0, Limits::default()).map(|block| block.row_count)
    }

    #[test]
    fn a_piece_is_whole_values_and_nothing_else() {
        assert_eq!(rows("{a:1}\n{a:2}\n"), Some(2));
        assert_eq!(rows("{a:1} /* \n{ */ 5 x::y\n"), Some(3));
        assert_eq!(rows(""), Some(0));
        let others = [
            "{a:1}\n{a:",
            "{a:'''x\n",
            "{a:1} /* ",
            "x::",
            "{a:1}\n$ion_1_0\n",
            "$ion_symbol_table::{symbols:[\"a\"]}\n",
            "{a:1}}\n",
        ];
        for text in others {
            assert_eq!(rows(text), None, "{text}");
        }
    }

    #[test]
    fn lines_that_open_a_struct_are_found_from_any_place() {
        let text = b"{a:1}\n{b:{\n}}\n x\n{c:2}";
        let found: Vec<_> = (0..text.len()).map(|at| next_opening_line(text, at)).collect();
        let wanted = [vec![Some(6); 7], vec![Some(17); 11], vec![None; 4]].concat();
        assert_eq!(found, wanted);
        assert_eq!(next_opening_line(text, 99), None);
    }
}
