//! Compares a node with a map under the same changes.

use super::*;
use crate::ids::TreeId;
use crate::page::{PageKind, initialise};
use std::collections::BTreeMap;

/// Keys of one size or several, with long or short common prefixes, some of them long.
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
                    // Appending may refuse what inserting would accept; it changes nothing then.
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

/// Checks that a key, and its prefix, are found with any position hint.
fn check_search(node: Node<'_>, key: &[u8], next: &mut impl FnMut(u64) -> u64) {
    let keys: Vec<Vec<u8>> = (0..node.len()).map(|cell| node.key(cell).to_vec()).collect();
    let expected = keys.binary_search_by(|other| other.as_slice().cmp(key));
    assert_eq!(node.search(key), expected);
    assert_eq!(node.search_near(next(keys.len() as u64 + 1) as usize, key), expected);
    let start = &key[..next(key.len() as u64 + 1) as usize];
    let first = next(keys.len() as u64 + 1) as usize;
    let end = keys[first..].iter().position(|key| !key.starts_with(start));
    assert_eq!(node.end_of_prefixed(first, start), end.map(|cells| first + cells));
}
