//! A node beside a map, under the same changes.

use super::*;
use crate::ids::TreeId;
use crate::page::{PageKind, initialise};
use std::collections::BTreeMap;

/// Keys of one size or of several, with much or little in common, some of them long.
fn random_key(seed: u64, next: &mut impl FnMut(u64) -> u64) -> Vec<u8> {
    let number = next(200);
    match seed % 4 {
        0 => format!("{number:03}").into_bytes(),
        1 => (0xFFFF_0000_0000_0000u64 + number * 7).to_be_bytes().to_vec(),
        2 => format!("{}{number}", "long ".repeat(60 * (number % 2) as usize)).into_bytes(),
        _ => format!("shared by nearly all {number}")[next(30) as usize / 29 * 7..].into(),
    }
}

/// A node and a map under the same random changes.
#[test]
fn a_node_is_a_small_sorted_map() {
    for seed in 0..40u64 {
        let mut random = seed * 2 + 1;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            (random >> 33) % below
        };
        let mut page = vec![0xee; 4096];
        initialise(&mut page, PageId(1), PageKind::Node, 0, TreeId(9));
        let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for step in 0..2000 {
            let key = random_key(seed, &mut next);
            let value = vec![step as u8; next(120) as usize];
            let mut node = NodeMut::new(&mut page);
            match (node.as_node().search(&key), next(3)) {
                (Ok(index), 0) => {
                    node.remove(index);
                    model.remove(&key);
                }
                (Ok(index), _) => {
                    assert!(!node.append(&key, &value), "seed {seed} step {step}");
                    if node.replace(index, &value) {
                        model.insert(key, value);
                    }
                }
                (Err(index), turn) => {
                    // Appending may refuse what inserting would not, and changes nothing then.
                    let is_last = index == node.as_node().len();
                    let is_appended = turn > 0 && node.append(&key, &value);
                    assert!(is_last || !is_appended, "seed {seed} step {step}");
                    if is_appended || node.insert(index, &key, &value) {
                        model.insert(key, value);
                    }
                }
            }
            assert_eq!(check_layout(&page), Ok(()), "seed {seed} step {step}");
            let node = Node::new(&page);
            let mut keys = Vec::new();
            let found = node.whole_cells(&mut keys).into_iter();
            let expected = model.iter().map(|(key, value)| (&key[..], &value[..]));
            assert!(found.eq(expected), "seed {seed} step {step}");
            check_search(node, &random_key(seed, &mut next), &mut next);
        }
    }
}

/// A key, and what it begins with, is found from wherever one comes.
fn check_search(node: Node<'_>, key: &[u8], next: &mut impl FnMut(u64) -> u64) {
    let keys: Vec<Vec<u8>> = (0..node.len()).map(|cell| node.key(cell).to_vec()).collect();
    let expected = keys.binary_search_by(|other| other.as_slice().cmp(key));
    assert_eq!(node.search(key), expected);
    let before = expected.unwrap_or_else(|at| at);
    assert_eq!(node.search_from(next(before as u64 + 1) as usize, key), expected);
    assert_eq!(node.search_near(next(keys.len() as u64 + 1) as usize, key), expected);
    if !keys.is_empty() {
        let (from, step) = (next(keys.len() as u64) as usize, 1 + next(20) as usize);
        match node.search_onward(from, step, key) {
            Some(found) => assert_eq!(found, expected),
            None => assert_eq!(expected, Err(0)),
        }
    }
    let start = &key[..next(key.len() as u64 + 1) as usize];
    let first = next(keys.len() as u64 + 1) as usize;
    let end = keys[first..].iter().position(|key| !key.starts_with(start));
    assert_eq!(node.end_of_prefixed(first, start), end.map(|cells| first + cells));
}

/// What a tail appends, a node would have appended, and the pages are the same.
#[test]
fn a_tail_appends_as_the_node_does() {
    for page_size in [4096, 16384] {
        for (prefix_size, rest_size) in
            [(1, 15), (8, 8), (9, 7), (12, 4), (15, 2), (16, 1), (17, 3)]
        {
            let key = |number: u64| {
                let mut key = vec![7; prefix_size];
                key.extend_from_slice(&number.to_be_bytes()[8usize.saturating_sub(rest_size)..]);
                key
            };
            let mut pages = [vec![0xee; page_size], vec![0xee; page_size]];
            for page in &mut pages {
                initialise(page, PageId(1), PageKind::Node, 0, TreeId(9));
                let mut node = NodeMut::new(page);
                // Two keys that differ from the first byte behind the prefix on.
                let greatest = u64::MAX >> (64 - 8 * rest_size.min(8));
                assert!(node.insert(0, &key(0), b"a") && node.insert(1, &key(greatest / 2), b"b"));
            }
            let [own, other] = &mut pages;
            let Some(mut tail) = Tail::of(Node::new(own)) else {
                assert!(rest_size > 8 || prefix_size > 16, "{prefix_size} {rest_size}");
                continue;
            };
            let first = Node::new(own).key(1).to_vec();
            for step in 0..2000u64 {
                let mut next = first.clone();
                let (size, greatest) = (rest_size.min(8), u64::MAX >> (64 - 8 * rest_size.min(8)));
                let number = greatest / 2 + (step * step % 251 + step / 2) % (greatest / 2);
                let end = next.len() - size;
                next[end..].copy_from_slice(&number.to_be_bytes()[8 - size..]);
                if step % 97 == 0 {
                    next[0] ^= 1;
                }
                if step % 89 == 0 {
                    next.push(0);
                }
                let value = vec![step as u8; step as usize % 40];
                let is_in = tail.append(own, &next, &value);
                assert_eq!(is_in, NodeMut::new(other).append(&next, &value), "{step}");
                assert!(own == other, "{page_size} {prefix_size} {rest_size} {step}");
            }
            assert!(Node::new(own).len() > 9, "{prefix_size} {rest_size}");
        }
    }
}
