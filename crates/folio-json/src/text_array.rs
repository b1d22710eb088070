//! Arrow arrays of texts, from their bytes and ends.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};

/// Makes a text array, cut at `ends`. Bytes that are not UTF-8 are replaced.
pub(crate) fn texts(bytes: Vec<u8>, ends: &mut Vec<i32>, nulls: Option<&NullBuffer>) -> ArrayRef {
    let (offsets, bytes) = (offsets(ends), Buffer::from_vec(bytes));
    match StringArray::try_new(offsets.clone(), bytes.clone(), nulls.cloned()) {
        Ok(array) => Arc::new(array),
        Err(_) => {
            let text = |(at, pair): (usize, &[i32])| {
                let is_valid = nulls.is_none_or(|nulls| nulls.is_valid(at));
                let bytes = &bytes[pair[0] as usize..pair[1] as usize];
                is_valid.then(|| String::from_utf8_lossy(bytes).into_owned())
            };
            Arc::new(offsets.windows(2).enumerate().map(text).collect::<StringArray>())
        }
    }
}

/// Arrow's offsets: the ends with a zero before them.
pub(crate) fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    offsets.append(ends);
    OffsetBuffer::new(offsets.into())
}
