//! The distinct values of each group, for aggregates with DISTINCT.
//!
//! Values are numbered once, whatever their types and however many groups have them; what a group
//! has is then a set of numbers. Of the first 64 groups each has a bit beside every value, so that
//! few groups of many values need no second hash table. The others, which have fewer values each,
//! have pairs of a group and a value.
//!
//! The states of two parts merge by number: a value is looked up once for all groups that have it.

use std::collections::HashSet;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use foldhash::fast::FixedState;
use folio_compute::Result;
use folio_compute::array::plain;
use folio_compute::keys::KeyTable;
use folio_types::ColumnType;

/// So many groups have a bit beside every value.
const MARKED_GROUPS: u32 = u64::BITS;

/// A value that a group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    group: u32,
    value: u32,
}

/// What the groups have.
pub(super) struct Distinct {
    numbers: KeyTable,
    /// For each value, which of the first groups have it.
    marks: Vec<u64>,
    /// What the other groups have.
    pairs: HashSet<Pair, FixedState>,
    /// `None` if values are only counted.
    kept: Option<Kept>,
}

/// Values for what looks at them after a merge.
#[derive(Default)]
struct Kept {
    /// The values, in the order of their numbers, and where each batch of them starts.
    values: Vec<Vec<ArrayRef>>,
    starts: Vec<u32>,
    size: usize,
    /// All that groups have, in order of appearance.
    met: Vec<Pair>,
}

impl Distinct {
    /// Nothing yet, of values of these types. `is_count` says that they are only counted.
    pub(super) fn new(types: &[ColumnType], is_count: bool) -> Result<Self> {
        Ok(Self {
            numbers: KeyTable::new(types)?,
            marks: Vec::new(),
            pairs: HashSet::default(),
            kept: (!is_count).then(Kept::default),
        })
    }

    /// Adds rows. Returns those whose values are new in their groups.
    pub(super) fn take(&mut self, values: &[ArrayRef], groups: &[u32]) -> Result<Vec<u32>> {
        let mut new_values = Vec::new();
        let numbers = self.numbers.intern(values, groups.len(), &mut new_values)?;
        self.marks.resize(self.numbers.len(), 0);
        if let Some(kept) = &mut self.kept {
            kept.keep(values, new_values)?;
        }
        // The place of the next new row is written for each: whether it is new cannot be foreseen.
        let (mut fresh, mut count) = (vec![0; groups.len()], 0);
        for (row, (group, value)) in groups.iter().zip(&numbers).enumerate() {
            fresh[count] = row as u32;
            count += usize::from(self.meet(Pair { group: *group, value: *value }));
        }
        fresh.truncate(count);
        if let Some(kept) = &mut self.kept {
            let pair = |row: &u32| (groups[*row as usize], numbers[*row as usize]);
            let pairs = fresh.iter().map(pair).map(|(group, value)| Pair { group, value });
            kept.met.extend(pairs);
        }
        Ok(fresh)
    }

    /// Adds those of a later part of the input; `groups` has the group of each of its groups.
    /// Returns what is new.
    pub(super) fn merge(&mut self, other: Self, groups: &[u32]) -> Result<Fresh<'_>> {
        let mut new_values = Vec::new();
        let numbers = self.numbers.merge(&other.numbers, &mut new_values);
        self.marks.resize(self.numbers.len(), 0);
        let mut fresh = Vec::new();
        let mut add = |Pair { group, value }: Pair| {
            let pair = Pair { group: groups[group as usize], value: numbers[value as usize] };
            if self.meet(pair) {
                fresh.push(pair);
            }
        };
        match &other.kept {
            // In order of appearance.
            Some(kept) => kept.met.iter().copied().for_each(&mut add),
            None => {
                marked(&other.marks).for_each(&mut add);
                other.pairs.into_iter().for_each(&mut add);
            }
        }
        if let Some((kept, other)) = self.kept.as_mut().zip(other.kept.as_ref()) {
            kept.merge(other, &new_values)?;
            kept.met.extend(&fresh);
        }
        Ok(Fresh { kept: self.kept.as_ref(), pairs: fresh })
    }

    /// Notes that a group has a value; `false` if it had it.
    #[inline]
    fn meet(&mut self, pair: Pair) -> bool {
        match pair.group {
            0..MARKED_GROUPS => {
                let mark = &mut self.marks[pair.value as usize];
                let is_new = *mark >> pair.group & 1 == 0;
                *mark |= 1 << pair.group;
                is_new
            }
            _ => self.pairs.insert(pair),
        }
    }

    /// Approximate memory, in bytes.
    pub(super) fn size(&self) -> usize {
        self.numbers.size()
            + self.marks.capacity() * size_of::<u64>()
            + self.pairs.capacity() * (size_of::<Pair>() + 1)
            + self
                .kept
                .as_ref()
                .map_or(0, |kept| kept.size + kept.met.capacity() * size_of::<Pair>())
    }
}

/// What the first groups have.
fn marked(marks: &[u64]) -> impl Iterator<Item = Pair> {
    (0..).zip(marks).flat_map(|(value, mark)| {
        let mut left = *mark;
        std::iter::from_fn(move || {
            let group = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (group < u64::BITS).then_some(Pair { group, value })
        })
    })
}

impl Kept {
    /// Keeps the values of these rows, which are new.
    fn keep(&mut self, values: &[ArrayRef], rows: Vec<u32>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.starts.push(self.count());
        let rows = UInt32Array::from(rows);
        let own = values.iter().map(|values| Ok(plain(&take(values, &rows, None)?)));
        let own = own.collect::<Result<Vec<_>>>()?;
        self.size += own.iter().map(|own| own.get_array_memory_size()).sum::<usize>();
        self.values.push(own);
        Ok(())
    }

