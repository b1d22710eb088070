//! Reads a collection in the lines layout only by `docs/formats/document-store.md`. It uses none of
//! the library's code, so that the specification and the library cannot be wrong in the same way.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const PAGE: usize = 4096;
const BLOCK: usize = 65_536;

/// The content of a collection.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) version: u64,
    pub(crate) generation: u64,
    pub(crate) run_count: usize,
    pub(crate) record_count: usize,
    /// By hash of the id: the newest entry.
    entries: BTreeMap<u64, Entry>,
    skips: Vec<u64>,
    block_sums: Vec<u64>,
    state: [u64; 12],
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    offset: u64,
    size: u64,
    sum: u64,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn half(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|bytes| word(bytes, 0)).collect()
}

impl Decoded {
    /// Reads the index of the collection whose `meta/` this is.
    pub(crate) fn read(meta: &Path) -> Self {
        let head = fs::read(meta.join("folio.idx")).unwrap();
        assert_eq!(&head[..8], b"FOLIOIDX");
        let version = word(&head, 8);
        assert!([1, 2].contains(&version), "the version");
        let run_count = word(&head, 32) as usize;
        let runs_end = 136 + 24 * run_count;
        assert_eq!(word(&head, runs_end), xxh3_64(&head[..runs_end]), "the head's sum");
        let mut decoded =
            Self { version, generation: word(&head, 16), run_count, ..Self::default() };
        decoded.state = words(&head[40..136]).try_into().unwrap();
        for run in 0..run_count {
            let at = 136 + 24 * run;
            let (number, size, sum) = (word(&head, at), word(&head, at + 8), word(&head, at + 16));
            assert!(number <= word(&head, 24), "the newest run's number");
            let bytes = fs::read(meta.join(format!("folio.run-{number}.idx"))).unwrap();
            assert_eq!((bytes.len() as u64, word(&bytes, 72)), (size, sum), "run {number}");
            decoded.read_run(&bytes);
        }
        let mut at = runs_end + 8;
        let first_size = decoded.state[11] as usize;
        while at < head.len() {
            let size = decoded.read_record(&head[at..]);
            assert!(decoded.record_count > 1 || first_size == 0 || first_size == size);
            at += size;
        }
        decoded
    }

    fn insert(&mut self, bytes: &[u8]) {
        let (place, extent) = (word(bytes, 8), word(bytes, 16));
        let entry = Entry {
            offset: place & ((1 << 47) - 1),
            size: extent & 0xffff_ffff,
            sum: (place >> 48) << 32 | extent >> 32,
        };
        self.entries.insert(word(bytes, 0), entry);
    }

    /// Returns the record's size.
    fn read_record(&mut self, bytes: &[u8]) -> usize {
        assert_eq!(&bytes[..4], b"FLDR");
        let (size, entries, skips, blocks) =
            (half(bytes, 4), half(bytes, 8), half(bytes, 12), half(bytes, 16));
        let (skips_at, blocks_at) = (120 + 24 * entries, 120 + 24 * entries + 8 * skips);
        assert_eq!(size, blocks_at + 8 * blocks + 8);
        assert_eq!(half(bytes, 20), 0);
        assert_eq!(word(bytes, size - 8), xxh3_64(&bytes[..size - 8]), "a record's sum");
        bytes[120..skips_at].chunks_exact(24).for_each(|entry| self.insert(entry));
        self.skips.extend(words(&bytes[skips_at..blocks_at]));
        self.block_sums.extend(words(&bytes[blocks_at..size - 8]));
        self.state = words(&bytes[24..120]).try_into().unwrap();
        self.record_count += 1;
        size
    }

