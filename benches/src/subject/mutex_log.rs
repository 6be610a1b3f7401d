//! The window that people write without a dependency: a lock around the times of the
//! admissions in it.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::{Limit, Op, Subject, shared, windows};

pub(super) struct MutexLog {
    log: Mutex<VecDeque<Instant>>,
    permits: usize,
    period: Duration,
}

impl Subject for MutexLog {
    const NAME: &'static str = "mutex_log";
    const BASELINE: &'static str = "mutex_log";
    const OPS: &'static [Op] = Op::OF_WINDOWS;

    fn limit(op: Op) -> Limit {
        windows::window(op)
    }

    fn bound(limit: Limit, life: Duration) -> u64 {
        windows::bound(limit, life)
    }

    fn new(limit: Limit) -> MutexLog {
        MutexLog {
            log: Mutex::new(VecDeque::new()),
            permits: limit.permits as usize,
            period: limit.period,
        }
    }

    shared!();

    #[inline]
    fn try_one(&self, (): &mut ()) -> bool {
        let mut log = self.log.lock().expect("no holder panics");
        let now = Instant::now();
        while log.front().is_some_and(|&oldest| now.duration_since(oldest) >= self.period) {
            log.pop_front();
        }
        let is_admitted = log.len() < self.permits;
        if is_admitted {
            log.push_back(now);
        }
        is_admitted
    }
}
