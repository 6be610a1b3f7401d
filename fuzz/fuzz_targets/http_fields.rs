//! Any bytes as the fields of a response: the checks of `crates/http/tests/hostile.rs`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/http/tests/hostile/fields.rs"]
mod fields;

fuzz_target!(|bytes: &[u8]| fields::check(bytes));
