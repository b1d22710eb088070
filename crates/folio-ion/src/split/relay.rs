//! Splits a binary stream whose bytes are read by several threads.
//!
//! Only a value's length gives the start of the next one. A piece is any range of the stream; the
//! start of its first value is known once the previous piece was walked. The reader of a piece need
//! not wait for that. A likely struct that is followed by another one, and so on to the end of the
//! piece, is most likely a record. The walk from there is right if the true walk reaches the same
//! position ([`Ahead`]). The bytes after the last whole value are left to the next piece. Records
//! are plain structs. At anything else (annotations, padding, another symbol table) the relay ends,
//! and the rest of the stream is split in order.

use crate::binary::value_end;
use crate::limits::Limits;
use crate::reader::Encoding;
use crate::shred::Block;
use crate::split::{Format, Splitter};
use crate::symbol::SymbolTable;
use std::io::Read;
use std::sync::Arc;

/// A position between two values of a stream, and the state needed to continue there.
#[derive(Debug, Clone)]
pub struct Place {
    /// Bytes before it.
    pub offset: u64,
    /// Values before it.
    pub rows: u64,
    /// The encoding of the values.
    pub encoding: Encoding,
    /// The current symbol table.
    pub symbols: Arc<SymbolTable>,
}

impl Place {
    /// The start of a stream without symbol tables.
    pub fn of_text() -> Place {
        Place { offset: 0, rows: 0, encoding: Encoding::Text, symbols: SymbolTable::system() }
    }

    /// The first record of the binary stream at the start of `source`; `None` if it is not binary,
    /// has no record near its start, or is one list.
    pub fn of_binary(source: impl Read, limits: Limits) -> Option<Place> {
        let mut splitter = Splitter::new(source, 4 << 10, Format::Auto, limits);
        let block = splitter.next_block(Vec::new()).ok()??;
        let is_plain = block.encoding == Encoding::Binary && !block.in_list;
        is_plain.then_some(Place {
            offset: block.offset,
            rows: 0,
            encoding: Encoding::Binary,
            symbols: block.symbols,
        })
    }
}

/// How far a stream was split, and the bytes of a value that has begun.
#[derive(Debug)]
pub struct Relay {
    place: Place,
    begun: Vec<u8>,
}

impl Relay {
    /// Free bytes before those of a piece, for what the previous piece left.
    pub const ROOM: usize = 16 << 10;

    /// A relay from `place` on.
    pub fn new(place: Place) -> Relay {
        Relay { place, begun: Vec::new() }
    }

    /// The position up to which the stream was split.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The values that end in a piece: `bytes` from [`Relay::ROOM`] on, which follow those of the
    /// last piece. `ahead` is a walk over them from a likely start. `None`, with nothing changed,
    /// if there is anything else than plain structs, a value is larger than the room, or the stream
    /// ends inside one.
    pub fn take(&mut self, mut bytes: Vec<u8>, ahead: Ahead, is_last: bool) -> Option<Block> {
        let mut start = Relay::ROOM.checked_sub(self.begun.len())?;
        bytes.get_mut(start..Relay::ROOM)?.copy_from_slice(&self.begun);
        let mut places = ahead.places;
        if self.place.offset < start as u64 {
            // The bytes of a block cannot start before the stream does.
            bytes.drain(..start);
            start = 0;
            places.clear();
        }
        let (mut at, mut passed, mut ends) = (start, 0, Vec::new());
        loop {
            passed += places[passed..].iter().take_while(|place| (**place as usize) < at).count();
            if places.get(passed).is_some_and(|place| *place as usize == at) {
                at = places.last().map_or(at, |end| *end as usize);
                places.splice(..=passed, ends);
                ends = places;
                break;
            }
            let Some(end) = struct_end(&bytes, at) else { break };
            ends.push(u32::try_from(end).ok()?);
            at = end;
        }
        let left = &bytes[at..];
        if !begins_struct(left) || left.len() > Relay::ROOM || (is_last && !left.is_empty()) {
            return None;
        }
        self.begun.clear();
        self.begun.extend_from_slice(left);
        bytes.truncate(at);
        let block = Block {
            encoding: Encoding::Binary,
            start,
            offset: self.place.offset - start as u64,
            first_row: self.place.rows,
            row_count: ends.len() as u64,
            ends,
            in_list: false,
            symbols: Arc::clone(&self.place.symbols),
            bytes,
        };
        self.place.offset += (at - start) as u64;
        self.place.rows += block.row_count;
        Some(block)
    }
}

