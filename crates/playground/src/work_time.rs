//! The time that the work for all sessions may take.

use std::time::{Duration, Instant};

use sluicegate::{ConfigError, Denied, Quota, Rate, TokenBucket};

/// Time of work, by the clock, for all sessions together: so much of it comes back in each second. Work is begun while
/// there is some, and charged when it is done.
#[derive(Debug)]
pub(crate) struct WorkTime {
    micros: TokenBucket,
}

impl WorkTime {
    /// Most work that is charged and not paid for yet. One piece takes some milliseconds, and as many run at a time as
    /// there are processors.
    const DEBT: Duration = Duration::from_secs(10);

    /// A twentieth of the time of each second can be saved up.
    pub(crate) fn new(each_second: Duration) -> Result<WorkTime, ConfigError> {
        let each_second = micros(each_second);
        let rate = Rate::new(each_second, Duration::from_secs(1))?;
        let quota = Quota::new(rate).with_burst((each_second / 20).max(1))?;
        Ok(WorkTime { micros: TokenBucket::new(quota.with_max_debt(micros(WorkTime::DEBT))?) })
    }

    /// Returns whether there is time for more.
    pub(crate) fn is_there(&self) -> Result<(), Denied> {
        self.micros.peek(1).map(drop)
    }

    /// Does some work, and charges the time that it takes.
    pub(crate) fn spend<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        // Beyond the largest debt, nothing is begun for long in any case.
        let _ = self.micros.force(micros(began.elapsed()).max(1));
        done
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_begun_while_the_time_of_earlier_work_is_owed() {
        // A microsecond in a second: what is done here takes more.
        let time = WorkTime::new(Duration::from_micros(1)).unwrap();
        assert_eq!(time.is_there(), Ok(()));
        let done = time.spend(|| {
            std::thread::sleep(Duration::from_millis(1));
            7
        });
        assert_eq!(done, 7);
        // A millisecond of debt is paid in a quarter of an hour.
        let wait = time.is_there().unwrap_err().retry_after().unwrap();
        assert!(wait > Duration::from_secs(900), "{wait:?}");
        assert!(WorkTime::new(Duration::ZERO).is_err());
    }
}
