//! Histories of list appends, searched for cycles.
//!
//! Clients append unique numbers to lists under keys, and read lists. A list that was read shows
//! the appends before it, in order, and so orders transactions: a writer comes before those that
//! read its value, a reader before the next writer, and a transaction that had ended before those
//! that began later. If these relations have no cycle, there is an order of all transactions that
//! explains everything, in real time too (Kingsbury and Alvaro, "Elle: inferring isolation
//! anomalies from experimental observations", VLDB 2020).

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use folio_table::{Options, Reader, Result, Synchronous, TableStore};
use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef};

use crate::random::Random;
use crate::seeds::{run_seeds, seeds};
use crate::store::{new_disk, open, options_of_seed};

const KEYS: usize = 5;
const CLIENTS: u64 = 4;

/// The lists, by key.
type Lists = BTreeMap<i64, Vec<i64>>;

/// The reads and appends of one transaction.
#[derive(Debug, Default, Clone)]
struct Record {
    began: u64,
    ended: u64,
    reads: Vec<(i64, Vec<i64>)>,
    appends: Vec<(i64, i64)>,
}

fn list(reader: &Reader<'_>, key: i64) -> Result<Vec<i64>> {
    let table = reader.table("lists")?;
    let Some(row) = reader.get(&table, &[ValueRef::Integer(key)])? else { return Ok(Vec::new()) };
    let Value::Text(text) = row.get(1)? else { panic!("a list is text") };
    Ok(text.split(',').map(|number| number.parse().unwrap()).collect())
}

/// A client: transactions that append and read, snapshots that only read.
struct Client<'c> {
    store: &'c TableStore,
    clock: &'c AtomicU64,
    next: &'c AtomicU64,
    random: Random,
}

impl Client<'_> {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn run(&mut self, count: usize) -> Result<Vec<Record>> {
        (0..count)
            .filter_map(|_| match self.random.below(5) {
                0..3 => self.write().transpose(),
                _ => Some(self.look()),
            })
            .collect()
    }

    fn look(&mut self) -> Result<Record> {
        let mut record = Record { began: self.now(), ..Record::default() };
        let snapshot = self.store.snapshot();
        for _ in 0..1 + self.random.below(4) {
            let key = self.random.below(KEYS) as i64;
            record.reads.push((key, list(&snapshot.reader(), key)?));
        }
        record.ended = self.now();
        Ok(record)
    }

    /// `None` if it was rolled back.
    fn write(&mut self) -> Result<Option<Record>> {
        let mut record = Record { began: self.now(), ..Record::default() };
        let mut transaction = self.store.begin()?;
        let table = transaction.table("lists")?;
        for _ in 0..1 + self.random.below(4) {
            let key = self.random.below(KEYS) as i64;
            let mut numbers = list(&transaction.reader(), key)?;
            if self.random.once_in(2) {
                record.reads.push((key, numbers));
                continue;
            }
            let number = self.next.fetch_add(1, Ordering::Relaxed) as i64;
            let is_new = numbers.is_empty();
            numbers.push(number);
            let text = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
            let row = [ValueRef::Integer(key), ValueRef::Text(&text)];
            if is_new {
                transaction.insert(&table, &row)?;
            } else {
                assert!(transaction.update(&table, &row[..1], &row)?, "the list is there");
            }
            record.appends.push((key, number));
        }
        if self.random.once_in(8) {
            return Ok(None);
        }
        transaction.commit()?;
        record.ended = self.now();
        Ok(Some(record))
    }
}

/// Runs clients on one store. Returns their history and the final lists.
fn history(seed: u64, options: &Options) -> Result<(Vec<Record>, Lists)> {
    let store = open(&new_disk(seed), options)?;
    let columns = vec![
        Column::required("key", ColumnType::Int64),
        Column::required("list", ColumnType::Text),
    ];
    let mut transaction = store.begin()?;
    transaction.create_table(&TableSchema::new("lists", columns, vec![0]))?;
    transaction.commit()?;
    let (clock, next) = (AtomicU64::new(1), AtomicU64::new(1));
    let records = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let random = Random::new(seed * CLIENTS + number);
                let (store, clock, next) = (&store, &clock, &next);
                scope.spawn(move || Client { store, clock, next, random }.run(60))
            })
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("no panic"))
            .collect::<Result<Vec<_>>>()
    })?;
    let snapshot = store.snapshot();
    let lists = (0..KEYS as i64).map(|key| Ok((key, list(&snapshot.reader(), key)?)));
    Ok((records.concat(), lists.collect::<Result<_>>()?))
}

