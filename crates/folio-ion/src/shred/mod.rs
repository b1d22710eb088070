//! Reads values into columns.
//!
//! A [`Batch`] has a column for every requested field. Records are read from a block of whole
//! values directly into the columns. A field's bytes are parsed as its column's type; other fields
//! are skipped. Nothing is allocated per row.
//!
//! Records of a file are similar, so a struct remembers the order of its fields
//! (`order::FieldOrder`) and tries it first. Values that the direct readers do not expect
//! (annotations, typed nulls, unusual notations, a value of another type) are read as a tree and
//! converted in `element`, which has all conversions. So the direct readers may give up early;
//! where they do not, they must agree with it.
//!
//! The layout of the columns lets a consumer copy them whole: integers at their native size, text
//! as 16-byte views (see [`Text`]), lists as offset and length into a child.

mod binary;
mod column;
mod element;
mod infer;
mod number;
mod observe;
mod order;
mod schema;
mod text;

pub use column::{Column, Data, ListEntry, StructColumn, Text, Validity};
pub use infer::{Inference, Rules};
pub use schema::{Field, Type};

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::reader::Encoding;
use crate::symbol::SymbolTable;
use crate::text::Context;
use crate::value::{Element, Value};
use std::sync::Arc;

/// A part of a stream that holds whole top-level values (or whole elements of a top-level list) and
/// no symbol tables or version markers.
#[derive(Debug, Clone)]
pub struct Block {
    /// The encoding of the values.
    pub encoding: Encoding,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Where the values start within `bytes`.
    pub start: usize,
    /// Where `bytes` start in the stream.
    pub offset: u64,
    /// Values in the stream before this block.
    pub first_row: u64,
    /// Values in this block.
    pub row_count: u64,
    /// The ends of the first values, as far as the splitter knows them, so that readers can jump
    /// there.
    pub ends: Vec<u32>,
    /// Whether commas separate the values, because they are elements of a list.
    pub in_list: bool,
    /// The symbol table of the whole block.
    pub symbols: Arc<SymbolTable>,
}

impl Block {
    /// The value at byte `at` as a tree, and the start of the next one; `None` at the end.
    ///
    /// # Errors
    ///
    /// An error with its offset.
    pub fn element(&self, at: usize, limits: &Limits) -> Result<Option<(Element, usize)>> {
        let context = Context { symbols: &self.symbols, limits };
        let element = match self.encoding {
            Encoding::Text => text::element(self, at, context),
            Encoding::Binary => binary::element(self, at, context),
        };
        element.map_err(|error| error.shifted(self.offset))
    }

    /// The start of the value at or after byte `at`: after white space, comments and a comma.
    ///
    /// # Errors
    ///
    /// A comment that does not end.
    pub fn seek(&self, at: usize) -> Result<usize> {
        if self.encoding == Encoding::Binary {
            return Ok(at);
        }
        let mut cursor = crate::text::Cursor::new(&self.bytes, at, true);
        let sought = text::seek(&mut cursor, self.in_list);
        sought.map(|_| cursor.at).map_err(|error| error.shifted(self.offset))
    }

    /// The start of the value after the one at byte `at`.
    ///
    /// # Errors
    ///
    /// A value whose end cannot be found.
    pub fn skip(&self, at: usize) -> Result<usize> {
        let next = match self.encoding {
            Encoding::Text => text::skip(self, at),
            Encoding::Binary => binary::skip(self, at),
        };
        next.map_err(|error| error.shifted(self.offset))
    }
}

/// What a row consists of.
#[derive(Debug, Clone)]
pub enum Layout {
    /// Every value is a struct; its fields are the columns.
    Records(Vec<Field>),
    /// Every value is one column of this type.
    Values(Type),
}

/// Columns being filled.
#[derive(Debug)]
pub struct Batch {
    root: Root,
    /// Annotations of each record, if requested.
    annotations: Option<Column>,
    limits: Limits,
    /// The symbol table of the columns' field numbers. Holding it prevents another table from
    /// getting the same address.
    symbols: Option<Arc<SymbolTable>>,
}

#[derive(Debug)]
enum Root {
    Records(StructColumn),
    Values(Column),
}