/// A walk over a piece from the likely start of a record.
#[derive(Debug, Default)]
pub struct Ahead {
    /// The start of a record, then its end and the ends of the records after it. Empty if there is
    /// no likely start.
    places: Vec<u32>,
}

impl Ahead {
    /// How many structs must follow each other.
    const ENOUGH: usize = 4;

    /// How many structs are tried before giving up on a piece.
    const VAIN_MAX: usize = 1 << 10;

    /// Walks over `bytes` from [`Relay::ROOM`] on.
    pub fn of(bytes: &[u8]) -> Ahead {
        let mut places = Vec::with_capacity(bytes.len() / 32);
        let (mut from, mut vain) = (Relay::ROOM, 0);
        while from < bytes.len().min(2 * Relay::ROOM) && vain < Self::VAIN_MAX {
            let mut at = from;
            places.push(at as u32);
            while let Some(end) = struct_end(bytes, at)
                && let Ok(place) = u32::try_from(end)
            {
                places.push(place);
                at = end;
            }
            if places.len() > Self::ENOUGH && begins_struct(&bytes[at..]) {
                return Ahead { places };
            }
            vain += places.len() - 1;
            places.clear();
            from += 1;
        }
        Ahead::default()
    }
}

/// Whether a plain struct begins here, or the bytes are empty.
fn begins_struct(bytes: &[u8]) -> bool {
    matches!(bytes.first(), None | Some(0xd0 | 0xd2..=0xde))
}

