//! Texts of a dictionary page, each behind its size.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;

/// The bytes of a text to make room for.
const TEXT_SIZE: usize = 32;

/// The bytes of a size.
const SIZE: usize = size_of::<u32>();

/// The texts of a page, and where each begins.
pub(super) struct Texts {
    page: Bytes,
    starts: Starts,
}

enum Starts {
    /// So many, which all have the same size, as identifiers have.
    Even { count: usize, size: usize },
    /// Of others, where each size is.
    Each(Vec<usize>),
}

impl Texts {
    /// `None` for a page that is not as it was written.
    pub(super) fn of(page: Bytes, count: usize) -> Option<Self> {
        let size = size_at(&page, 0).unwrap_or(0);
        let is_even = count > 0
            && (SIZE + size).checked_mul(count) == Some(page.len())
            && (1..count).all(|own| size_at(&page, own * (SIZE + size)) == Some(size));
        if is_even {
            return Some(Self { page, starts: Starts::Even { count, size } });
        }
        // A page may claim any number; each text has a size at least.
        let mut starts = Vec::with_capacity(count.min(page.len() / SIZE));
        let mut at = 0_usize;
        for _ in 0..count {
            starts.push(at);
            at = at.checked_add(SIZE + size_at(&page, at)?)?;
        }
        (at <= page.len()).then_some(Self { page, starts: Starts::Each(starts) })
    }

    /// All of them.
    pub(super) fn all(&self) -> Option<ArrayRef> {
        match &self.starts {
            Starts::Even { count, .. } => self.copied(0..*count, *count, None),
            Starts::Each(starts) => self.copied(0..starts.len(), starts.len(), None),
        }
    }

    /// Those that have these codes. Those of nulls do not matter.
    pub(super) fn coded(&self, codes: &[i32], nulls: Option<NullBuffer>) -> Option<ArrayRef> {
        self.copied(codes.iter().map(|code| *code as usize), codes.len(), nulls)
    }

    fn copied(
        &self,
        numbers: impl Iterator<Item = usize>,
        count: usize,
        nulls: Option<NullBuffer>,
    ) -> Option<ArrayRef> {
        let mut texts = Vec::with_capacity(self.page.len().min(count * TEXT_SIZE));
        let mut ends = Vec::with_capacity(count + 1);
        ends.push(0_i32);
        for number in numbers {
            texts.extend_from_slice(self.get(number)?);
            ends.push(i32::try_from(texts.len()).ok()?);
        }
        let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
        let texts = StringArray::try_new(ends, texts.into(), nulls).ok()?;
        Some(Arc::new(texts))
    }

    #[inline]
    fn get(&self, number: usize) -> Option<&[u8]> {
        match &self.starts {
            Starts::Even { count, size } if number < *count => {
                let start = number * (SIZE + size) + SIZE;
                self.page.get(start..start + size)
            }
            Starts::Even { .. } => None,
            Starts::Each(starts) => {
                let at = *starts.get(number)?;
                self.page.get(at + SIZE..)?.get(..size_at(&self.page, at)?)
            }
        }
    }
}

/// The size that is at a place of a page.
#[inline]
fn size_at(page: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*page.get(at..)?.first_chunk()?) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_as_many_texts_as_it_says() {
        let page = Bytes::from_static(b"\x01\0\0\0a\x02\0\0\0bc");
        let count = |count| Texts::of(page.clone(), count)?.all().map(|texts| texts.len());
        assert_eq!([count(0), count(1), count(2), count(3)], [Some(0), Some(1), Some(2), None]);
        assert_eq!(count(usize::MAX), None);
    }
}