/// The order relation of transactions.
fn order(records: &[Record], lists: &Lists) -> Result<Vec<Vec<usize>>, String> {
    let mut writer_of = HashMap::new();
    for (index, record) in records.iter().enumerate() {
        writer_of.extend(record.appends.iter().map(|append| (*append, index)));
    }
    let writer = |key: i64, number: i64| {
        writer_of.get(&(key, number)).copied().ok_or(format!("{number} was never committed"))
    };
    let mut after = vec![Vec::new(); records.len()];
    for (&key, numbers) in lists {
        for pair in numbers.windows(2) {
            after[writer(key, pair[0])?].push(writer(key, pair[1])?);
        }
    }
    for (append, &index) in &writer_of {
        if !lists[&append.0].contains(&append.1) {
            return Err(format!("{append:?} of {:?} is lost", records[index]));
        }
    }
    for (index, record) in records.iter().enumerate() {
        for (key, seen) in &record.reads {
            // A transaction sees its own appends last.
            let is_own = |number: &&i64| record.appends.contains(&(*key, **number));
            let seen = &seen[..seen.len() - seen.iter().rev().take_while(is_own).count()];
            let whole = &lists[key];
            if !whole.starts_with(seen) {
                return Err(format!("{seen:?} was seen of {whole:?} under {key}"));
            }
            if let Some(&last) = seen.last() {
                after[writer(*key, last)?].push(index);
            }
            if let Some(&next) = whole.get(seen.len()) {
                after[index].push(writer(*key, next)?);
            }
        }
        let later = records.iter().enumerate().filter(|(_, other)| record.ended < other.began);
        after[index].extend(later.map(|(other, _)| other));
    }
    for (index, followers) in after.iter_mut().enumerate() {
        followers.retain(|&follower| follower != index);
    }
    Ok(after)
}

/// Removes transactions without predecessor or successor; the rest contains a cycle.
fn refuse_cycles(records: &[Record], after: &[Vec<usize>]) -> Result<(), String> {
    let mut is_left = vec![true; after.len()];
    loop {
        let leads_on = |index: usize| after[index].iter().any(|&follower| is_left[follower]);
        let mut is_led_to = vec![false; after.len()];
        for index in (0..after.len()).filter(|&index| is_left[index]) {
            after[index].iter().for_each(|&follower| is_led_to[follower] = true);
        }
        let stays: Vec<bool> = (0..after.len())
            .map(|index| is_left[index] && is_led_to[index] && leads_on(index))
            .collect();
        if stays == is_left {
            break;
        }
        is_left = stays;
    }
    let left: Vec<_> = (0..after.len()).filter(|&index| is_left[index]).collect();
    if left.is_empty() {
        return Ok(());
    }
    let reported: Vec<_> = left.iter().map(|&index| format!("{:?}", records[index])).collect();
    Err(format!("{} transactions have no order:\n{}", left.len(), reported.join("\n")))
}

fn explains(seed: u64) -> Result<u64, String> {
    let options = Options { synchronous: Synchronous::Full, ..options_of_seed(seed) };
    let (records, lists) =
        history(seed, &options).map_err(|error| format!("no fault was asked for, but: {error}"))?;
    refuse_cycles(&records, &order(&records, &lists)?)?;
    Ok(records.len() as u64)
}

#[test]
fn histories_of_list_appends_have_an_order() {
    let count = if std::env::var_os("FOLIO_DEEP").is_some() { 2000 } else { 200 };
    let total = run_seeds(seeds(count), explains).unwrap_or_else(|text| panic!("{text}"));
    println!("{total} transactions in order");
}

/// The search finds known anomalies.
#[test]
fn a_history_without_an_order_is_noticed() {
    let appends = |began, ended, appends: &[(i64, i64)], reads: &[(i64, &[i64])]| Record {
        began,
        ended,
        reads: reads.iter().map(|(key, seen)| (*key, seen.to_vec())).collect(),
        appends: appends.to_vec(),
    };
    let search = |records: &[Record], lists: &[(i64, &[i64])]| {
        let lists = lists.iter().map(|(key, list)| (*key, list.to_vec())).collect();
        order(records, &lists).and_then(|after| refuse_cycles(records, &after))
    };
    // Write skew: each reads what the other will write.
    let skew = [appends(1, 5, &[(0, 1)], &[(1, &[])]), appends(2, 6, &[(1, 2)], &[(0, &[])])];
    assert!(search(&skew, &[(0, &[1]), (1, &[2])]).is_err());
    // A reader that began after a commit and does not see it.
    let stale = [appends(1, 2, &[(0, 1)], &[]), appends(3, 4, &[], &[(0, &[])])];
    assert!(search(&stale, &[(0, &[1])]).is_err());
    // An update that was lost.
    let lost = [appends(1, 2, &[(0, 1)], &[]), appends(3, 4, &[(0, 2)], &[])];
    assert!(search(&lost, &[(0, &[2])]).is_err());
    let fine = [appends(1, 2, &[(0, 1)], &[]), appends(3, 4, &[(0, 2)], &[(0, &[1])])];
    assert_eq!(search(&fine, &[(0, &[1, 2])]), Ok(()));
}
