//! Hostile statements: see the target of this name in `targets/`.

#![no_main]

#[path = "../targets/mod.rs"]
#[allow(dead_code)]
mod targets;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| targets::run("hostile", bytes));
