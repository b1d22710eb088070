//! What a scan wants of parts, and the row groups that may have it.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;
use folio_engine::source::{AmongValues, SortBound};
use folio_file::SummedMap;
use folio_json::ArrayTest;
use folio_types::{ColumnType, Value};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;

use super::{Decoded, Spot, decoded, leaves};

/// What a scan wants of parts: paths with types, and tests of rows.
pub(crate) struct PartRequest {
    /// Columns of the result.
    pub(crate) columns: Vec<(Vec<String>, ColumnType)>,
    /// Every row must pass these.
    pub(crate) tests: Vec<PartTest>,
    /// The columns that may be in the result as they are stored.
    pub(crate) as_stored: Vec<Vec<String>>,
}

/// Tests of the values of a path: a row passes all of them, or does not pass.
pub(crate) struct PartTest {
    pub(crate) path: Vec<String>,
    pub(crate) ty: ColumnType,
    checks: Vec<Check>,
    tally: Tally,
}

enum Check {
    Value(ArrayTest),
    /// For operators that leave out other rows anyway.
    Among(AmongValues),
}

/// How many rows a test has looked at, and how many passed.
#[derive(Default)]
struct Tally {
    tested: AtomicU64,
    passed: AtomicU64,
}

/// A test for joins is judged by this many rows. If more than [`USELESS_SHARE`] of them pass, it is
/// not made of the others.
const JUDGED_ROWS: u64 = 1 << 17;

const USELESS_SHARE: f64 = 0.7;

impl PartTest {
    pub(crate) fn new(path: Vec<String>, ty: ColumnType, test: ArrayTest) -> Self {
        Self { path, ty, checks: vec![Check::Value(test)], tally: Tally::default() }
    }

    /// Only rows with these values matter to what reads the scan.
    pub(crate) fn among(path: Vec<String>, ty: ColumnType, values: AmongValues) -> Self {
        Self { path, ty, checks: vec![Check::Among(values)], tally: Tally::default() }
    }

    /// Tests of the same path become one: each test is a pass over its column.
    pub(crate) fn merged(all: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut merged: Vec<Self> = Vec::new();
        for own in all {
            let same = |other: &&mut Self| (&other.path, &other.ty) == (&own.path, &own.ty);
            match merged.iter_mut().find(same) {
                Some(other) => other.checks.extend(own.checks),
                None => merged.push(own),
            }
        }
        merged
    }

    /// Which values of a column pass; `None` for a column of another type. Of a dictionary, each
    /// different value is tested once.
    pub(crate) fn passes(&self, column: &ArrayRef) -> Option<BooleanBuffer> {
        let passed = self.values_that_pass(column)?;
        match column.nulls() {
            Some(nulls) if self.keeps_nulls() => Some(&passed | &!nulls.inner()),
            _ => Some(passed),
        }
    }

    fn values_that_pass(&self, column: &ArrayRef) -> Option<BooleanBuffer> {
        let Some(own) = column.as_dictionary_opt::<Int32Type>() else {
            let mut all = self.checks.iter().map(|check| match check {
                Check::Value(test) => test.passes(column),
                Check::Among(AmongValues::Keys(keys)) => keys.passes(column),
                Check::Among(AmongValues::First(bound)) => match self.reached(bound) {
                    Some(test) => test.passes(column),
                    None => Some(BooleanBuffer::new_set(column.len())),
                },
            });
            let first = all.next()??;
            return all.try_fold(first, |passed, next| Some(&passed & &next?));
        };
        let (passed, keys) = (self.values_that_pass(own.values())?, own.keys());
        let passes = |row: usize| keys.is_valid(row) && passed.value(keys.value(row) as usize);
        Some(BooleanBuffer::collect_bool(keys.len(), passes))
    }

    fn may_pass(&self, least: &Value, greatest: &Value) -> bool {
        self.checks.iter().all(|check| match (check, least, greatest) {
            (Check::Value(test), ..) => test.may_pass(least, greatest),
            (
                Check::Among(AmongValues::Keys(keys)),
                Value::Integer(least),
                Value::Integer(greatest),
            ) => keys.has_between(*least, *greatest),
            // Bounds of floats are those without NaN.
            (Check::Among(AmongValues::First(bound)), ..) if self.ty != ColumnType::Float64 => {
                self.reached(bound).is_none_or(|test| test.may_pass(least, greatest))
            }
            (Check::Among(_), ..) => true,
        })
    }

    /// The test that a sort has come to by now.
    fn reached(&self, bound: &SortBound) -> Option<ArrayTest> {
        let (comparison, last) = bound.comparison()?;
        ArrayTest::of_order(&self.ty, comparison, &last)
    }

    /// Whether null passes: it passes no test, but may be among the first of a sort.
    fn keeps_nulls(&self) -> bool {
        self.checks.iter().all(|check| match check {
            Check::Among(AmongValues::First(bound)) => bound.keeps_nulls(),
            Check::Value(_) | Check::Among(AmongValues::Keys(_)) => false,
        })
    }

