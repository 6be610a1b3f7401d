//! The peers that count a window, each set up for its fastest way to ask for one
//! permit.
//!
//! tower-resilience has no function that asks for a permit: its limiter is private
//! to a tower service. So the timed call is one of that service, around an inner service
//! that does nothing: the boxed future that the call returns is polled once,
//! with a waker that does nothing, under no runtime. With a timeout of 0 that poll
//! always has the answer. Its other mode asks in `poll_ready`, without a box, but a
//! denial there starts a timer of tokio, which needs a runtime.
//!
//! trypema has such a function, `inc` of its local provider.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tower::{Layer, Service};
use tower_resilience_ratelimiter::{RateLimiter, RateLimiterLayer, WindowType};
use trypema::local::LocalRateLimiterProvider;
use trypema::{RateLimit, RateLimitDecision, RateLimiterBuilder as _, WindowSize};

use super::{Limit, Op, Subject, shared, windows};

/// The service behind the limiter: the least that there can be.
#[derive(Clone)]
pub(super) struct Nothing;

impl Service<()> for Nothing {
    type Response = ();
    type Error = Infallible;
    type Future = Ready<Result<(), Infallible>>;

    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, (): ()) -> Self::Future {
        ready(Ok(()))
    }
}

/// Returns a limiter with `limit`, around a service that does nothing.
fn tower(window_type: WindowType, limit: Limit) -> RateLimiter<Nothing> {
    let layer = RateLimiterLayer::builder()
        .window_type(window_type)
        .limit_for_period(limit.permits as usize)
        .refresh_period(limit.period)
        .timeout_duration(Duration::ZERO)
        // The name is copied for each call, and copying this one allocates nothing.
        .name("")
        .build()
        .expect("the limit is in range");
    layer.layer(Nothing)
}

#[inline]
fn call(service: &mut RateLimiter<Nothing>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    let is_ready = service.poll_ready(&mut context).is_ready();
    is_ready && matches!(service.call(()).as_mut().poll(&mut context), Poll::Ready(Ok(())))
}

macro_rules! tower_resilience {
    ($Subject:ident, $window_type:ident, $name:literal) => {
        pub(super) struct $Subject(RateLimiter<Nothing>);

        impl Subject for $Subject {
            const NAME: &'static str = $name;
            const BASELINE: &'static str = "mutex_log";
            const OPS: &'static [Op] = Op::OF_WINDOWS;

            fn limit(op: Op) -> Limit {
                windows::window(op)
            }

            fn bound(limit: Limit, life: Duration) -> u64 {
                windows::bound(limit, life)
            }

            fn new(limit: Limit) -> $Subject {
                $Subject(tower(WindowType::$window_type, limit))
            }

            // Each thread calls a clone of its own, as tower intends: a call takes the
            // service by `&mut`. Cloning it for each call would add four atomic
            // operations that are not the limiter's.
            type Own<'a> = RateLimiter<Nothing>;

            fn own(&self) -> RateLimiter<Nothing> {
                self.0.clone()
            }

            #[inline]
            fn try_one(&self, service: &mut RateLimiter<Nothing>) -> bool {
                call(service)
            }
        }
    };
}

tower_resilience!(TowerFixed, Fixed, "tower-resilience/fixed");
tower_resilience!(TowerCounter, SlidingCounter, "tower-resilience/sliding_counter");
tower_resilience!(TowerLog, SlidingLog, "tower-resilience/sliding_log");

/// Keyed only, by `&str`: one key. Its windows are whole seconds; it counts by the
/// tenth of a second, so a long window costs it no memory. Two threads may both be
/// admitted to the last permit, because its check and its count are two steps.
pub(super) struct Trypema {
    provider: Arc<LocalRateLimiterProvider>,
    rate: RateLimit,
}

impl Subject for Trypema {
    const NAME: &'static str = "trypema";
    const BASELINE: &'static str = "mutex_log";
    const OPS: &'static [Op] = Op::OF_WINDOWS;

    fn limit(op: Op) -> Limit {
        windows::window_of_seconds(op)
    }

    fn bound(limit: Limit, life: Duration) -> u64 {
        windows::bound(limit, life)
    }

    #[expect(clippy::cast_precision_loss, reason = "its rates are floating-point")]
    fn new(limit: Limit) -> Trypema {
        let seconds = limit.period.as_secs();
        let provider = LocalRateLimiterProvider::builder()
            .window_size(WindowSize::seconds(seconds).expect("no window here is 0 s"))
            // Without the thread that looks for idle keys.
            .disable_cleanup()
            .build()
            .expect("the window is longer than its tenth of a second");
        let rate = RateLimit::per_second(limit.permits as f64 / seconds as f64)
            .expect("the rate is in range");
        Trypema { provider, rate }
    }

    shared!();

    #[inline]
    fn try_one(&self, (): &mut ()) -> bool {
        self.provider.absolute().inc("key", &self.rate, 1) == RateLimitDecision::Allowed
    }
}
