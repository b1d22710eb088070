//! The shapes of documents, for decoders specialised to them.
//!
//! `JSON.parse` spends most of its time on finding out again, for each document, which members it
//! has, although the documents of a collection are similar. So the native half walks over the text,
//! determines its shape if known, and marks the positions of its values. The other half
//! (`lib/shape.js`) has a function for each shape, which is an object literal with the values as
//! substrings of the text.
//!
//! A shape is its *outline*: the document without spaces and with one byte for each value, 1 or,
//! for an array, 2. A document that is too long or does not fit the marks has no shape, and is left
//! to `JSON.parse`. So is invalid JSON, which is refused as usual.
//!
//! A document is first compared with the shape of the previous one: as long as the text between its
//! values is the same, its keys are not examined individually.
//!
//! Several documents of one text may be marked together. `marks` begins with their number; 0 leaves
//! the text to `JSON.parse`. The first one is at place 2. It has the number of its shape (-1 if
//! there is no document), the place of the next one, and then two places for each value, in the
//! order of the outline:
//!
//! | first | second | value |
//! |---|---|---|
//! | 0 and more | end | the text between |
//! | -1 | 0, 1, 2 | null, false, true |
//! | -2 | n | the integer n |
//! | -3 | n | `numbers[n]` |
//! | -4 and less | end | the JSON from -4 - first to the end: a string with escapes |
//!
//! For a list they are the place of its first element, in the second half of `marks`, and the
//! count; or JSON, as for such a string, if it contains objects or lists. Offsets in the text are
//! those of the JavaScript string (UTF-16).

mod piece;
mod walk;

use std::cell::RefCell;
use std::rc::Rc;

use napi::bindgen_prelude::{Float64Array, Int32Array};
use napi_derive::napi;

use piece::Piece;
use walk::Walk;

/// A value in an outline.
pub(crate) const VALUE: u8 = 1;
/// An array of values in an outline.
pub(crate) const LIST: u8 = 2;
/// The maximum number of marks of a document, and of its list elements. It suffices for `TEXT_MAX`,
/// except for many values of objects, which are rare.
pub(crate) const VALUES_MAX: usize = 256;
const ELEMENTS_MAX: usize = TEXT_MAX;
const NUMBERS_MAX: usize = TEXT_MAX / 2;

/// The shape number of a missing document.
const MISSING: i32 = -1;

/// The place of the first document.
const FIRST: usize = 2;

/// The maximum number of known shapes. A power of two.
const SHAPES_MAX: usize = 64;
/// A shape gets a function once it was seen this often.
const COMMON: u8 = 3;
/// Substrings keep the whole text in memory, so it must be short.
const TEXT_MAX: usize = 1024;
/// After this many documents without a common shape ..
const MISSES_MAX: u32 = 64;
/// .. this many are left to `JSON.parse` unexamined.
const PAUSE: u32 = 1024;

/// What both halves share of the shapes: the arrays, and what is known.
#[napi]
pub struct NativeShapes {
    shared: Rc<RefCell<Shared>>,
}

struct Shared {
    marks: Int32Array,
    numbers: Float64Array,
    used: Used,
    shapes: Shapes,
}

/// The used part of the arrays.
#[derive(Clone, Copy, Default)]
struct Used {
    documents: i32,
    /// The place of the next document, and of the next list element.
    next: usize,
    listed: usize,
    numbers: usize,
    /// The difference, modulo 2^64, between an offset in a document and in the string.
    shift: usize,
}

#[napi]
impl NativeShapes {
    /// Writes to these arrays, which must stay in this thread.
    #[napi(constructor)]
    pub fn new(marks: Int32Array, numbers: Float64Array) -> napi::Result<Self> {
        if marks.len() < 2 * (FIRST + ELEMENTS_MAX) || numbers.len() < NUMBERS_MAX {
            return Err(napi::Error::from_reason("invalid_input: too few marks"));
        }
        let shared = Shared { marks, numbers, used: Used::default(), shapes: Shapes::default() };
        Ok(Self { shared: Rc::new(RefCell::new(shared)) })
    }

    /// The outline of a shape that has just been answered; null when another has its place.
    #[napi]
    pub fn outline(&self, number: u32) -> Option<String> {
        let shared = self.shared.borrow();
        let shape = shared.shapes.known.get(number as usize % SHAPES_MAX)?;
        let is_it = i64::from(shape.number) == i64::from(number);
        is_it.then(|| String::from_utf8_lossy(&shape.outline).into_owned())
    }
}

impl NativeShapes {
    /// A marker of shapes, for code that passes documents to JavaScript.
    pub(crate) fn marker(&self) -> Marker {
        Marker(Rc::clone(&self.shared))
    }
}

/// Marks the text of documents; see the module.
pub(crate) struct Marker(Rc<RefCell<Shared>>);

impl Marker {
    /// Marks a document that is passed alone.
    #[inline]
    pub(crate) fn mark_one(&self, text: &[u8]) {
        let shared = &mut *self.0.borrow_mut();
        shared.begin();
        shared.mark(text);
    }

    /// Begins a text of several documents.
    pub(crate) fn begin(&self) {
        self.0.borrow_mut().begin();
    }

    /// Marks the next document of the text, if its shape is common and there is room.
    pub(crate) fn mark_next(&self, document: &[u8]) -> bool {
        self.0.borrow_mut().mark(document)
    }

