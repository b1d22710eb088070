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
    /// The values, in the order of their numbers, and where each batch of them starts.
    values: Vec<Vec<ArrayRef>>,
    starts: Vec<u32>,
    values_size: usize,
    /// For each value, which of the first groups have it.
    marks: Vec<u64>,
    /// What the other groups have.
    pairs: HashSet<Pair, FixedState>,
    /// All that groups have, in order of appearance.
    met: Vec<Pair>,
}

impl Distinct {
    /// Nothing yet, of values of these types.
    pub(super) fn new(types: &[ColumnType]) -> Result<Self> {
        Ok(Self {
            numbers: KeyTable::new(types)?,
            values: Vec::new(),
            starts: Vec::new(),
            values_size: 0,
            marks: Vec::new(),
            pairs: HashSet::default(),
            met: Vec::new(),
        })
    }

    /// Adds rows. Returns those whose values are new in their groups.
    pub(super) fn take(&mut self, values: &[ArrayRef], groups: &[u32]) -> Result<Vec<u32>> {
        let numbers = self.number(values, groups.len())?;
        let pairs = groups.iter().zip(numbers).map(|(group, value)| Pair { group: *group, value });
        let fresh = pairs.enumerate().filter(|(_, pair)| self.meet(*pair));
        Ok(fresh.map(|(row, _)| row as u32).collect())
    }

    /// Adds those of a later part of the input; `groups` has the group of each of its groups.
    /// Returns what is new.
    pub(super) fn merge(&mut self, other: Self, groups: &[u32]) -> Result<Fresh<'_>> {
        let mut numbers = Vec::with_capacity(other.marks.len());
        for values in &other.values {
            numbers.extend(self.number(values, values[0].len())?);
        }
        let first = self.met.len();
        for Pair { group, value } in other.met {
            self.meet(Pair { group: groups[group as usize], value: numbers[value as usize] });
        }
        Ok(Fresh { distinct: self, first })
    }

    /// The number of each row's value.
    fn number(&mut self, values: &[ArrayRef], row_count: usize) -> Result<Vec<u32>> {
        let mut fresh = Vec::new();
        let numbers = self.numbers.intern(values, row_count, &mut fresh)?;
        if !fresh.is_empty() {
            let fresh = UInt32Array::from(fresh);
            let own = values.iter().map(|values| Ok(plain(&take(values, &fresh, None)?)));
            let own = own.collect::<Result<Vec<_>>>()?;
            self.values_size += own.iter().map(|own| own.get_array_memory_size()).sum::<usize>();
            self.starts.push(self.marks.len() as u32);
            self.values.push(own);
            self.marks.resize(self.numbers.len(), 0);
        }
        Ok(numbers)
    }

    /// Notes that a group has a value; `false` if it had it.
    fn meet(&mut self, pair: Pair) -> bool {
        let is_new = match pair.group {
            0..MARKED_GROUPS => {
                let (mark, bit) = (&mut self.marks[pair.value as usize], 1 << pair.group);
                let is_new = *mark & bit == 0;
                *mark |= bit;
                is_new
            }
            _ => self.pairs.insert(pair),
        };
        if is_new {
            self.met.push(pair);
        }
        is_new
    }

    /// Approximate memory, in bytes.
    pub(super) fn size(&self) -> usize {
        self.numbers.size()
            + self.values_size
            + self.marks.capacity() * size_of::<u64>()
            + self.met.capacity() * size_of::<Pair>()
            + self.pairs.capacity() * (size_of::<Pair>() + 1)
    }
}

/// What groups did not have before a merge.
pub(super) struct Fresh<'d> {
    distinct: &'d Distinct,
    /// The first of it.
    first: usize,
}

impl Fresh<'_> {
    /// The group of each value.
    pub(super) fn groups(&self) -> Vec<u32> {
        self.distinct.met[self.first..].iter().map(|pair| pair.group).collect()
    }

    /// The values.
    pub(super) fn values(&self) -> Result<Vec<ArrayRef>> {
        let Distinct { values, starts, met, .. } = self.distinct;
        let place = |pair: &Pair| {
            let batch = starts.partition_point(|start| *start <= pair.value) - 1;
            (batch, (pair.value - starts[batch]) as usize)
        };
        let places: Vec<_> = met[self.first..].iter().map(place).collect();
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
            let (mut whole, mut expected) = (Distinct::new(&types).unwrap(), BTreeSet::new());
            let mut merged = Distinct::new(&types).unwrap();
            for part in 0..4 {
                let mut own = Distinct::new(&types).unwrap();
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
                    own.take(&values, &groups.iter().map(number).collect::<Vec<_>>()).unwrap();
                }
                let mut back = vec![0; group_count as usize];
                (0..group_count as u32).for_each(|group| back[number(&group) as usize] = group);
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
