//! Whether a stream is one list, whose elements are the records, or values that include lists.

use folio_ion::{Format, Limits, Splitter, VERSION_MARKER, read_all, write};

/// The number of records, which must not depend on the block size.
fn records(bytes: &[u8]) -> u64 {
    let count = |size| {
        let mut splitter = Splitter::new(bytes, size, Format::Auto, Limits::default());
        while splitter.next_block(Vec::new()).expect("the stream is whole").is_some() {}
        splitter.row_count()
    };
    let found = count(16);
    for size in [40, 1 << 10, 1 << 20] {
        assert_eq!(count(size), found, "{size}");
    }
    found
}

fn binary(text: &str) -> Vec<u8> {
    write::to_binary(&read_all(text.as_bytes()).expect("text is whole"))
}

#[test]
fn one_list_is_its_elements() {
    for (text, count) in [
        ("[1, 2, 3]", 3),
        (" // first\n[1, 2, 3] // last\n", 3),
        ("[{a:1},{a:2}]", 2),
        ("[[1, 2], [3]]", 2),
        ("[]", 0),
        ("$ion_1_0 [1, 2]", 2),
    ] {
        assert_eq!(records(text.as_bytes()), count, "{text}");
        assert_eq!(records(&binary(text)), count, "binary {text}");
    }
}

#[test]
fn several_lists_are_a_record_each() {
    for (text, count) in [
        ("[1, 2]\n[3]\n", 2),
        ("[1, 2][3]", 2),
        ("[]\n[]\n[]\n", 3),
        ("[1, 2] {a:1}", 2),
        ("[1] $ion_symbol_table::{symbols:[\"x\"]} [2]", 2),
        ("{a:1} [1, 2]", 2),
        ("x::[1, 2]", 1),
    ] {
        assert_eq!(records(text.as_bytes()), count, "{text}");
        assert_eq!(records(&binary(text)), count, "binary {text}");
    }
}

#[test]
fn a_list_is_looked_after_for_64_kib() {
    let near = format!("[{}]\n[1]", "1,".repeat(10_000));
    assert_eq!(records(near.as_bytes()), 2);
    // If the list does not end within these bytes, it counts as the only one.
    let far = format!("[{}]", "1,".repeat(40_000));
    assert_eq!(records(far.as_bytes()), 40_000);
    assert_eq!(records(&[&VERSION_MARKER[..], &[0xb2, 0x21, 0x01, 0xb1, 0x11]].concat()), 2);
}

#[test]
fn a_list_that_breaks_off_is_an_error() {
    for text in ["[1, 2", "[1, 2\n[3]", "[1] ["] {
        let mut splitter = Splitter::new(text.as_bytes(), 1 << 10, Format::Auto, Limits::default());
        let mut cut = || loop {
            match splitter.next_block(Vec::new()) {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(error) => return Err(error),
            }
        };
        assert!(cut().is_err(), "{text}");
    }
}