    /// Marks the next document of the text as missing, if there is room.
    pub(crate) fn mark_missing(&self) -> bool {
        self.0.borrow_mut().mark_missing()
    }
}

impl Shared {
    #[inline]
    fn begin(&mut self) {
        let listed = self.marks.len() / 2;
        self.used = Used { next: FIRST, listed, ..Used::default() };
        self.arrays().0[0] = 0;
    }

    #[inline]
    fn mark(&mut self, text: &[u8]) -> bool {
        let mut used = self.used;
        let (marks, numbers, shapes) = self.arrays();
        let half = marks.len() / 2;
        let has_room = half - used.next >= VALUES_MAX
            && marks.len() - used.listed >= ELEMENTS_MAX
            && numbers.len() - used.numbers >= NUMBERS_MAX;
        if !has_room {
            return false;
        }
        let Some(number) = shapes.mark(text, MarkBuffer { marks, numbers, used: &mut used }) else {
            return false;
        };
        used.shift = used.shift.wrapping_add(text.len());
        self.end_document(number, used);
        true
    }

    fn mark_missing(&mut self) -> bool {
        let mut used = self.used;
        if self.marks.len() / 2 - used.next < VALUES_MAX {
            return false;
        }
        used.next += 2;
        self.end_document(MISSING, used);
        true
    }

    /// Records the end of a document, and the used part of the arrays.
    #[inline]
    fn end_document(&mut self, number: i32, mut used: Used) {
        let at = self.used.next;
        used.documents += 1;
        let (marks, ..) = self.arrays();
        (marks[0], marks[at], marks[at + 1]) = (used.documents, number, used.next as i32);
        self.used = used;
    }

    #[inline]
    fn arrays(&mut self) -> (&mut [i32], &mut [f64], &mut Shapes) {
        // SAFETY: the arrays were made for this by the other half, which reads them on
        // this thread, when no call is under way.
        #[allow(unsafe_code)]
        let (marks, numbers) = unsafe { (self.marks.as_mut(), self.numbers.as_mut()) };
        (marks, numbers, &mut self.shapes)
    }
}

/// The place for the marks of a document.
struct MarkBuffer<'a> {
    marks: &'a mut [i32],
    numbers: &'a mut [f64],
    used: &'a mut Used,
}

impl MarkBuffer<'_> {
    /// The same, for another walk over the document.
    fn again(&mut self) -> MarkBuffer<'_> {
        MarkBuffer { marks: self.marks, numbers: self.numbers, used: self.used }
    }
}

/// The known shapes, in a ring: numbers only grow, and a shape's place is its number modulo
/// [`SHAPES_MAX`].
#[derive(Default)]
struct Shapes {
    known: Vec<Shape>,
    /// The next number.
    next: u32,
    /// The place of the last match.
    last: usize,
    /// The outline of the current document.
    outline: Vec<u8>,
    /// Documents without a common shape, minus those with one.
    misses: u32,
    /// Documents still to be skipped.
    pause: u32,
}

struct Shape {
    outline: Vec<u8>,
    pieces: Vec<Piece>,
    number: i32,
    /// How often it was seen, at most 255; halved whenever its place is needed.
    count: u8,
}

impl Shapes {
    /// The number of the text's shape, if it is common, with its values marked.
    fn mark(&mut self, text: &[u8], buffer: MarkBuffer<'_>) -> Option<i32> {
        if self.pause > 0 {
            self.pause -= 1;
            return None;
        }
        let number = self.common(text, buffer);
        self.misses = match number {
            Some(_) => self.misses.saturating_sub(1),
            None => self.misses + 1,
        };
        if self.misses > MISSES_MAX {
            (self.misses, self.pause) = (0, PAUSE);
        }
        number
    }

    fn common(&mut self, text: &[u8], mut buffer: MarkBuffer<'_>) -> Option<i32> {
        if text.len() > TEXT_MAX {
            return None;
        }
        let (is_ascii, used) = (text.is_ascii(), *buffer.used);
        let is_like_last = match self.known.get(self.last) {
            Some(last) => Walk::new(text, is_ascii, buffer.again()).along(&last.pieces).is_some(),
            None => false,
        };
        if !is_like_last {
            *buffer.used = used;
            self.last = self.place(Walk::new(text, is_ascii, buffer))?;
        }
        let shape = &mut self.known[self.last];
        shape.count = shape.count.saturating_add(1);
        (shape.count >= COMMON).then_some(shape.number)
    }

    /// The place of a document's shape, which is added if new.
    #[inline(never)]
    fn place(&mut self, mut walk: Walk<'_>) -> Option<usize> {
        self.outline.clear();
        walk.document(&mut self.outline)?;
        let known = self.known.iter().position(|shape| shape.outline == self.outline);
        known.or_else(|| self.learn())
    }

    /// Gives the current outline the next place, unless the shape there is in use.
    #[cold]
    fn learn(&mut self) -> Option<usize> {
        let number = i32::try_from(self.next).ok()?;
        let place = self.next as usize % SHAPES_MAX;
        self.next += 1;
        if let Some(old) = self.known.get_mut(place).filter(|old| old.count >= COMMON) {
            old.count /= 2;
            return None;
        }
        let pieces = Piece::all_of(&self.outline);
        let shape = Shape { outline: self.outline.clone(), pieces, number, count: 0 };
        match self.known.get_mut(place) {
            None => self.known.push(shape),
            Some(old) => *old = shape,
        }
        Some(place)
    }
}
