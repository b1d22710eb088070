//! Parts of a columns index whose rows the test itself keeps: whatever happens, a row that is not
//! listed as changed is as its part has it, in every state that a reader sees.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use folio_table::{Result, RowPart, RowRange, Snapshot, Table, Transaction};
use folio_types::ValueRef;

use crate::model::{Rows, THINGS};
use crate::random::Random;

/// The rows of a part, and the last key that it covers.
#[derive(Debug, Clone)]
struct Copy {
    last: i64,
    rows: Rows,
}

/// All copies of this process, by their sums. Stores of all seeds share them.
static COPIES: Mutex<BTreeMap<u64, Copy>> = Mutex::new(BTreeMap::new());

fn copy_of(part: &RowPart) -> Option<Copy> {
    COPIES.lock().unwrap().get(&part.sum).cloned()
}

fn key(table: &Table, key: i64) -> Result<Vec<u8>> {
    table.encoded_key(&[ValueRef::Integer(key)])
}

/// Copies the rows up to a random key: all of them, or those after the first part.
pub(crate) fn copy_rows(
    transaction: &mut Transaction,
    rows: &Rows,
    keys: usize,
    random: &mut Random,
) -> Result<()> {
    let table: Arc<Table> = transaction.table(THINGS)?;
    let Some(index) = table.columns_indexes().first() else { return Ok(()) };
    let last = random.below(keys) as i64;
    let mut parts = transaction.reader().row_parts(&table, index)?;
    parts.truncate(random.below(2));
    let first = parts.first().and_then(copy_of).filter(|copy| copy.last < last);
    let after = match first {
        Some(copy) => copy.last,
        None => {
            parts.clear();
            i64::MIN
        }
    };
    let copied: Rows = rows.range(after..=last).map(|(key, row)| (*key, row.clone())).collect();
    let copied: Rows = copied.into_iter().filter(|(key, _)| *key > after).collect();
    let mut hasher = DefaultHasher::new();
    format!("{last} {copied:?}").hash(&mut hasher);
    let (sum, row_count) = (hasher.finish(), copied.len() as u64);
    COPIES.lock().unwrap().insert(sum, Copy { last, rows: copied });
    let from = parts.last().and_then(|part| RowRange::end_after(&part.last_key));
    let number = parts.last().map_or(1, |part| part.number + 1);
    parts.push(RowPart { number, sum, row_count, last_key: key(&table, last)? });
    transaction.set_row_parts(&table, index, &parts, &[RowRange { from, to: None }])
}

/// Compares the rows of a snapshot with its parts.
pub(crate) fn check(snapshot: &Snapshot, rows: &Rows) -> Result<()> {
    let table = snapshot.table(THINGS)?;
    let Some(index) = table.columns_indexes().first() else { return Ok(()) };
    let reader = snapshot.reader();
    let changed = reader.changed_keys(&table, index, &RowRange::default(), usize::MAX)?;
    let changed: BTreeSet<Vec<u8>> = changed.into_iter().collect();
    let mut covered = i64::MIN;
    for part in reader.row_parts(&table, index)? {
        // Another process made it, which was killed.
        let Some(copy) = copy_of(&part) else { return Ok(()) };
        let own = rows.range(covered..=copy.last).map(|(key, _)| *key);
        for at in own.chain(copy.rows.keys().copied()).filter(|key| *key > covered) {
            if !changed.contains(&key(&table, at)?) {
                assert_eq!(rows.get(&at), copy.rows.get(&at), "row {at} is not as its part has it");
            }
        }
        covered = copy.last;
    }
    Ok(())
}