/// The end of the plain struct at `at`; `None` for anything else and for one that is cut off.
fn struct_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        0xd0 | 0xd2..=0xde => value_end(bytes, at),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Ahead, Place, Relay};
    use crate::limits::Limits;
    use crate::split::{Format, Splitter};
    use crate::{read_all, write};

    /// The rows of a stream read in pieces of `size`, as text with their offsets, and where the
    /// relay ended.
    fn relayed(bytes: &[u8], size: usize) -> (Vec<(u64, String)>, u64) {
        let place = Place::of_binary(bytes, Limits::default()).expect("a binary stream");
        let first = place.offset as usize;
        let mut relay = Relay::new(place);
        let mut rows = Vec::new();
        let mut pieces = bytes[first..].chunks(size).peekable();
        while let Some(piece) = pieces.next() {
            let mut own = vec![0; Relay::ROOM];
            own.extend_from_slice(piece);
            let ahead = Ahead::of(&own);
            let Some(block) = relay.take(own, ahead, pieces.peek().is_none()) else { break };
            assert_eq!(block.first_row, rows.len() as u64);
            let mut at = block.start;
            for _ in 0..block.row_count {
                let (row, next) =
                    block.element(at, &Limits::default()).expect("a value").expect("a row");
                rows.push((block.offset + at as u64, write::to_text(&row)));
                at = next;
            }
        }
        (rows, relay.place().offset)
    }

    /// The same rows of a stream split in order.
    fn in_order(bytes: &[u8]) -> Vec<(u64, String)> {
        let mut splitter = Splitter::new(bytes, 1 << 20, Format::Auto, Limits::default());
        let mut rows = Vec::new();
        while let Some(block) = splitter.next_block(Vec::new()).expect("blocks") {
            let mut at = block.start;
            while let Some((row, next)) = block.element(at, &Limits::default()).expect("a value") {
                rows.push((block.offset + at as u64, write::to_text(&row)));
                at = next;
            }
        }
        rows
    }

    fn stream(text: &str) -> Vec<u8> {
        write::to_binary(&read_all(text.as_bytes()).expect("ion"))
    }

    /// Pieces of every size give the rows of the stream and reach its end.
    fn assert_taken_whole(bytes: &[u8]) {
        let expected = in_order(bytes);
        for size in 1..bytes.len() {
            assert_eq!(relayed(bytes, size), (expected.clone(), bytes.len() as u64), "{size}");
        }
    }

    #[test]
    fn pieces_of_any_size_give_the_rows_of_the_stream() {
        let text: String = (0..40)
            .map(|at| format!("{{id: {at}, name: \"{}\", deep: {{x: [1]}}}}\n", "n".repeat(at)))
            .collect();
        let bytes = stream(&text);
        assert_taken_whole(&bytes);
    }

    #[test]
    fn what_only_looks_like_records_misleads_nobody() {
        // Bytes of empty structs and of structs, records in lists, and some that only look like
        // records.
        let nested = "{x: 1}, ".repeat(9);
        let text: String = (0..12)
            .map(|at| {
                let blob = "0NDQ".repeat(at * 5);
                format!("{{a: {{{{ {blob}0tHS }}}}, b: [{nested}], c: {at}}}\n {{c: 1}} {{c: 2}}\n")
            })
            .collect();
        let bytes = stream(&text);
        assert_taken_whole(&bytes);
    }

    #[test]
    fn records_are_found_in_the_middle_of_a_stream() {
        // Records of many sizes, some with more bytes than there are tries.
        for size in [1, 3_000] {
            let name = "n".repeat(size);
            let text: String = (0..40)
                .map(|at| format!("{{id: {at}, name: \"{name}\", deep: {{x: [1]}}}}\n"))
                .collect();
            let bytes = stream(&text);
            let records: Vec<usize> = in_order(&bytes).iter().map(|(at, _)| *at as usize).collect();
            for cut in (records[10]..records[20]).step_by(1 + size / 100) {
                let piece = [&[0; Relay::ROOM], &bytes[cut..]].concat();
                let places = Ahead::of(&piece).places;
                let places: Vec<usize> =
                    places.iter().map(|at| *at as usize - Relay::ROOM + cut).collect();
                let next = records.partition_point(|at| *at < cut);
                assert!(places.ends_with(&[&records[next..], &[bytes.len()]].concat()), "{cut}");
            }
        }
    }

    #[test]
    fn nothing_is_said_of_what_has_no_records() {
        let bytes = [0xd1; 5_000];
        assert_eq!(Ahead::of(&[&[0; Relay::ROOM][..], &bytes].concat()).places, []);
    }

    #[test]
    fn what_is_no_plain_struct_ends_the_relay_before_it() {
        let head = "{a: 1} {a: 2} ";
        for tail in ["x::{a: 3}", "5", "[{a: 3}]", "{b: 3}"] {
            let bytes = match tail {
                // The writer appends to the symbol table between two flushes.
                "{b: 3}" => {
                    let mut writer = write::BinaryWriter::new();
                    let mut bytes = Vec::new();
                    for row in read_all(format!("{head}{tail}").as_bytes()).expect("ion") {
                        write::write_element(&mut writer, &row);
                        bytes.extend(writer.take());
                    }
                    bytes
                }
                _ => stream(&format!("{head}{tail}")),
            };
            let expected = in_order(&bytes);
            for size in 1..bytes.len() {
                let (rows, end) = relayed(&bytes, size);
                assert!(rows.len() <= 2 && rows[..] == expected[..rows.len()], "{tail}: {rows:?}");
                let next = expected.get(rows.len()).map_or(bytes.len() as u64, |(at, _)| *at);
                assert!(end <= next, "{tail} in pieces of {size}: {end} is behind {next}");
            }
        }
    }

    #[test]
    fn a_value_cut_off_is_not_taken() {
        let whole = stream("{a: 1} {a: \"long enough\"}");
        let cut = &whole[..whole.len() - 1];
        let (rows, end) = relayed(cut, 4);
        assert_eq!(rows.len(), 1);
        assert_eq!(end, in_order(&whole)[1].0);
    }
}
