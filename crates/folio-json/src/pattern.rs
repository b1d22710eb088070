//! Keys as they appear in the text, and a fast check whether one comes next.

/// `"key":`, or the same after a comma, compared with text eight bytes at a time. A call to compare memory would cost more
/// than the comparison.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: Box<[u8]>,
    /// Its first eight bytes, and a mask of the bits that count.
    head: u64,
    mask: u64,
    /// Its last eight bytes, if it is longer.
    tail: u64,
}

/// Up to this size, head and tail cover the whole pattern.
const SHORT: usize = 16;

impl Pattern {
    /// The pattern of a key, given as it appears between its quotes.
    #[must_use]
    pub fn of_key(name: &[u8]) -> Self {
        Self::of_text([b"\"", name, b"\":"].concat().into())
    }

    /// The pattern of a key after another member: with the comma before it.
    pub(crate) fn after_comma(&self) -> Self {
        Self::of_text([b",", &*self.text].concat().into())
    }

    fn of_text(text: Box<[u8]>) -> Self {
        let size = text.len().min(8);
        let mut head = [0; 8];
        head[..size].copy_from_slice(&text[..size]);
        let tail = text.last_chunk::<8>().copied().unwrap_or_default();
        Self {
            head: u64::from_le_bytes(head),
            mask: u64::MAX >> (64 - 8 * size),
            tail: u64::from_le_bytes(tail),
            text,
        }
    }

    /// The pattern of a name as it is usually written.
    pub(crate) fn of_name(name: &str) -> Self {
        let quoted = serde_json::Value::from(name).to_string();
        Self::of_key(&quoted.as_bytes()[1..quoted.len() - 1])
    }

    /// Its size in bytes: the key, two quotes and a colon, perhaps a comma.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    #[must_use]
    pub fn size(&self) -> usize {
        self.text.len()
    }

    /// Whether text begins with the pattern.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    #[must_use]
    pub fn begins(&self, text: &[u8]) -> bool {
        let size = self.text.len();
        let Some(first) = text.first_chunk::<8>() else { return text.starts_with(&self.text) };
        if u64::from_le_bytes(*first) & self.mask != self.head {
            return false;
        }
        if size <= 8 {
            return true;
        }
        let Some(last) = text.get(size - 8..).and_then(<[u8]>::first_chunk::<8>) else {
            return false;
        };
        u64::from_le_bytes(*last) == self.tail && (size <= SHORT || text.starts_with(&self.text))
    }
}