    /// Keeps those of other values that are new.
    fn merge(&mut self, other: &Self, mut fresh: &[u32]) -> Result<()> {
        for (values, start) in other.values.iter().zip(&other.starts) {
            let end = start + values[0].len() as u32;
            let (own, rest) = fresh.split_at(fresh.partition_point(|value| *value < end));
            self.keep(values, own.iter().map(|value| value - start).collect())?;
            fresh = rest;
        }
        Ok(())
    }

    fn count(&self) -> u32 {
        let last = self.starts.last().zip(self.values.last());
        last.map_or(0, |(start, values)| start + values[0].len() as u32)
    }
}

/// What groups did not have before a merge.
pub(super) struct Fresh<'d> {
    kept: Option<&'d Kept>,
    pairs: Vec<Pair>,
}

impl Fresh<'_> {
    /// The group of each value.
    pub(super) fn groups(&self) -> Vec<u32> {
        self.pairs.iter().map(|pair| pair.group).collect()
    }

    /// The values; none if they are only counted.
    pub(super) fn values(&self) -> Result<Vec<ArrayRef>> {
        let Some(Kept { values, starts, .. }) = self.kept else { return Ok(Vec::new()) };
        let place = |pair: &Pair| {
            let batch = starts.partition_point(|start| *start <= pair.value) - 1;
            (batch, (pair.value - starts[batch]) as usize)
        };
        let places: Vec<_> = self.pairs.iter().map(place).collect();
        let columns = 0..values.first().map_or(0, Vec::len);
        let gather = |column: usize| {
            let batches: Vec<_> = values.iter().map(|batch| batch[column].as_ref()).collect();
            Ok(interleave(&batches, &places)?)
        };
        columns.map(gather).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, StringArray};

    use super::*;

    /// Numbers from a seed.
    struct Random(u64);

    impl Random {
        fn below(&mut self, count: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % count
        }
    }

    /// A batch of rows of two columns in some groups; the first column names the pair of both.
    fn batch(random: &mut Random, group_count: u64) -> (Vec<ArrayRef>, Vec<u32>) {
        let numbers: Vec<i64> = (0..300).map(|_| random.below(90) as i64).collect();
        let texts = numbers.iter().map(|number| (*number % 7 > 0).then(|| format!("{number}")));
        let texts: StringArray = texts.collect();
        let groups = (0..300).map(|_| random.below(group_count) as u32).collect();
        (vec![Arc::new(Int64Array::from(numbers)), Arc::new(texts)], groups)
    }

    /// The pairs of these rows.
    fn pairs(values: &[ArrayRef], groups: &[u32], rows: &[u32]) -> Vec<(u32, i64)> {
        let values = values[0].as_primitive::<Int64Type>();
        rows.iter().map(|row| (groups[*row as usize], values.value(*row as usize))).collect()
    }

    #[test]
    fn groups_have_each_value_once_in_one_part_and_in_several() {
        let mut random = Random(5);
        let types = [ColumnType::Int64, ColumnType::Text];
        for group_count in [1, 3, 64, 65, 200] {
            let (mut whole, mut expected) =
                (Distinct::new(&types, false).unwrap(), BTreeSet::new());
            let mut merged = Distinct::new(&types, false).unwrap();
            let mut counted = Distinct::new(&types, true).unwrap();
            for part in 0..4 {
                let mut own = Distinct::new(&types, false).unwrap();
                let mut own_counted = Distinct::new(&types, true).unwrap();
                // Groups of a part have other numbers than those of the whole.
                let shift = part * 11;
                let number = |group: &u32| (group + shift) % group_count as u32;
                let mut new_in_part = Vec::new();
                for _ in 0..3 {
                    let (values, groups) = batch(&mut random, group_count);
                    let rows = whole.take(&values, &groups).unwrap();
                    let new = pairs(&values, &groups, &rows);
                    let all: Vec<u32> = (0..groups.len() as u32).collect();
                    let mut seen = expected.clone();
                    let first = pairs(&values, &groups, &all);
                    assert_eq!(
                        new,
                        first.into_iter().filter(|own| seen.insert(*own)).collect::<Vec<_>>()
                    );
                    new_in_part.extend(new.iter().copied());
                    expected = seen;
                    let groups: Vec<u32> = groups.iter().map(number).collect();
                    let rows = own.take(&values, &groups).unwrap();
                    assert_eq!(own_counted.take(&values, &groups).unwrap(), rows);
                }
                let mut back = vec![0; group_count as usize];
                (0..group_count as u32).for_each(|group| back[number(&group) as usize] = group);
                let mut groups = counted.merge(own_counted, &back).unwrap().groups();
                groups.sort_unstable();
                let mut expected_groups: Vec<u32> =
                    new_in_part.iter().map(|(group, _)| *group).collect();
                expected_groups.sort_unstable();
                assert_eq!(groups, expected_groups, "{group_count} groups, counted");
                let fresh = merged.merge(own, &back).unwrap();
                let (values, groups) = (fresh.values().unwrap(), fresh.groups());
                let rows: Vec<u32> = (0..groups.len() as u32).collect();
                assert_eq!(pairs(&values, &groups, &rows), new_in_part, "{group_count} groups");
                let texts = values[1].as_string::<i32>();
                for ((_, number), text) in new_in_part.iter().zip(texts) {
                    assert_eq!(
                        text.map(str::to_owned),
                        (number % 7 > 0).then(|| format!("{number}"))
                    );
                }
            }
        }
    }
}
