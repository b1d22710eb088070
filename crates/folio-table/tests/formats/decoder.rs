//! A decoder of stores written only from `docs/formats/table-store.md`: it shares no code with the
//! library. If both read the same values, the specification is right.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Both files of a store.
pub(crate) struct Decoder<'f> {
    data: &'f [u8],
    log: &'f [u8],
    page_size: usize,
    database: u64,
    state: State,
    base: u64,
    /// Offsets in the log of the newest committed images.
    images: HashMap<u32, usize>,
}

/// The roots.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub(crate) pages: u32,
    pub(crate) free: u32,
    catalog: u32,
    statistics: u32,
}

fn quarter(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes")))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn state(bytes: &[u8]) -> State {
    State {
        pages: half(bytes, 0),
        free: half(bytes, 8),
        catalog: half(bytes, 12),
        statistics: half(bytes, 16),
    }
}

/// The valid slot with the greatest number, which is at `number_at`.
fn slot<'b>(file: &'b [u8], magic: &[u8], size: usize, number_at: usize) -> &'b [u8] {
    let slots = [0usize, 4096].into_iter().filter_map(|at| {
        let slot = &file[at..at + size];
        let is_whole = slot.starts_with(magic)
            && half(slot, 8) == 1
            && word(slot, size - 8) == xxh3_64(&slot[..size - 8])
            && word(slot, number_at) % 2 * 4096 == at as u64;
        is_whole.then_some(slot)
    });
    slots.max_by_key(|slot| word(slot, number_at)).expect("one slot is whole")
}

