//! Zeroed memory directly from the system, allocated only as it is touched.
//!
//! An allocator may clear memory byte by byte. For a buffer pool of gigabytes, opening a database
//! would then cost as much as using all of it. The system clears anonymously mapped memory page by
//! page, at the first touch.

use std::fmt;
use std::ptr::NonNull;

/// A block of memory, zero until written, at an address that does not change.
pub struct AnonymousMemory {
    backing: Backing,
    size: usize,
}

enum Backing {
    Mapped(memmap2::MmapMut),
    /// Used if the system cannot map memory.
    Owned(Vec<u8>),
}

impl AnonymousMemory {
    /// Reserves memory.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let map = memmap2::MmapOptions::new().len(size).no_reserve_swap().map_anon();
        let backing = map.map_or_else(|_| Backing::Owned(vec![0; size]), Backing::Mapped);
        Self { backing, size }
    }

    /// Reserves memory in huge pages, if the system has them. Fewer pages make address translation
    /// cheaper, but each is cleared as a whole at its first touch.
    #[must_use]
    pub fn of_great_pages(size: usize) -> Self {
        let memory = Self::new(size);
        // A hint; it may fail.
        #[cfg(target_os = "linux")]
        if let Backing::Mapped(map) = &memory.backing {
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        memory
    }

    /// The address of the first byte.
    #[must_use]
    pub fn start(&mut self) -> NonNull<u8> {
        let bytes: &mut [u8] = match &mut self.backing {
            Backing::Mapped(map) => map,
            Backing::Owned(bytes) => bytes,
        };
        NonNull::from(bytes).cast()
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

impl fmt::Debug for AnonymousMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backing = match &self.backing {
            Backing::Mapped(_) => "mapped",
            Backing::Owned(_) => "owned",
        };
        let mut debug = formatter.debug_struct("AnonymousMemory");
        debug.field("backing", &backing).field("size", &self.size).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_there_and_stays_where_it_is() {
        let mut memory = AnonymousMemory::new(1 << 30);
        assert_eq!(memory.size(), 1 << 30);
        assert_eq!(memory.start(), memory.start());
    }
}
