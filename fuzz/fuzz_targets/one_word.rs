//! Any operations on any limiter on one word: every answer is the slow
//! reference's. The decoder, the operations and the reference are those of the
//! property tests; `tests/replay.rs` replays what is found here.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/decode.rs"]
mod decode;
#[path = "../../tests/support/ops.rs"]
mod ops;
#[path = "../../tests/support/reference.rs"]
mod reference;

fuzz_target!(|bytes: &[u8]| {
    let (setup, start_nanos, operations) = decode::decode(bytes);
    ops::replay(setup, start_nanos, &operations);
});
