//! Threads on one store with six pages of pool: readers evict what the writer is
//! changing, while checkpoints move pages under all of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use folio_table::buffer::Policy;
use folio_table::{Error, Options, Result, Snapshot, Synchronous, TableStore};
use folio_types::{Value, ValueRef, borrowed};

use crate::model::THINGS;
use crate::random::Random;
use crate::seeds::seeds;
use crate::store::{PAGE_SIZE, new_disk, open, read_all, small_options, things_schema};

/// Accounts with a constant total sum.
const ACCOUNTS: i64 = 100;
const BALANCE: i64 = 1000;

fn account(key: i64, balance: i64, body_size: usize) -> Vec<Value> {
    vec![
        Value::Integer(key),
        Value::Text("account".to_owned()),
        Value::Integer(balance),
        Value::Text("x".repeat(body_size)),
    ]
}

fn make_accounts(store: &TableStore) -> Result<()> {
    let mut transaction = store.begin()?;
    let table = transaction.create_table(&things_schema())?;
    for key in 0..ACCOUNTS {
        transaction.insert(&table, &borrowed(&account(key, BALANCE, 300)))?;
    }
    transaction.commit()
}

/// The sum of all balances, each read by its key or all of them by a scan.
fn sum(snapshot: &Snapshot, random: &mut Random) -> Result<i64> {
    let table = snapshot.table(THINGS)?;
    if random.once_in(2) {
        let mut total = 0;
        for batch in snapshot.scan(&table, &folio_table::ScanOptions::default())? {
            let batch = batch?;
            let balances = batch.column(2).as_any().downcast_ref::<arrow_array::Int32Array>();
            total += balances.unwrap().values().iter().map(|&one| i64::from(one)).sum::<i64>();
        }
        return Ok(total);
    }
    let balance = |key| match snapshot.get(&table, &[ValueRef::Integer(key)])?.unwrap().get(2)? {
        Value::Integer(balance) => Ok(balance),
        other => panic!("a balance is no integer: {other:?}"),
    };
    (0..ACCOUNTS).map(balance).sum()
}

/// Moves money between many accounts, in rows of changing length; sometimes the transaction is
/// rolled back, or half of it.
fn transfer(store: &TableStore, random: &mut Random) -> Result<()> {
    let mut transaction = store.begin()?;
    let table = transaction.table(THINGS)?;
    for _ in 0..1 + random.below(40) {
        let savepoint = random.once_in(10).then(|| transaction.savepoint());
        let (from, to) = (random.below(100) as i64, random.below(100) as i64);
        let amount = random.below(10) as i64;
        for (key, change) in [(from, -amount), (to, amount)] {
            let key = [ValueRef::Integer(key)];
            let Value::Integer(balance) = transaction.get(&table, &key)?.unwrap().get(2)? else {
                panic!("a balance is no integer");
            };
            let ValueRef::Integer(number) = key[0] else { unreachable!("keys are integers") };
            let row = account(number, balance + change, 100 + random.below(400));
            transaction.update(&table, &key, &borrowed(&row))?;
        }
        if let Some(savepoint) = savepoint {
            if random.once_in(2) {
                transaction.rollback_to(savepoint)?;
            } else {
                transaction.release(savepoint)?;
            }
        }
    }
    if random.once_in(5) { Ok(()) } else { transaction.commit() }
}

fn run(seed: u64, policy: Policy, transfers: u64) {
    let options = Options {
        policy,
        synchronous: if seed.is_multiple_of(3) { Synchronous::Normal } else { Synchronous::Full },
        checkpoint_size: 200 << 10,
        ..small_options()
    };
    let files = new_disk(seed);
    let store = open(&files, &options).unwrap();
    make_accounts(&store).unwrap();
    let (is_done, looks) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|number| {
                let (store, mut random) = (store.clone(), Random::new(seed * 8 + number));
                scope.spawn(move || {
                    (0..transfers).for_each(|_| transfer(&store, &mut random).unwrap());
                })
            })
            .collect();
        for number in 2..4 {
            let (store, mut random) = (store.clone(), Random::new(seed * 8 + number));
            let (is_done, looks) = (&is_done, &looks);
            scope.spawn(move || {
                while !is_done.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot();
                    for _ in 0..1 + random.below(3) {
                        let total = sum(&snapshot, &mut random).unwrap();
                        assert_eq!(total, ACCOUNTS * BALANCE, "seed {seed}");
                        looks.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let ended: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|writer| writer.unwrap());
    });
    assert!(looks.load(Ordering::Relaxed) > 0, "nobody has looked");
    let at_last = read_all(&store).unwrap();
    drop(store);
    assert_eq!(read_all(&open(&files.kill(), &options).unwrap()).unwrap(), at_last);
}

/// Every read finds the whole sum.
#[test]
fn readers_and_writers_share_six_pages() {
    for (seed, policy) in (0..).zip(Policy::ALL) {
        run(seed, policy, 60);
    }
}

#[test]
#[ignore = "minutes"]
fn readers_and_writers_share_six_pages_for_long() {
    for seed in seeds(200) {
        run(seed, Policy::ALL[(seed % 4) as usize], 200);
    }
}

/// Holding more pages than there are frames is reported immediately.
#[test]
fn holding_more_rows_than_frames_is_an_error_that_passes() {
    let store = open(&new_disk(0), &small_options()).unwrap();
    make_accounts(&store).unwrap();
    assert!(store.checkpoint().unwrap());
    let snapshot = store.snapshot();
    let table = snapshot.table(THINGS).unwrap();
    let mut held = Vec::new();
    let refusal =
        (0..ACCOUNTS).find_map(|key| match snapshot.get(&table, &[ValueRef::Integer(key)]) {
            Ok(row) => {
                held.push(row);
                None
            }
            Err(error) => Some(error),
        });
    match refusal {
        Some(Error::PoolExhausted { frames, pins }) => {
            assert_eq!(frames, small_options().pool_size / PAGE_SIZE);
            assert!(pins >= 6, "{pins} holds");
        }
        other => panic!("{other:?}"),
    }
    held.clear();
    let mut random = Random::new(0);
    assert_eq!(sum(&snapshot, &mut random).unwrap(), ACCOUNTS * BALANCE);
}