    fn read_run(&mut self, bytes: &[u8]) {
        assert_eq!((&bytes[..8], word(bytes, 8)), (&b"FOLIORUN"[..], self.version));
        assert_eq!(word(bytes, 72), xxh3_64(&bytes[..72]), "the header's sum");
        for (number, page) in bytes.chunks(PAGE).enumerate().skip(1) {
            let sum = xxh3_64_with_seed(&page[..PAGE - 8], number as u64);
            assert_eq!(word(page, PAGE - 8), sum, "page {number}");
        }
        let header = words(&bytes[16..72]);
        let [capacity, slots, entries, skips, first_block, blocks, _data_end] = header[..] else {
            panic!("seven words");
        };
        assert!(capacity >= (entries * 5 / 4).max(8));
        let mut page = 1;
        let mut section = |count: u64, size: usize| -> Vec<Vec<u8>> {
            let per_page = (PAGE - 8) / size;
            let first = page;
            page += (count as usize).div_ceil(per_page);
            let place = |index: usize| (first + index / per_page) * PAGE + index % per_page * size;
            (0..count as usize)
                .map(|index| bytes[place(index)..place(index) + size].to_vec())
                .collect()
        };
        let (slots, skips, sums) = (section(slots, 24), section(skips, 8), section(blocks, 8));
        assert_eq!(bytes.len(), page * PAGE, "nothing behind the sections");
        let mut last = (0, 0);
        for (slot, entry) in slots.iter().enumerate().filter(|(_, entry)| **entry != [0xff; 24]) {
            let hash = word(entry, 0);
            let home = ((u128::from(hash) * u128::from(capacity)) >> 64) as usize;
            assert!(home <= slot && last.0 <= hash, "slot {slot}");
            assert!(slot == home || last.1 + 1 == slot, "no gap before slot {slot}");
            last = (hash, slot);
            self.insert(entry);
        }
        assert_eq!(self.block_sums.len() as u64, first_block);
        self.skips.extend(skips.iter().map(|bytes| word(bytes, 0)));
        self.block_sums.extend(sums.iter().map(|bytes| word(bytes, 0)));
    }

    /// Compares everything with the data file; returns the live lines in order.
    pub(crate) fn check(&self, data: &[u8]) -> Vec<String> {
        let [data_end, live, live_size, skip_count, invalid, tail, open, _, size, ..] = self.state;
        assert_eq!((data_end, size), (data.len() as u64, data.len() as u64));
        assert_eq!((invalid, open), (0, 0));
        let whole = data.chunks_exact(BLOCK);
        let sum = |bytes| self.block_sum(bytes);
        assert_eq!(tail, sum(whole.remainder()), "the sum of the begun block");
        assert_eq!(self.block_sums, whole.map(sum).collect::<Vec<_>>(), "blocks");
        let mut lines = Vec::new();
        for (hash, entry) in &self.entries {
            let text = &data[entry.offset as usize..];
            let text = &text[..text.iter().position(|&byte| byte == b'\n').unwrap()];
            assert_eq!(entry.sum, xxh3_64(text) & ((1 << 48) - 1), "at {}", entry.offset);
            let text = std::str::from_utf8(text).unwrap();
            let id = text.split('"').nth(3).unwrap();
            assert_eq!(*hash, xxh3_64(id.as_bytes()), "{id}");
            if text.starts_with("{\"_tombstone\"") {
                assert_eq!((entry.size, text), (0, &*format!("{{\"_tombstone\":\"{id}\"}}")));
            } else {
                assert_eq!(entry.size as usize, text.len());
                lines.push((entry.offset, text.to_owned()));
            }
        }
        lines.sort();
        assert_eq!(lines.len() as u64, live);
        assert_eq!(lines.iter().map(|(_, text)| text.len() as u64 + 1).sum::<u64>(), live_size);
        self.check_skips(data, &lines, skip_count);
        lines.into_iter().map(|(_, text)| text).collect()
    }

    fn block_sum(&self, bytes: &[u8]) -> u64 {
        let sum = xxh3_64(bytes);
        match self.version {
            1 => sum,
            _ => ((sum >> 17) << 17) | bytes.iter().filter(|&&byte| byte == b'\n').count() as u64,
        }
    }

    /// The skips are the lines that are not live, each once.
    fn check_skips(&self, data: &[u8], lines: &[(u64, String)], skip_count: u64) {
        let mut starts = vec![0];
        starts.extend((1..data.len()).filter(|&at| data[at - 1] == b'\n').map(|at| at as u64));
        starts.retain(|start| !lines.iter().any(|(offset, _)| offset == start));
        let mut skips = self.skips.clone();
        skips.sort_unstable();
        assert_eq!((skips.len() as u64, &skips), (skip_count, &starts));
    }
}

/// The newest valid slot of a batch record: sequence, status, start, end.
pub(crate) fn newest_batch_slot(record: &[u8]) -> [u64; 4] {
    let slots = [0, 4096].map(|at| &record[at..at + 88]);
    let whole = slots.into_iter().filter(|slot| word(slot, 80) == xxh3_64(&slot[..80]));
    let newest = whole.max_by_key(|slot| word(slot, 8)).unwrap();
    assert_eq!(&newest[..8], b"FOLIOBAT");
    [8, 16, 24, 32].map(|at| word(newest, at))
}
