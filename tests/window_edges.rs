//! The edges of every limiter of windows, beside the random calls of `windows.rs`: amounts,
//! times, changes, snapshots. All of them go through the same table, of one limiter each; see
//! `window_edges/subject.rs`. What is checked:
//!
//! * every limit fits every window, or is an error that says what would;
//! * a wait is never longer than the window and what the limiter's accuracy adds;
//! * a clock at either end of its range, or set back, panics nowhere, ends, and gets
//!   nobody more than the limit; wherever it jumps, what it tells is the least wait;
//! * limits change live, and a change that is refused changes nothing;
//! * what is restored grants no more than what was saved;
//! * of several windows or limiters the one that refuses is named;
//! * what a receipt of each kind takes back.

mod amounts;
mod changes;
mod jumps;
mod receipts;
mod restored;
mod several;
mod subject;
mod times;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const DAY: u64 = 24 * 60 * MINUTE;
const CENTURY: u64 = 36_525 * DAY;
