//! Binary Ion: no input panics, hangs or grows; columns read directly hold what trees hold.

#![no_main]

use folio_ion::shred::{Batch, Inference, Rules};
use folio_ion::{Format, Limits, Splitter, VERSION_MARKER};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let stream = [&VERSION_MARKER[..], bytes].concat();
    let limits = Limits::default();
    let mut splitter = Splitter::new(&stream[..], 64, Format::Values, limits);
    while let Ok(Some(block)) = splitter.next_block(Vec::new()) {
        let mut inference = Inference::new();
        let (_, observed) = inference.observe_block(&block, u64::MAX, &limits);
        if observed.is_err() {
            return;
        }
        let layout = inference.layout(&Rules::default());
        let (mut direct, mut general) = (Batch::new(&layout, limits), Batch::new(&layout, limits));
        let mut at = block.start;
        let direct_read = direct.read(&block, &mut at, usize::MAX / 2);
        let mut at = block.start;
        while let Ok(Some((value, next))) = block.element(at, &limits) {
            if general.push(&value).is_err() {
                return;
            }
            at = next;
        }
        if direct_read.is_ok() {
            // A skipped field may hold what a tree would refuse, never the other way round.
            assert!(direct.row_count() >= general.row_count());
        }
    }
});
