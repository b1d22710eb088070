//! The literal buffer: tuples of literals, with one cell for each value, in one array.
//!
//! A statement may add a million entities. Their values stay here from parsing until they are
//! written. Texts are ranges of the statement, and the place of a tuple is a range of bytes.
//! Lines and columns are computed on demand. So is the syntax tree of a tuple that needs more
//! than its literal values.
//!
//! ```text
//! cells     'Ada'  36  [0, 2]   'Bob'  41  [2, 1] …     a list: start and count of its elements
//! elements  7 8 7 …
//! tuples    ^ from byte 61 to 82  ^ from byte 83 to …
//! ```

use std::cell::RefCell;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use folio_types::ValueRef;

/// All tuples of a text that consist of literals only.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct LiteralBuffer {
    text: Arc<str>,
    /// Texts with decoded escapes.
    decoded: String,
    elements: Vec<Cell>,
    room: Room,
}

/// The parts that grow with the number of tuples. A thread reuses the memory of its last buffer:
/// a program that adds many rows runs one long statement after the other, and the system must
/// clear fresh memory first.
#[derive(Debug, Clone, PartialEq, Default)]
struct Room {
    cells: Vec<Cell>,
    tuples: Vec<Place>,
}

thread_local! {
    /// The largest memory that a dropped buffer of this thread left for reuse.
    static LEFT: RefCell<(Vec<Cell>, Vec<Place>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// Texts up to this many bytes do not reuse memory: their buffer may be cached for long.
const SHORT_MAX: usize = 16 << 10;

/// Maximum number of cells to keep for reuse: 6 MiB.
const LEFT_MAX: usize = 1 << 18;

impl Room {
    fn take() -> Self {
        let (cells, tuples) = LEFT.try_with(RefCell::take).unwrap_or_default();
        Self { cells, tuples }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if !(1..=LEFT_MAX).contains(&self.cells.capacity()) {
            return;
        }
        self.cells.clear();
        self.tuples.clear();
        // Fails on a thread that is ending, which needs no reuse.
        let _ = LEFT.try_with(|left| {
            let mut left = left.borrow_mut();
            if left.0.capacity() < self.cells.capacity() {
                *left = (mem::take(&mut self.cells), mem::take(&mut self.tuples));
            }
        });
    }
}

/// A literal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    /// Start and length in the text.
    Text(u32, u32),
    /// Start and length in the decoded texts.
    Decoded(u32, u32),
    Date(i32),
    Time(i64),
    Timestamp(i64),
    Uuid([u8; 16]),
    /// First element and number of elements.
    List(u32, u32),
}

/// The range of a tuple in the text, and its first cell.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    start: u32,
    end: u32,
    cell: u32,
}

