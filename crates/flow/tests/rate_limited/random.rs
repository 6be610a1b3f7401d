//! Streams that are polled and dropped at random.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluicegate::bucket::Carry;
use sluicegate::{Clock, ManualClock, TokenBucket, Wait, quota};
use sluicegate_flow::rate_limited::RateLimitedStream;

use super::support::NoTimer;

/// Gives its items, and counts what is left of them.
struct Items(VecDeque<u64>);

impl Stream for Items {
    type Item = u64;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<u64>> {
        Poll::Ready(self.0.pop_front())
    }
}

#[test]
fn streams_pass_on_no_more_than_the_bound_and_all_of_their_items() {
    const BURST: u64 = 20;
    for seed in 0..if cfg!(miri) { 2 } else { 200 } {
        let mut random = StdRng::seed_from_u64(seed);
        let clock = ManualClock::new();
        let wide = quota!(1_000 / second, burst 20);
        let bucket = TokenBucket::with_clock(wide, &clock);
        let mut streams = Vec::new();
        let mut left = 0;
        for _ in 0..random.random_range(1..6) {
            // Some cost nothing, and some more than the burst.
            let count = random.random_range(0..20);
            let items: VecDeque<u64> = (0..count).map(|_| random.random_range(0..50)).collect();
            left += items.len();
            let stream = RateLimitedStream::new(Items(items), &bucket).cost(|item: &u64| *item);
            streams.push(Box::pin(stream.timer(NoTimer)));
        }
        let mut passed = 0;
        while !streams.is_empty() {
            clock.advance_nanos(random.random_range(0..3_000_000));
            let chosen = random.random_range(0..streams.len());
            match random.random_range(0..100) {
                0 => {
                    let (inner, item) = Pin::into_inner(streams.remove(chosen)).into_inner();
                    left -= inner.0.len() + usize::from(item.is_some());
                    continue;
                }
                1 => bucket.reconfigure(quota!(1_000 / second, burst 7), Carry::Keep),
                2 => bucket.reconfigure(wide, Carry::Keep),
                _ => {}
            }
            match streams[chosen].as_mut().poll_next(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Some(item)) => {
                    passed += item.unwrap();
                    left -= 1;
                }
                Poll::Ready(None) => drop(streams.remove(chosen)),
                Poll::Pending => {}
            }
            let earned = clock.now_nanos() / 1_000_000;
            assert!(passed <= BURST + earned, "seed {seed}: {passed} of {earned}");
        }
        assert_eq!((left, bucket.line().waiters()), (0, 0), "seed {seed}");
    }
}
