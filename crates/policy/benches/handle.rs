//! Times a decision by the handle of a registry beside one by the bare limiter.
//!
//! Both are called in turns, a batch each, so that a busy machine slows both; the median of the
//! batches is shown. `cargo bench -p sluicegate-policy --bench handle`. Without `--bench`, which `cargo bench`
//! gives, a single batch tells that it works.
//!
//! `... -- count CASE bare|handle CALLS` only makes so many calls, for a program that counts instructions:
//! the difference of two runs is that of their calls.

use std::env;
use std::hint::black_box;
use std::time::Instant;

use sluicegate::window::WindowFromFirst;
use sluicegate::{Gcra, KeyedLimiter, Limiter, SlidingWindow, TokenBucket};
use sluicegate_policy::{Policies, Registry};

const CALLS: u32 = 20_000;
const BATCHES: usize = 501;

/// Rates that are never used up, so that every decision is an admission.
const POLICY: &str = r#"
[limiters.bucket]
policy = "token_bucket"
key = "all"
limit = 1_000_000
rate = { amount = 1_000_000_000, interval = "1 second" }

[limiters.empty]
policy = "token_bucket"
key = "all"
limit = 1
rate = { amount = 1, interval = "30 days" }

[limiters.gcra]
policy = "gcra"
key = "all"
interval = "1 ns"
tolerance = "1 s"

[limiters.sliding]
policy = "sliding_window"
key = "all"
limit = 1_000_000_000
interval = "1 second"

[limiters.first]
policy = "fixed_window"
key = "all"
limit = 1_000_000_000
interval = "1 second"

[limiters.keys]
policy = "token_bucket"
key = "user"
limit = 1_000_000
rate = { amount = 1_000_000_000, interval = "1 second" }
"#;

fn main() {
    let policies = Policies::from_toml("bench.toml", POLICY).expect("a policy");
    let registry = Registry::new(policies).expect("limiters");
    if counted().is_none() {
        println!("{:<34} {:>8} {:>8} {:>8}", "ns a call", "bare", "handle", "ratio");
    }

    macro_rules! beside {
        ($name:literal, $Limiter:ty) => {
            let bare = registry.typed::<$Limiter>($name).expect("one of this type");
            let handle = registry.limiter($name).expect("one of this name");
            let erased: Box<dyn Limiter> = Box::new(handle.clone());
            show($name, || bare.try_acquire(1).is_ok(), || handle.try_acquire(1).is_ok());
            let bare_erased: Box<dyn Limiter> = Box::new(bare.clone());
            show(
                concat!($name, ", both erased"),
                || black_box(&bare_erased).try_acquire(1).is_ok(),
                || black_box(&erased).try_acquire(1).is_ok(),
            );
        };
    }
    beside!("bucket", TokenBucket);
    beside!("empty", TokenBucket);
    beside!("gcra", Gcra);
    beside!("sliding", SlidingWindow);
    beside!("first", WindowFromFirst);

    let bare = sluicegate::Keyed::<Vec<u8>>::new(
        sluicegate::Quota::per_second(1_000_000_000)
            .and_then(|quota| quota.with_burst(1_000_000))
            .expect("a quota"),
    );
    let keys = registry.keyed("keys").expect("one with keys");
    let erased: Box<dyn KeyedLimiter<str>> = Box::new(keys.clone());
    let key: &[u8] = b"ada";
    show("keys", || bare.try_acquire(key, 1).is_ok(), || keys.try_acquire("ada", 1).is_ok());
    let bare: Box<dyn KeyedLimiter<[u8]>> = Box::new(bare);
    show(
        "keys, both erased",
        || black_box(&bare).try_acquire(key, 1).is_ok(),
        || black_box(&erased).try_acquire("ada", 1).is_ok(),
    );

    let replaced = registry.limiter("bucket").expect("one of this name");
    let text = POLICY.replacen("token_bucket", "leaky_bucket", 1).replacen(
        "key",
        "mode = \"meter\"\nkey",
        1,
    );
    registry.reload(Policies::from_toml("bench.toml", &text).expect("a policy")).expect("terms");
    let fresh = replaced.clone();
    show(
        "replaced: fresh, stale handle",
        || fresh.try_acquire(1).is_ok(),
        || replaced.try_acquire(1).is_ok(),
    );
}

/// Prints the medians of both, and of their ratio.
fn show(name: &str, bare: impl Fn() -> bool, handle: impl Fn() -> bool) {
    if let Some((case, of_handle, calls)) = counted() {
        if case == name {
            if of_handle { count(handle, calls) } else { count(bare, calls) }
        }
        return;
    }
    let batches = if env::args().any(|argument| argument == "--bench") { BATCHES } else { 1 };
    let mut times: Vec<[f64; 2]> = (0..batches).map(|_| [batch(&bare), batch(&handle)]).collect();
    let mut median = |of: fn(&[f64; 2]) -> f64| {
        times.sort_by(|a, b| of(a).total_cmp(&of(b)));
        of(&times[batches / 2])
    };
    let (bare, handle) = (median(|times| times[0]), median(|times| times[1]));
    println!("{name:<34} {bare:>8.2} {handle:>8.2} {:>8.3}", median(|times| times[1] / times[0]));
}

/// Returns the nanoseconds that a call of `call` takes.
#[inline(never)]
fn batch(call: &impl Fn() -> bool) -> f64 {
    let begin = Instant::now();
    for _ in 0..CALLS {
        black_box(call());
    }
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

/// Makes so many calls: with callgrind, `--toggle-collect='*count*'` counts what is in here.
#[inline(never)]
fn count(call: impl Fn() -> bool, calls: u32) {
    for _ in 0..calls {
        black_box(call());
    }
}

/// Returns the case whose calls are to be counted, whether by the handle, and how many.
fn counted() -> Option<(String, bool, u32)> {
    let mut arguments = env::args().skip_while(|argument| argument != "count").skip(1);
    let (case, of, calls) = (arguments.next()?, arguments.next()?, arguments.next()?);
    Some((case, of == "handle", calls.parse().ok()?))
}
