//! Offsets of lines that a scan skips, merged from all runs and the delta.

use std::sync::Arc;

use super::lookup::IndexFault;
use super::run::Run;

/// Walks several ascending lists of offsets as one, without loading them.
#[derive(Debug)]
pub(crate) struct SkipCursor {
    lists: Vec<List>,
}

#[derive(Debug)]
struct List {
    source: Source,
    /// The next offset of the list, and the index after it.
    head: u64,
    index: u64,
}

#[derive(Debug)]
enum Source {
    Run(Arc<Run>),
    Memory(Vec<u64>),
}

impl Source {
    fn get(&self, index: u64) -> Result<Option<u64>, IndexFault> {
        match self {
            Self::Run(run) if index < run.skip_count() => run.skip(index).map(Some),
            Self::Run(_) => Ok(None),
            Self::Memory(offsets) => Ok(offsets.get(index as usize).copied()),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Run(run) => run.skip_count(),
            Self::Memory(offsets) => offsets.len() as u64,
        }
    }

    /// The index of the first offset that is not before `start`: a binary search.
    fn first_from(&self, start: u64) -> Result<u64, IndexFault> {
        let (mut low, mut high) = (0, self.len());
        while low < high && start > 0 {
            let middle = low + (high - low) / 2;
            match self.get(middle)? {
                Some(offset) if offset < start => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }
}

/// The offsets of all lines that were dead at one moment.
#[derive(Debug)]
pub(crate) struct DeadLines {
    sources: Vec<Source>,
}

impl DeadLines {
    /// `recent` need not be sorted.
    pub(crate) fn new(runs: &[Arc<Run>], mut recent: Vec<u64>) -> Self {
        recent.sort_unstable();
        let sources = runs.iter().map(|run| Source::Run(Arc::clone(run)));
        Self { sources: sources.chain([Source::Memory(recent)]).collect() }
    }

    pub(crate) fn contains(&self, offset: u64) -> Result<bool, IndexFault> {
        for source in &self.sources {
            if source.get(source.first_from(offset)?)? == Some(offset) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl SkipCursor {
    /// All offsets from `start` on. `recent` need not be sorted.
    pub(crate) fn new<'r>(
        runs: impl IntoIterator<Item = &'r Arc<Run>>,
        mut recent: Vec<u64>,
        start: u64,
    ) -> Result<Self, IndexFault> {
        recent.sort_unstable();
        let sources = runs.into_iter().map(|run| Source::Run(Arc::clone(run)));
        let mut lists = Vec::new();
        for source in sources.chain([Source::Memory(recent)]) {
            let index = source.first_from(start)?;
            if let Some(head) = source.get(index)? {
                lists.push(List { source, head, index: index + 1 });
            }
        }
        Ok(Self { lists })
    }

    /// The next offset to skip; `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn peek(&self) -> u64 {
        match &self.lists[..] {
            [] => u64::MAX,
            lists => lists.iter().map(|list| list.head).min().unwrap_or(u64::MAX),
        }
    }

    /// Advances past every offset up to and including `offset`.
    pub(crate) fn pass(&mut self, offset: u64) -> Result<(), IndexFault> {
        for list in &mut self.lists {
            while list.head <= offset {
                match list.source.get(list.index)? {
                    Some(next) => list.head = next,
                    None => list.head = u64::MAX,
                }
                list.index += 1;
                if list.head == u64::MAX {
                    break;
                }
            }
        }
        self.lists.retain(|list| list.head != u64::MAX);
        Ok(())
    }
}

impl Iterator for SkipCursor {
    type Item = Result<u64, IndexFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.peek();
        if offset == u64::MAX {
            return None;
        }
        Some(self.pass(offset).map(|()| offset))
    }
}