impl LiteralBuffer {
    /// An empty buffer; `None` for texts of 4 GiB or more.
    pub(super) fn of(text: &Arc<str>) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        Some(Self { text: Arc::clone(text), ..Self::default() })
    }

    pub(super) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Number of tuples.
    pub(super) fn len(&self) -> usize {
        self.room.tuples.len()
    }

    /// Reserves memory in an empty buffer for a text of `size` bytes. Growing by doubling would
    /// use twice the memory, all of it fresh.
    pub(super) fn reserve(&mut self, size: usize) {
        /// Usual minimum size of a literal and of a tuple, in bytes of text. Reserved memory that
        /// stays unused costs nothing.
        const LITERAL_SIZE: usize = 8;
        const TUPLE_SIZE: usize = 32;
        // Called again for each tuple that turns out not to be literals.
        if size > SHORT_MAX && self.room.cells.capacity() == 0 {
            self.room = Room::take();
        }
        make_room(&mut self.room.cells, size / LITERAL_SIZE);
        make_room(&mut self.room.tuples, size / TUPLE_SIZE);
    }

    /// Number of cells.
    pub(super) fn cell_count(&self) -> usize {
        self.room.cells.len()
    }

    #[inline]
    pub(super) fn push(&mut self, cell: Cell) {
        self.room.cells.push(cell);
    }

    /// A cell for a text without escapes: a range of the statement.
    #[inline]
    pub(super) fn text_cell(bytes: Range<usize>) -> Cell {
        Cell::Text(narrow(bytes.start), narrow(bytes.len()))
    }

    /// A cell for a text that had escapes.
    pub(super) fn decoded(&mut self, text: &str) -> Cell {
        let start = narrow(self.decoded.len());
        self.decoded.push_str(text);
        Cell::Decoded(start, narrow(text.len()))
    }

    /// Makes a list cell of the last `count` cells.
    pub(super) fn list(&mut self, count: usize) -> Cell {
        let start = narrow(self.elements.len());
        self.elements.extend(self.room.cells.drain(self.room.cells.len() - count..));
        Cell::List(start, narrow(count))
    }

    /// Makes a tuple of the cells from `cell` on.
    #[inline]
    pub(super) fn close_tuple(&mut self, cell: usize, text: Range<usize>) {
        let (start, end, cell) = (narrow(text.start), narrow(text.end), narrow(cell));
        self.room.tuples.push(Place { start, end, cell });
    }

    /// Removes the cells from `cell` on.
    pub(super) fn truncate(&mut self, cell: usize) {
        self.room.cells.truncate(cell);
    }

    /// The values of a tuple.
    #[inline]
    pub(crate) fn cells(&self, tuple: usize) -> &[Cell] {
        let Room { cells, tuples } = &self.room;
        let end = tuples.get(tuple + 1).map_or(cells.len(), |next| next.cell as usize);
        &cells[tuples[tuple].cell as usize..end]
    }

    /// The elements of a list; empty for other cells.
    pub(crate) fn elements(&self, cell: Cell) -> &[Cell] {
        match cell {
            Cell::List(start, count) => &self.elements[start as usize..][..count as usize],
            _ => &[],
        }
    }

    /// The value of a cell that is not a list.
    #[inline]
    pub(crate) fn value(&self, cell: &Cell) -> ValueRef<'_> {
        match *cell {
            Cell::Null | Cell::List(..) => ValueRef::Null,
            Cell::Boolean(value) => ValueRef::Boolean(value),
            Cell::Integer(number) => ValueRef::Integer(number),
            Cell::Float(number) => ValueRef::Float(number),
            Cell::Text(start, size) => ValueRef::Text(part(&self.text, start, size)),
            Cell::Decoded(start, size) => ValueRef::Text(part(&self.decoded, start, size)),
            Cell::Date(day) => ValueRef::Date(day),
            Cell::Time(time) => ValueRef::Time(time),
            Cell::Timestamp(at) => ValueRef::Timestamp(at),
            Cell::Uuid(uuid) => ValueRef::Uuid(uuid),
        }
    }

    /// The bytes of a tuple in the text.
    pub(crate) fn place(&self, tuple: usize) -> Range<usize> {
        let Place { start, end, .. } = self.room.tuples[tuple];
        start as usize..end as usize
    }
}

/// Reserves room for `count` more. An empty vector is replaced, so that its old contents are not
/// copied as [`Vec::reserve`] may do.
fn make_room<T>(all: &mut Vec<T>, count: usize) {
    if all.is_empty() && all.capacity() < count {
        *all = Vec::with_capacity(count);
    } else {
        all.reserve(count);
    }
}

#[inline]
fn part(text: &str, start: u32, size: u32) -> &str {
    let start = start as usize;
    &text[start..start + size as usize]
}

/// Narrows a byte offset of a text below 4 GiB, or a number of cells, which is smaller.
#[inline]
fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("a text of less than 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Ziql;
    use folio_engine::Limits;

    fn left() -> usize {
        LEFT.with(|left| left.borrow().0.capacity())
    }

    #[test]
    fn room_is_made_once() {
        let mut buffer = LiteralBuffer::default();
        buffer.reserve(4 * SHORT_MAX);
        let room = buffer.room.cells.as_ptr();
        buffer.reserve(3 * SHORT_MAX);
        assert_eq!(buffer.room.cells.as_ptr(), room);
    }

    #[test]
    fn long_texts_leave_their_room_to_each_other_alone() {
        let text = |count| format!("ADD T (a = 1){}", " (1234567)".repeat(count));
        let long = Ziql::parse(&text(10_000), &Limits::default()).expect("it is ZiQL");
        assert_eq!(left(), 0);
        drop(long);
        let room = left();
        assert!(room >= 10_000, "{room} cells");
        let short = Ziql::parse(&text(1_000), &Limits::default()).expect("it is ZiQL");
        assert_eq!(left(), room, "taken by a short text");
        let long = Ziql::parse(&text(9_000), &Limits::default()).expect("it is ZiQL");
        assert_eq!(left(), 0, "a long text has made room anew");
        drop(long);
        assert_eq!(left(), room);
        drop(short);
        assert_eq!(left(), room, "lost to a short text");
        drop(Ziql::parse(&text(100_000), &Limits::default()).expect("it is ZiQL"));
        assert!(left() <= LEFT_MAX);
    }
}
