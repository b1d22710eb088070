//! The numbers of the texts of a dictionary. The batches of a row group share one, which has many more
//! texts than a batch has rows: a text is looked up when a row first has it, and its number then serves
//! all batches.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray};
use foldhash::fast::FixedState;

use super::bytes::ByteKeys;

/// For more texts to each row of a batch, the room for their numbers would cost more than it saves.
const TEXTS_PER_ROW: usize = 64;

/// The number of a text that no row has had.
const NONE: u32 = u32::MAX;

/// What is known of the dictionary of the last batch.
#[derive(Default)]
pub(super) struct MetTexts {
    texts: Option<ArrayRef>,
    /// The number of each text, and that of null.
    numbers: Vec<u32>,
}

impl MetTexts {
    /// A column whose texts are worth to be remembered.
    pub(super) fn column(column: &ArrayRef) -> Option<&DictionaryArray<Int32Type>> {
        let own = column.as_dictionary_opt::<Int32Type>()?;
        let is_text = own.values().as_string_opt::<i32>().is_some();
        (is_text && own.values().len() <= own.len() * TEXTS_PER_ROW).then_some(own)
    }

    pub(super) fn intern(
        &mut self,
        column: &DictionaryArray<Int32Type>,
        known: &mut ByteKeys,
        hasher: &FixedState,
        first_rows: &mut Vec<u32>,
    ) -> Vec<u32> {
        let null = column.values().len();
        if !self.texts.as_ref().is_some_and(|texts| Arc::ptr_eq(texts, column.values())) {
            self.numbers.clear();
            self.numbers.resize(null + 1, NONE);
            self.texts = Some(ArrayRef::clone(column.values()));
        }
        let keys = column.keys();
        let mut codes: Vec<u32> = match keys.null_count() {
            0 => keys.values().iter().map(|key| *key as u32).collect(),
            _ => keys.iter().map(|key| key.map_or(null as u32, |key| key as u32)).collect(),
        };
        self.look_up(column, &codes, known, hasher, first_rows);
        codes.iter_mut().for_each(|code| *code = self.numbers[*code as usize]);
        codes
    }

    /// Looks up the texts that no row has had.
    fn look_up(
        &mut self,
        column: &DictionaryArray<Int32Type>,
        codes: &[u32],
        known: &mut ByteKeys,
        hasher: &FixedState,
        first_rows: &mut Vec<u32>,
    ) {
        let texts = column.values().as_string::<i32>();
        let text = |code: usize| {
            let is_null = code == texts.len() || texts.is_null(code);
            (!is_null).then(|| texts.value(code).as_bytes())
        };
        let (mut rows, mut fresh) = (Vec::new(), Vec::new());
        for (row, code) in codes.iter().enumerate() {
            let number = &mut self.numbers[*code as usize];
            if *number == NONE {
                *number = 0; // until all are looked up
                rows.push(row as u32);
                fresh.push(text(*code as usize));
            }
        }
        let mut firsts = Vec::new();
        let numbers = known.intern(&fresh, &ByteKeys::hashes(&fresh, hasher), &mut firsts);
        for (row, number) in rows.iter().zip(numbers) {
            self.numbers[codes[*row as usize] as usize] = number;
        }
        first_rows.extend(firsts.into_iter().map(|at| rows[at as usize]));
    }

    pub(super) fn size(&self) -> usize {
        self.numbers.capacity() * size_of::<u32>() // the texts are those of the source
    }
}
