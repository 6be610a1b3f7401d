//! Any bytes as the fields that tell the address of a client: the checks of `crates/http/tests/hostile.rs`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/http/tests/hostile/address.rs"]
mod address;
#[path = "../../crates/http/tests/hostile/forwarded.rs"]
mod forwarded;

fuzz_target!(|bytes: &[u8]| address::check(bytes));
