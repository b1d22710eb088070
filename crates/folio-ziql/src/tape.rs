//! Tuples of literals as they were read: a cell for each value, all in one row.
//!
//! A statement may add a million entities. Its values stay here from the text to the
//! store: texts are where they stand in the statement, and where a tuple stands is a
//! number of bytes. Lines and columns, and a syntax tree for a tuple that needs more than
//! its values put in place, are made when somebody asks for them.
//!
//! ```text
//! cells     'Ada'  36  [0, 2]   'Bob'  41  [2, 1] …     a list: where its elements are
//! elements  7 8 7 …
//! tuples    ^ from byte 61 to 82  ^ from byte 83 to …
//! ```

use std::cell::RefCell;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use folio_types::ValueRef;

/// All tuples of a text that are nothing but literals.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Tape {
    text: Arc<str>,
    /// Texts that had escapes.
    decoded: String,
    elements: Vec<Cell>,
    room: Room,
}

/// What grows with the number of tuples. A program that adds many rows does so in one long
/// statement after the other, and memory fresh from the system has to be cleared first: so what
/// a tape took is left to the next one of its thread.
#[derive(Debug, Clone, PartialEq, Default)]
struct Room {
    cells: Vec<Cell>,
    tuples: Vec<Place>,
}

thread_local! {
    /// The largest room that a tape of this thread has left.
    static LEFT: RefCell<(Vec<Cell>, Vec<Place>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// A text of so many bytes has a small room of its own: somebody may keep its tape for long.
const SHORT_MAX: usize = 16 << 10;

/// Cells that are left behind, at most: 6 MiB.
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
        // A thread that ends keeps nothing.
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
    /// These bytes of the text.
    Text(u32, u32),
    /// These bytes of the decoded texts.
    Decoded(u32, u32),
    Date(i32),
    Time(i64),
    Timestamp(i64),
    Uuid([u8; 16]),
    /// From which element on, and how many.
    List(u32, u32),
}

/// Where a tuple stands in the text, and its first cell.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    start: u32,
    end: u32,
    cell: u32,
}

impl Tape {
    /// An empty one; `None` for a text whose bytes 32 bits do not count.
    pub(super) fn of(text: &Arc<str>) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        Some(Self { text: Arc::clone(text), ..Self::default() })
    }

    pub(super) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// How many tuples there are.
    pub(super) fn len(&self) -> usize {
        self.room.tuples.len()
    }

    /// Makes room for what a text of so many bytes may hold, in an empty tape: what grows
    /// by doubling takes twice the memory, all of it fresh.
    pub(super) fn reserve(&mut self, size: usize) {
        /// Bytes of a text that a literal and a tuple take, at least, mostly. Memory that nothing
        /// is put into costs nothing.
        const LITERAL_SIZE: usize = 8;
        const TUPLE_SIZE: usize = 32;
        // Asked again for each tuple that turns out to be no literals.
        if size > SHORT_MAX && self.room.cells.capacity() == 0 {
            self.room = Room::take();
        }
        make_room(&mut self.room.cells, size / LITERAL_SIZE);
        make_room(&mut self.room.tuples, size / TUPLE_SIZE);
    }

    /// How many cells there are.
    pub(super) fn cell_count(&self) -> usize {
        self.room.cells.len()
    }

    #[inline]
    pub(super) fn push(&mut self, cell: Cell) {
        self.room.cells.push(cell);
    }

    /// The cell of a text that stands in the statement's own.
    #[inline]
    pub(super) fn text_cell(bytes: Range<usize>) -> Cell {
        Cell::Text(narrow(bytes.start), narrow(bytes.len()))
    }

    /// The cell of a text that had escapes.
    pub(super) fn decoded(&mut self, text: &str) -> Cell {
        let start = narrow(self.decoded.len());
        self.decoded.push_str(text);
        Cell::Decoded(start, narrow(text.len()))
    }

    /// The cell of a list of so many elements, which are the last cells.
    pub(super) fn list(&mut self, count: usize) -> Cell {
        let start = narrow(self.elements.len());
        self.elements.extend(self.room.cells.drain(self.room.cells.len() - count..));
        Cell::List(start, narrow(count))
    }

    /// Makes the cells from the given one on a tuple.
    #[inline]
    pub(super) fn close_tuple(&mut self, cell: usize, text: Range<usize>) {
        let (start, end, cell) = (narrow(text.start), narrow(text.end), narrow(cell));
        self.room.tuples.push(Place { start, end, cell });
    }

    /// Forgets the cells from the given one on.
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

    /// The elements of a list; nothing of what is none.
    pub(crate) fn elements(&self, cell: Cell) -> &[Cell] {
        match cell {
            Cell::List(start, count) => &self.elements[start as usize..][..count as usize],
            _ => &[],
        }
    }

    /// The value of a cell that is no list.
    #[inline]
    pub(crate) fn value(&self, cell: Cell) -> ValueRef<'_> {
        match cell {
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

    /// Which bytes of the text a tuple is.
    pub(crate) fn place(&self, tuple: usize) -> Range<usize> {
        let Place { start, end, .. } = self.room.tuples[tuple];
        start as usize..end as usize
    }
}

/// Makes room for so many more. Where a vector is empty, nothing of its old memory is copied, as
/// [`Vec::reserve`] may do.
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

/// A number of bytes of a text that has less than 2^32; and of cells, which are fewer.
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
        let mut tape = Tape::default();
        tape.reserve(4 * SHORT_MAX);
        let room = tape.room.cells.as_ptr();
        tape.reserve(3 * SHORT_MAX);
        assert_eq!(tape.room.cells.as_ptr(), room);
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
