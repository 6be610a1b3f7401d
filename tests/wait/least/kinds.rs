//! Every limiter, and some stores of keys, as subjects.

use super::*;

/// Slots of the windows that have some.
const SLOTS: u32 = 5;

/// A limiter that grants single permits: each request is for one.
struct Single<L>(L);

impl<L: Wait> Subject for Single<L> {
    fn stand(&self, _: u64, timer: Noted) -> Pin<Box<dyn Future<Output = Answer> + '_>> {
        Box::pin(self.0.acquire(1).timer(timer))
    }

    fn try_acquire(&self, _: u64) -> bool {
        self.0.try_acquire(1).is_ok()
    }

    fn reset(&self) {
        self.0.reset();
    }
}

pub(super) const KINDS: &[&str] = &[
    "Gcra",
    "LeakyBucket",
    "TokenBucket",
    "TokenBucket, interval",
    "SettleableBucket",
    "SlidingLog",
    "WeightedLog",
    "SlidingWindow",
    "SlidingWindow, compact",
    "MultiWindow",
    "TopUp",
    "Counted",
    "Gate",
    "Sharded",
    "All",
    "FixedWindow",
    "WindowFromFirst",
    "SlidingCounter",
    #[cfg(feature = "calendar")]
    "CalendarWindow",
    #[cfg(feature = "calendar")]
    "Budget",
    "Keyed",
    "Keyed logs",
];

pub(super) fn quota_of(span: u64) -> Quota {
    Rate::new(LIMIT, Duration::from_nanos(span)).unwrap().into()
}

pub(super) fn check(kind: &str, span: u64, ops: Vec<Op>) {
    let clock = &ManualClock::at(90 * 86_400 * SECOND);
    let quota = quota_of(span);
    let rate = quota.rate();
    let nanos = Duration::from_nanos;
    let run = |subject: &dyn Subject, span| run(subject, clock, span, 0, ops);
    match kind {
        "Gcra" => {
            let interval = span / LIMIT + 1;
            let tolerance = nanos(interval * (LIMIT - 1));
            run(&Of(Gcra::with_clock(nanos(interval), tolerance, clock).unwrap()), span);
        }
        "LeakyBucket" => run(&Of(LeakyBucket::meter_with_clock(quota, clock)), span),
        "TokenBucket" => run(&Of(TokenBucket::with_clock(quota, clock)), span),
        "TokenBucket, interval" => {
            let quota = quota.with_refill(Refill::Interval);
            run(&Of(TokenBucket::with_clock(quota, clock)), span);
        }
        "SettleableBucket" => {
            let bucket = SettleableBucket::with_clock(quota, clock);
            run(&SettledBehind(Queued::with_clock(bucket, clock)), span);
        }
        "SlidingLog" => {
            let log = SlidingLog::with_clock(rate, clock).unwrap();
            run(&Single(Queued::with_clock(log, clock)), span);
        }
        "WeightedLog" => {
            let log = WeightedLog::with_clock(rate, clock).unwrap();
            run(&Of(Queued::with_clock(log, clock)), span);
        }
        "SlidingWindow" => {
            run(&Settled(SlidingWindow::with_slots(rate, SLOTS, clock).unwrap()), span);
        }
        "SlidingWindow, compact" => {
            let window = SlidingWindow::compact(rate, SLOTS, clock).unwrap();
            run(&SettledBehind(Queued::with_clock(window, clock)), span);
        }
        "MultiWindow" => {
            // The shorter one holds a request of any size, and is full before the longer one is.
            let longer = Rate::new(2 * LIMIT, nanos(3 * span)).unwrap();
            let windows = MultiWindow::with_slots([rate, longer], SLOTS, clock).unwrap();
            run(&Settled(windows), span);
        }
        "TopUp" => {
            let limiter = TopUp::with_balance(TokenBucket::with_clock(quota, clock), LIMIT / 2);
            run(&Of(Queued::with_clock(limiter, clock)), span);
        }
        "Counted" => run(&Of(Counted::new(TokenBucket::with_clock(quota, clock))), span),
        "Gate" => run(&Of(Gate::new(TokenBucket::with_clock(quota, clock))), span),
        "Sharded" => {
            let sharded = Sharded::builder(quota).shards(4).clock(clock).build().unwrap();
            run(&Of(Queued::with_clock(sharded, clock)), span);
        }
        "All" => {
            let bucket = SettleableBucket::with_clock(quota, clock);
            let window = WindowFromFirst::with_clock(rate, clock).unwrap();
            let log = WeightedLog::with_clock(rate, clock).unwrap();
            let all: All<&dyn Limiter> =
                All::new([&bucket as &dyn Limiter, &window, &log]).unwrap();
            run(&Of(Queued::with_clock(all, clock)), span);
        }
        "FixedWindow" => run(&Settled(FixedWindow::with_clock(rate, clock).unwrap()), span),
        "WindowFromFirst" => run(&Settled(WindowFromFirst::with_clock(rate, clock).unwrap()), span),
        "SlidingCounter" => run(&Settled(SlidingCounter::with_clock(rate, clock).unwrap()), span),
        #[cfg(feature = "calendar")]
        "CalendarWindow" => {
            let days = Calendar::days("Europe/Berlin").unwrap();
            let window = CalendarWindow::with_clock(LIMIT, days, clock).unwrap();
            run(&Settled(window), 86_400 * SECOND);
        }
        #[cfg(feature = "calendar")]
        "Budget" => {
            let budget = Budget::with_clock(LIMIT, "Europe/Berlin", clock).unwrap();
            let budget = budget.on(Weekday::Saturday, 4).and_then(|it| it.on(Weekday::Sunday, 0));
            run(&Settled(budget.unwrap()), 86_400 * SECOND);
        }
        "Keyed" => {
            let keyed = Keyed::<String, _>::with_clock(quota, clock);
            run(&OfKey(QueuedKeys::with_clock(keyed, clock)), span);
        }
        "Keyed logs" => {
            let logs = Each::new(|_: &String| WeightedLog::with_clock(rate, clock).unwrap());
            let keyed = Keyed::<String, _>::with(logs);
            run(&OfKey(QueuedKeys::with_clock(keyed, clock)), span);
        }
        _ => unreachable!("{kind}"),
    }
}
