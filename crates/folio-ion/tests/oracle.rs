//! The reader and the writers against ion-rs, value by value.
//!
//! Inputs are generated from a seed, written by us and by mutation damaged; both readers must agree
//! on whether an input is Ion and, if so, on every value. `ION_ORACLE_CASES` sets the number of
//! inputs (10,000 by default); a failure prints its seed, and `ION_ORACLE_SEED` replays it.

mod generate;
mod peer;

use folio_ion::{Element, read_all, write};
use generate::Generator;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn run(check: impl Fn(&mut Generator, u64)) {
    let deep = std::env::var_os("FOLIO_DEEP").is_some();
    let cases = setting("ION_ORACLE_CASES", if deep { 1_000_000 } else { 10_000 });
    let first = setting("ION_ORACLE_SEED", 1);
    for seed in first..first + cases {
        check(&mut Generator::new(seed), seed);
    }
}

#[test]
fn text_and_binary_round_trip_and_the_peer_reads_the_same() {
    run(|generator, seed| {
        let values: Vec<Element> =
            (0..1 + generator.below(4)).map(|_| generator.top_level(4)).collect();
        let text: Vec<String> = values.iter().map(write::to_text).collect();
        let pretty: Vec<String> = values.iter().map(write::to_pretty_text).collect();
        let binary = write::to_binary(&values);
        for bytes in [text.join("\n").into_bytes(), pretty.join("\n").into_bytes(), binary] {
            let read =
                read_all(&bytes).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text:?}"));
            assert_eq!(read, values, "seed {seed}: {text:?}");
            peer::assert_agrees(&bytes, seed);
        }
    });
}

#[test]
fn damaged_inputs_are_judged_alike() {
    run(|generator, seed| {
        let values: Vec<Element> =
            (0..1 + generator.below(3)).map(|_| generator.top_level(3)).collect();
        let mut bytes = match generator.below(3) {
            0 => write::to_binary(&values),
            1 => generator.noise(),
            _ => values.iter().map(write::to_text).collect::<Vec<_>>().join(" ").into_bytes(),
        };
        generator.damage(&mut bytes);
        peer::assert_agrees(&bytes, seed);
    });
}
