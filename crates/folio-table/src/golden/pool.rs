//! A buffer pool by commands: `pool 4 lru`, `pin 1..5`, `hold 2`, `resident`.

use std::sync::{Arc, Mutex, PoisonError};

use super::{World, numbers};
use crate::buffer::{BlockStorage, BufferPool, PageGuard};
use crate::error::{Error, Result};
use crate::ids::{BlockId, PageId};

/// A storage that records its calls.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn push(&self, note: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Pages from 1000 on cannot be read, and those from 900 on cannot be written.
const UNREADABLE: u32 = 1000;
const UNWRITABLE: u32 = 900;

impl BlockStorage for Notes {
    fn read(&self, block: BlockId, page: &mut [u8]) -> Result<()> {
        let number = block.number();
        if number >= UNREADABLE {
            return Err(Error::page(PageId(number), "it cannot be read"));
        }
        self.push(format!("read {number}"));
        page[..4].copy_from_slice(&number.to_le_bytes());
        Ok(())
    }

    fn write(&self, block: BlockId, _page: &mut [u8]) -> Result<()> {
        let number = block.number();
        if number >= UNWRITABLE {
            return Err(Error::page(PageId(number), "it cannot be written"));
        }
        self.push(format!("write {number}"));
        Ok(())
    }
}

/// The pool under test. Pins borrow it, so it is never dropped.
#[derive(Default)]
pub(super) struct PoolWorld {
    pool: Option<&'static BufferPool>,
    notes: Arc<Notes>,
    held: Vec<(i64, PageGuard<'static>)>,
    /// Pages that commands have named: those to look for.
    highest: i64,
}

fn block(number: i64) -> BlockId {
    BlockId::page(PageId(u32::try_from(number).expect("a page number")))
}

impl PoolWorld {
    fn pool(&self) -> &'static BufferPool {
        self.pool.expect("`pool` comes first")
    }

    fn resident(&self) -> String {
        let resident = (0..=self.highest).filter(|&number| self.pool().is_resident(block(number)));
        resident.map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn touch(&mut self, words: &[&str]) -> Result<String> {
        for number in words[1..].iter().flat_map(|word| numbers(word)) {
            self.highest = self.highest.max(number);
            match words[0] {
                "pin" => drop(self.pool().pin(block(number))?),
                "scan" => drop(self.pool().pin_for_scan(block(number))?),
                "change" => drop(self.pool().pin_mut(block(number))?),
                "create" => drop(self.pool().create(block(number))?),
                "hold" => self.held.push((number, self.pool().pin(block(number))?)),
                "release" => self.held.retain(|(held, _)| *held != number),
                "discard" if !self.pool().discard(block(number)) => {
                    self.notes.push(format!("{number} is held"));
                }
                "discard" => {}
                other => panic!("no such command: {other}"),
            }
        }
        Ok(self.notes.take().join(", "))
    }
}

impl World for PoolWorld {
    fn run(&mut self, words: &[&str]) -> std::result::Result<String, String> {
        match words {
            ["pool", frames, policy] => {
                let frames = frames.parse().expect("a number of frames");
                let storage: Arc<dyn BlockStorage> = Arc::<Notes>::clone(&self.notes);
                self.held.clear();
                self.highest = 0;
                let pool = BufferPool::new(frames, 4096, policy.parse()?, storage);
                self.pool = Some(Box::leak(Box::new(pool)));
                Ok(String::new())
            }
            ["resident"] => Ok(self.resident()),
            ["statistics"] => {
                let found = self.pool().statistics();
                Ok(format!(
                    "{} hits, {} misses, {} evictions, {} write-backs, {} of {} frames used",
                    found.hits,
                    found.misses,
                    found.evictions,
                    found.write_backs,
                    found.frames_used,
                    found.frames
                ))
            }
            _ => self.touch(words).map_err(|error| error.to_string()),
        }
    }
}