impl Batch {
    /// An empty batch for `layout`.
    pub fn new(layout: &Layout, limits: Limits) -> Batch {
        let root = match layout {
            Layout::Records(fields) => Root::Records(StructColumn::new(fields)),
            Layout::Values(value_type) => Root::Values(Column::new(value_type)),
        };
        Batch { root, annotations: None, limits, symbols: None }
    }

    /// The same batch, which also collects the annotations of each top-level value as a list of
    /// strings.
    #[must_use]
    pub fn with_annotations(mut self) -> Batch {
        self.annotations = Some(Column::new(&Type::List(Box::new(Type::String))));
        self
    }

    /// The columns, in the order of the layout.
    pub fn columns(&self) -> &[Column] {
        match &self.root {
            Root::Records(records) => &records.fields,
            Root::Values(column) => std::slice::from_ref(column),
        }
    }

    /// The annotations, if they are collected.
    pub fn annotations(&self) -> Option<&Column> {
        self.annotations.as_ref()
    }

    /// The number of rows.
    pub fn row_count(&self) -> usize {
        match &self.root {
            Root::Records(records) => records.rows,
            Root::Values(column) => column.len(),
        }
    }

    /// Removes all rows and reuses the memory.
    pub fn clear(&mut self) {
        match &mut self.root {
            Root::Records(records) => records.clear(),
            Root::Values(column) => column.clear(),
        }
        if let Some(annotations) = &mut self.annotations {
            annotations.clear();
        }
    }

    /// Reads up to `count` values of `block` from byte `at` on. Moves `at` to the start of the next
    /// value, or to the block's length after the last.
    ///
    /// # Errors
    ///
    /// An error with its offset, with `at` at the failing value, which [`Block::skip`] skips. Rows
    /// read before it stay in the batch; no part of the failing one does.
    pub fn read(&mut self, block: &Block, at: &mut usize, count: usize) -> Result<()> {
        let limits = self.limits;
        let context = Context { symbols: &block.symbols, limits: &limits };
        let target = self.row_count() + count;
        let read = match block.encoding {
            Encoding::Text => text::read(self.parts(), block, at, target, context),
            Encoding::Binary => binary::read(self.parts(), block, at, target, context),
        };
        read.map_err(|error| {
            self.discard_partial_row();
            error.shifted(block.offset)
        })
    }

    /// Appends one value read as a tree: the general path behind [`Batch::read`].
    ///
    /// # Errors
    ///
    /// A value that does not fit its column. No part of it stays in the batch.
    pub fn push(&mut self, value: &Element) -> Result<()> {
        let pushed = self.parts().push(value, 0);
        pushed.inspect_err(|_| self.discard_partial_row())
    }

    fn parts(&mut self) -> Parts<'_> {
        Parts {
            root: &mut self.root,
            annotations: self.annotations.as_mut(),
            symbols: &mut self.symbols,
        }
    }

    /// Removes the values of a failed record from the columns.
    fn discard_partial_row(&mut self) {
        let rows = self.row_count();
        match &mut self.root {
            Root::Records(records) => records.truncate(rows),
            Root::Values(column) => column.truncate(rows),
        }
        if let Some(annotations) = &mut self.annotations {
            annotations.truncate(rows);
        }
    }
}

struct Parts<'a> {
    root: &'a mut Root,
    annotations: Option<&'a mut Column>,
    symbols: &'a mut Option<Arc<SymbolTable>>,
}

impl Parts<'_> {
    fn rows(&self) -> usize {
        match &self.root {
            Root::Records(records) => records.rows,
            Root::Values(column) => column.len(),
        }
    }

    /// Appends a value that was read as a tree to the columns.
    fn push(&mut self, value: &Element, at: usize) -> Result<()> {
        if let Some(annotations) = &mut self.annotations {
            annotations.push_annotations(&value.annotations);
        }
        let kind = match (&self.root, &value.value) {
            (Root::Records(_), Value::Struct(_)) | (Root::Values(_), _) => ErrorKind::Type,
            (Root::Records(_), _) => ErrorKind::Record,
        };
        let pushed = match &mut self.root {
            Root::Records(records) => records.push_record(value),
            Root::Values(column) => column.push(value),
        };
        pushed.map_err(|message| Error::new(kind, at as u64, message))
    }
}
