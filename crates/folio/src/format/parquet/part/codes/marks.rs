//! Which codes are wanted, looked up for several codes at once.

/// The bits that index a table.
const INDEX_BITS: u32 = 10;

/// Marks of codes, for codes of a certain number of bits.
#[derive(Debug)]
pub(super) struct Marks {
    /// By code; codes beyond it are not marked.
    marked: Vec<bool>,
    bits: u32,
    /// How many codes an index has.
    pub(super) per_index: usize,
    /// By the bits of that many codes, a bit for each of them.
    table: Vec<u8>,
}

impl Marks {
    pub(super) fn new(marked: Vec<bool>) -> Self {
        Self { marked, bits: u32::MAX, per_index: 1, table: Vec::new() }
    }

    pub(super) fn is_marked(&self, code: usize) -> bool {
        self.marked.get(code) == Some(&true)
    }

    /// Sets the number of bits of a code.
    pub(super) fn set_bits(&mut self, bits: u32) {
        if bits == self.bits {
            return;
        }
        self.bits = bits;
        self.per_index = (INDEX_BITS / bits.max(1)).clamp(1, u8::BITS) as usize;
        self.table.clear();
        if self.per_index == 1 {
            self.table.extend(self.marked.iter().map(|marked| u8::from(*marked)));
            return;
        }
        // The other codes of an index are those of a smaller one.
        let all = u8::MAX >> (u8::BITS as usize - self.per_index);
        self.table.push(if self.is_marked(0) { all } else { 0 });
        for index in 1..1 << (self.per_index as u32 * bits) {
            let first = self.is_marked(index & ((1 << bits) - 1));
            self.table.push(u8::from(first) | self.table[index >> bits] << 1 & all);
        }
    }

    /// The marks of the codes of an index.
    #[inline]
    pub(super) fn of(&self, index: usize) -> u64 {
        self.table.get(index).copied().unwrap_or(0).into()
    }
}
