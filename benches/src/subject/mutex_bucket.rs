//! The bucket that people write without a dependency: a lock around two numbers.

use std::sync::Mutex;
use std::time::Instant;

use super::{Limit, Subject, shared};

pub(super) struct MutexBucket {
    state: Mutex<(f64, Instant)>,
    burst: f64,
    per_second: f64,
}

impl Subject for MutexBucket {
    const NAME: &'static str = "mutex_bucket";
    const BASELINE: &'static str = "governor_monotonic";

    #[expect(clippy::cast_precision_loss, reason = "people do")]
    fn new(limit: Limit) -> MutexBucket {
        let burst = limit.burst as f64;
        MutexBucket {
            state: Mutex::new((burst, Instant::now())),
            burst,
            per_second: limit.permits as f64 / limit.period.as_secs_f64(),
        }
    }

    shared!();

    #[inline]
    fn try_one(&self, (): &mut ()) -> bool {
        self.try_many(&mut (), 1)
    }

    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "people do")]
    fn try_many(&self, (): &mut (), permits: u64) -> bool {
        let permits = permits as f64;
        let mut state = self.state.lock().expect("no holder panics");
        let (tokens, last) = *state;
        let now = Instant::now();
        let earned = now.duration_since(last).as_secs_f64() * self.per_second;
        let tokens = (tokens + earned).min(self.burst);
        let is_admitted = tokens >= permits;
        *state = (if is_admitted { tokens - permits } else { tokens }, now);
        is_admitted
    }
}
