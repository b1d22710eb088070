//! Text Ion: no input panics, hangs or grows; what reads survives both spellings; cutting into blocks
//! loses no value.

#![no_main]

use folio_ion::{Format, Limits, Splitter, read_all, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if bytes.first() == Some(&0xe0) {
        return;
    }
    let Ok(values) = read_all(bytes) else { return };
    let text: Vec<String> = values.iter().map(write::to_text).collect();
    if text.iter().any(|text| text.contains("$0")) {
        return;
    }
    assert_eq!(read_all(text.join("\n").as_bytes()).expect("our own text"), values);
    assert_eq!(read_all(&write::to_binary(&values)).expect("our own binary"), values);

    let mut splitter = Splitter::new(bytes, 16, Format::Values, Limits::default());
    let mut found = Vec::new();
    while let Some(block) = splitter.next_block(Vec::new()).expect("what reads can be cut") {
        let mut at = block.start;
        while let Some((value, next)) = block.element(at, &Limits::default()).expect("what reads") {
            found.push(value);
            at = next;
        }
    }
    assert_eq!(found, values);
});