    /// Whether its values tell by now which rows of a group to leave out.
    fn applies(&self, known: &Decoded, group: &RowGroupMetaData) -> bool {
        let tells = |check: &Check| match check {
            Check::Among(AmongValues::First(bound)) => self.reached(bound).is_some(),
            Check::Value(_) | Check::Among(AmongValues::Keys(_)) => true,
        };
        let null_count = || self.column(known, group)?.statistics()?.null_count_opt();
        self.checks.iter().any(tells) && (!self.keeps_nulls() || null_count() == Some(0))
    }

    /// What a group's footer says about its column; `None` unless that is one column of the file.
    fn column<'g>(
        &self,
        known: &Decoded,
        group: &'g RowGroupMetaData,
    ) -> Option<&'g ColumnChunkMetaData> {
        let spot = known.spot(&self.path, &self.ty)?;
        let [leaf] = leaves(known, &[spot])[..] else { return None };
        Some(group.column(leaf))
    }

    /// The bound of a sort that it waits for.
    fn bound(&self) -> Option<&SortBound> {
        self.checks.iter().find_map(|check| match check {
            Check::Among(AmongValues::First(bound)) => Some(&**bound),
            Check::Value(_) | Check::Among(AmongValues::Keys(_)) => None,
        })
    }

    /// Whether a check waits for a sort to have its first rows.
    fn is_waiting(check: &Check) -> bool {
        matches!(check, Check::Among(AmongValues::First(bound)) if bound.is_waiting())
    }

    /// Notes the outcome of a test.
    pub(super) fn tally(&self, tested: usize, passed: usize) {
        self.tally.tested.fetch_add(tested as u64, Ordering::Relaxed);
        self.tally.passed.fetch_add(passed as u64, Ordering::Relaxed);
    }

    /// The share of rows that have passed; 0 before the first test.
    fn passed_share(&self) -> f64 {
        let tested = self.tally.tested.load(Ordering::Relaxed).max(1);
        self.tally.passed.load(Ordering::Relaxed) as f64 / tested as f64
    }

    /// Whether rows may be left untested, and most would pass.
    fn is_useless(&self) -> bool {
        self.checks.iter().all(|check| matches!(check, Check::Among(AmongValues::Keys(_))))
            && self.tally.tested.load(Ordering::Relaxed) >= JUDGED_ROWS
            && self.passed_share() > USELESS_SHARE
    }
}

/// A row group of a part that a scan reads.
#[derive(Clone)]
pub(crate) struct PartGroup {
    pub(super) part: Arc<SummedMap>,
    pub(super) dead: Arc<[u32]>,
    pub(super) group: usize,
    pub(super) first_row: u64,
    pub(crate) row_count: u64,
    /// How many of its rows were read before.
    pub(super) start: usize,
}

impl PartGroup {
    /// Its number in its part.
    pub(crate) fn number(&self) -> usize {
        self.group
    }

    /// The same without these rows, which are counted from its first.
    pub(crate) fn without(self, dead: &[u32]) -> Self {
        let first = self.first_row as u32;
        Self { dead: dead.iter().map(|row| first + row).collect(), ..self }
    }

    /// All rows of it.
    pub(crate) fn again(&self) -> Self {
        let (part, dead) = (Arc::clone(&self.part), Arc::from([]));
        Self { part, dead, ..*self }
    }
}

/// What a scan reads of a part.
pub(crate) struct PartGroups {
    pub(crate) groups: Vec<PartGroup>,
    /// How many row groups have no row that passes.
    pub(crate) skipped_count: usize,
}

impl PartRequest {
    pub(super) fn paths(&self) -> impl Iterator<Item = (&[String], &ColumnType)> {
        let columns = self.columns.iter().map(|(path, ty)| (&path[..], ty));
        columns.chain(self.tests.iter().map(|own| (&own.path[..], &own.ty)))
    }

    /// Puts the row groups first that have the first rows of a sort, as far as their footers tell. What
    /// is no row group stays before them.
    pub(crate) fn put_first<U>(
        &self,
        units: Vec<U>,
        group_of: impl Fn(&U) -> Option<&PartGroup>,
    ) -> Vec<U> {
        let bound = |test| Some(test).zip(PartTest::bound(test));
        let Some((test, bound)) = self.tests.iter().find_map(bound) else { return units };
        let place = |unit: &U| -> Option<f64> {
            let group = group_of(unit)?;
            let known = decoded(&group.part)?;
            let metadata = known.metadata.metadata().row_group(group.group);
            let (least, greatest) = bounds(test.column(known, metadata)?.statistics()?)?;
            let end = if bound.descends() { greatest } else { least };
            let end = match end {
                Value::Integer(value) => value as f64,
                Value::Float(value) => value,
                _ => return None,
            };
            Some(if bound.descends() { -end } else { end })
        };
        let places = units.iter().map(|unit| place(unit).unwrap_or(f64::NEG_INFINITY));
        let mut places: Vec<(f64, usize)> = places.zip(0..).collect();
        places.sort_by(|one, two| one.0.total_cmp(&two.0));
        let mut units: Vec<Option<U>> = units.into_iter().map(Some).collect();
        places.into_iter().filter_map(|(_, number)| units[number].take()).collect()
    }