impl<'f> Decoder<'f> {
    pub(crate) fn open(data: &'f [u8], log: &'f [u8]) -> Self {
        let header = slot(data, b"FolioTab", 88, 24);
        let mut decoder = Self {
            data,
            log,
            page_size: half(header, 12) as usize,
            database: word(header, 16),
            state: state(&header[40..]),
            base: 0,
            images: HashMap::new(),
        };
        decoder.read_log();
        decoder
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    fn read_log(&mut self) {
        let header = slot(self.log, b"FolioLog", 56, 24);
        assert_eq!(word(header, 16), self.database);
        let (salt, base) = (word(header, 32), word(header, 40));
        self.base = base;
        let (mut at, mut previous) = (8192, salt);
        let mut pending = Vec::new();
        while at + 48 <= self.log.len() {
            let size = half(self.log, at + 32) as usize;
            if size < 48 || at + size > self.log.len() {
                break;
            }
            let record = &self.log[at..at + size];
            let is_next = word(record, 8) == base + at as u64 - 8192
                && word(record, 16) == previous
                && word(record, 0) == xxh3_64_with_seed(&record[8..], salt);
            if !is_next {
                break;
            }
            previous = word(record, 0);
            match record[40] {
                1 => pending.push((half(record, 36), word(record, 8))),
                2 => self.commit(&record[48..], &mut pending),
                kind => panic!("record of kind {kind}"),
            }
            at += size.next_multiple_of(8);
        }
    }

    fn commit(&mut self, body: &[u8], pending: &mut Vec<(u32, u64)>) {
        self.state = state(body);
        let own_from = word(body, 40);
        for listed in 0..half(body, 48) as usize {
            let at = 56 + 12 * listed;
            let (page, position) = (half(body, at), word(body, at + 4));
            self.images.insert(page, (8192 + position - self.base) as usize);
        }
        for (page, position) in pending.drain(..).filter(|(_, position)| *position >= own_from) {
            self.images.insert(page, (8192 + position - self.base) as usize);
        }
    }

    fn page(&self, number: u32) -> Vec<u8> {
        let Some(&at) = self.images.get(&number) else {
            let at = 8192 + (number as usize - 1) * self.page_size;
            let page = self.data[at..at + self.page_size].to_vec();
            assert_eq!(word(&page, 0), xxh3_64_with_seed(&page[8..], self.database));
            assert_eq!(half(&page, 16), number);
            return page;
        };
        let record = &self.log[at..at + half(self.log, at + 32) as usize];
        let (start, left_out) = (quarter(record, 42), quarter(record, 44));
        let mut page = record[48..48 + start].to_vec();
        page.resize(start + left_out, 0);
        page.extend_from_slice(&record[48 + start..]);
        assert_eq!(page.len(), self.page_size);
        page
    }

    /// All cells of a tree, in order, chains put together.
    pub(crate) fn cells(&self, tree: u32, root: u32) -> Vec<(Vec<u8>, Vec<u8>)> {
        let page = self.page(root);
        assert_eq!((page[20], half(&page, 24)), (1, tree), "page {root}");
        let prefix = &page[self.page_size - usize::from(page[34])..];
        let cells = (0..quarter(&page, 22)).map(|index| {
            let (offset, size) = if self.page_size <= 8192 {
                let at = 40 + 3 * index;
                let slot = half(&[page[at], page[at + 1], page[at + 2], 0], 0) as usize;
                (slot % 8192, slot / 8192)
            } else {
                (quarter(&page, 40 + 4 * index), quarter(&page, 42 + 4 * index))
            };
            let cell = &page[offset..offset + size];
            let (key_at, key_size) = match page[35] {
                254 => (1, cell[0].into()),
                255 => (2, quarter(cell, 0)),
                size => (0, size.into()),
            };
            let (key, value) = cell[key_at..].split_at(key_size);
            ([prefix, key].concat(), value.to_vec())
        });
        let cells: Vec<_> = cells.collect();
        if page[21] == 0 {
            return cells.into_iter().map(|(key, value)| (key, self.whole(value))).collect();
        }
        let children =
            [half(&page, 36)].into_iter().chain(cells.iter().map(|cell| half(&cell.1, 0)));
        children.flat_map(|child| self.cells(tree, child)).collect()
    }

    fn whole(&self, value: Vec<u8>) -> Vec<u8> {
        if value.first() != Some(&255) || value.len() != 9 {
            return value;
        }
        let (size, mut next) = (half(&value, 1) as usize, half(&value, 5));
        let mut whole = Vec::new();
        while whole.len() < size {
            let page = self.page(next);
            assert_eq!(page[20], 2, "page {next}");
            whole.extend_from_slice(&page[40..40 + quarter(&page, 22)]);
            next = half(&page, 36);
        }
        whole
    }

    /// Definitions by name, with their numbers.
    pub(crate) fn catalog(&self) -> BTreeMap<String, (u32, Json)> {
        let entry = |(key, value): (Vec<u8>, Vec<u8>)| {
            let json: Json = serde_json::from_slice(&value[1..]).expect("JSON");
            let id = u32::from_be_bytes(key.try_into().expect("four bytes"));
            (json["name"].as_str().expect("a name").to_owned(), (id, json))
        };
        self.cells(1, self.state.catalog).into_iter().map(entry).collect()
    }

    /// Numbers of the statistics, by key.
    pub(crate) fn statistics(&self) -> BTreeMap<Vec<u8>, i64> {
        let cells = self.cells(2, self.state.statistics).into_iter();
        cells.map(|(key, value)| (key, word(&value, 1) as i64)).collect()
    }
}

/// A bigint at the front of a key.
pub(crate) fn bigint(key: &[u8]) -> i64 {
    i64::from_be_bytes(key[..8].try_into().expect("eight bytes")) ^ i64::MIN
}

/// A row of a table whose non-key columns are texts, `nullable` or not: null where the bit is set.
pub(crate) fn texts(row: &[u8], nullable: &[bool]) -> Vec<Option<String>> {
    let bit_count = nullable.iter().filter(|nullable| **nullable).count();
    let ends = 1 + bit_count.div_ceil(8);
    let width = [1, 2, 4][usize::from(row[0]) / 4];
    let data = ends + width * (nullable.len() - 1);
    let end = |index: usize| match width {
        _ if index == nullable.len() - 1 => row.len() - data,
        1 => row[ends + index].into(),
        2 => quarter(row, ends + 2 * index),
        _ => half(row, ends + 4 * index) as usize,
    };
    let mut bit = 0;
    let mut texts = Vec::new();
    for (index, is_nullable) in nullable.iter().enumerate() {
        let is_null = *is_nullable && row[1 + bit / 8] >> (bit % 8) & 1 == 1;
        bit += usize::from(*is_nullable);
        let start = if index == 0 { 0 } else { end(index - 1) };
        let bytes = &row[data + start..data + end(index)];
        texts.push((!is_null).then(|| String::from_utf8(bytes.to_vec()).expect("UTF-8")));
    }
    texts
}
