//! The parts that the benches share: the limiters as [`Subject`](subject::Subject)s, how
//! they are timed and shown, and how their costs and their rates are counted.

pub mod costs;
pub mod crowd;
pub mod fairness;
pub mod held;
pub mod keyed;
pub mod latency;
pub mod life;
#[path = "../../tests/support/limiters.rs"]
mod limiters;
pub mod machine;
pub mod memory;
pub mod page;
pub mod plot;
pub mod progress;
pub mod rates;
pub mod report;
pub mod results;
pub mod round;
pub mod spread;
pub mod subject;
pub mod verdict;
pub mod waiting;
pub mod watch;