    /// Whether tests will soon leave out more rows, once some have been read.
    pub(super) fn is_waiting(&self) -> bool {
        self.tests.iter().flat_map(|test| &test.checks).any(PartTest::is_waiting)
    }

    /// Whether a part has all that is wanted, in the wanted types, and what is read of it is intact.
    pub(crate) fn is_served_by(&self, part: &Arc<SummedMap>) -> bool {
        let Some(known) = decoded(part) else { return false };
        let spots: Option<Vec<_>> = self.paths().map(|(path, ty)| known.spot(path, ty)).collect();
        let Some(spots) = spots else { return false };
        let leaves = leaves(known, &spots);
        let groups = known.metadata.metadata().row_groups().iter();
        groups.filter(|group| self.may_pass(known, group)).all(|group| {
            leaves.iter().all(|leaf| {
                let (start, size) = group.column(*leaf).byte_range();
                part.is_intact(start..start.saturating_add(size))
            })
        })
    }

    /// The row groups of a part that serves, without those that have no row that passes.
    pub(crate) fn groups(&self, part: &Arc<SummedMap>, dead: &Arc<[u32]>) -> PartGroups {
        let mut found = PartGroups { groups: Vec::new(), skipped_count: 0 };
        let Some(known) = decoded(part) else { return found };
        let mut first_row = 0;
        for (number, group) in known.metadata.metadata().row_groups().iter().enumerate() {
            let row_count = u64::try_from(group.num_rows()).unwrap_or_default();
            match self.may_pass(known, group) {
                true => found.groups.push(PartGroup {
                    part: Arc::clone(part),
                    dead: Arc::clone(dead),
                    group: number,
                    first_row,
                    row_count,
                    start: 0,
                }),
                false => found.skipped_count += 1,
            }
            first_row += row_count;
        }
        found
    }

    /// The tests for a row group, the one that fewest rows will pass first: by the rows so far, and
    /// before those that of the column with most different values, by the size of its dictionary.
    pub(super) fn test_order(&self, known: &Decoded, group: usize) -> Vec<usize> {
        let group = known.metadata.metadata().row_group(group);
        let dictionary_size = |test: &usize| {
            let Some(column) = self.tests[*test].column(known, group) else { return 0 };
            column.dictionary_page_offset().map_or(0, |start| column.data_page_offset() - start)
        };
        let is_useful = |test: &PartTest| !test.is_useless() && test.applies(known, group);
        let useful = (0..self.tests.len()).filter(|test| is_useful(&self.tests[*test]));
        let mut order: Vec<(f64, Reverse<i64>, usize)> = useful
            .map(|test| (self.tests[test].passed_share(), Reverse(dictionary_size(&test)), test))
            .collect();
        order.sort_by(|one, two| one.0.total_cmp(&two.0).then(one.1.cmp(&two.1)));
        order.into_iter().map(|(.., test)| test).collect()
    }

    /// Whether a row of a group may pass, by the least and the greatest values of its columns.
    pub(super) fn may_pass(&self, known: &Decoded, group: &RowGroupMetaData) -> bool {
        self.tests.iter().filter(|test| test.applies(known, group)).all(|test| {
            if let Some(Spot::Missing) = known.spot(&test.path, &test.ty) {
                return false; // null passes no test
            }
            let column = test.column(known, group);
            let Some(statistics) = column.and_then(ColumnChunkMetaData::statistics) else {
                return true;
            };
            statistics.null_count_opt() != u64::try_from(group.num_rows()).ok()
                && bounds(statistics).is_none_or(|(least, most)| test.may_pass(&least, &most))
        })
    }
}

/// Bounds of the values of a column.
pub(super) fn bounds(statistics: &Statistics) -> Option<(Value, Value)> {
    Some(match statistics {
        Statistics::Boolean(own) => {
            (Value::Boolean(*own.min_opt()?), Value::Boolean(*own.max_opt()?))
        }
        Statistics::Int32(own) => {
            let integer = |value: &i32| Value::Integer(i64::from(*value));
            (integer(own.min_opt()?), integer(own.max_opt()?))
        }
        Statistics::Int64(own) => {
            (Value::Integer(*own.min_opt()?), Value::Integer(*own.max_opt()?))
        }
        Statistics::Double(own) => (Value::Float(*own.min_opt()?), Value::Float(*own.max_opt()?)),
        Statistics::ByteArray(own) => {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok().map(Value::Text);
            (text(own.min_opt()?.data())?, text(own.max_opt()?.data())?)
        }
        _ => return None,
    })
}
