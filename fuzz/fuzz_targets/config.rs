//! Any numbers for any constructor, and any bytes for a snapshot: none panics,
//! and what is refused is explained by a text that names the field.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/decode.rs"]
mod decode;
#[path = "../../tests/support/ops.rs"]
mod ops;
#[path = "../../tests/support/reference.rs"]
mod reference;
#[path = "../../tests/support/setups.rs"]
mod setups;

fuzz_target!(|bytes: &[u8]| setups::check(bytes));
