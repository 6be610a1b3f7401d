//! Times a call where each key has a limit of its own, and one thread asks.
//!
//! Names read `keyed/<op>/<kind of key>/<limiter>`. For a store that is asked for several
//! keys at once, the time is that of one key.

use std::time::{Duration, Instant};

use criterion::Criterion;
use sluicegate_benches::keyed::turn::{Full, calls};
use sluicegate_benches::keyed::{self, Key, Skew, Store, Visitor, each, sequence};
use sluicegate_benches::subject::Op;
use sluicegate_benches::verdict;

/// More than a cache close to the processor holds.
const KEYS: u64 = 100_000;

/// Keys that are asked for between two readings of the time, however many a call asks for.
const BATCH: u64 = 256;

/// Short, so that no key uses up its burst.
const WARM_UP: Duration = Duration::from_millis(500);

fn main() {
    let mut criterion = Criterion::default().warm_up_time(WARM_UP).configure_from_args();
    for op in [Op::Allow, Op::Deny, Op::Insert] {
        keyed::visit_all::<u64>(&mut OneThread { op, criterion: &mut criterion });
        keyed::visit_all::<String>(&mut OneThread { op, criterion: &mut criterion });
    }
    criterion.final_summary();
}

struct OneThread<'a> {
    op: Op,
    criterion: &'a mut Criterion,
}

impl<K: Key> Visitor<K> for OneThread<'_> {
    /// Asks for a known key, for one over its limit, and for a new one: a store looks up
    /// all of them, and writes to two.
    fn visit<S: Store<K>>(&mut self) {
        let op = self.op;
        if !S::takes(op, Skew::Uniform) {
            return;
        }
        let mut group = self.criterion.benchmark_group(format!("keyed/{op}/{}", K::NAME));
        if op == Op::Insert {
            let mut keys = None;
            group.bench_function(S::NAME, |bencher| {
                let keys = keys.get_or_insert_with(|| each::<K>(KEYS));
                bencher.iter_custom(|calls| insert::<K, S>(keys, calls));
            });
        } else {
            let mut drawn = None;
            group.bench_function(S::NAME, |bencher| {
                let make = || (Full::<S>::new::<K>(op, KEYS, 0), sequence(Skew::Uniform, KEYS, 0));
                let (full, keys) = drawn.get_or_insert_with(make);
                bencher.iter_custom(|calls| ask::<K, S>(full.store(), op, keys, calls));
            });
        }
        group.finish();
    }
}

/// Returns the time of `count` calls, estimated from whole batches.
fn ask<K: Key, S: Store<K>>(store: &S, op: Op, keys: &[K], count: u64) -> Duration {
    let batches = count.div_ceil(BATCH);
    let mut admitted = 0;
    let began = Instant::now();
    for keys in keys.chunks_exact(BATCH as usize).cycle().take(batches as usize) {
        admitted += calls(store, keys);
    }
    let time = began.elapsed();
    let asked = batches * BATCH;
    let is_right = match op {
        Op::Allow => keyed::are_all::<K, S>(admitted, asked),
        _ => admitted * 100 <= asked,
    };
    verdict::expect(S::NAME, is_right, format_args!("admitted {admitted} of {asked}"));
    part(time, count, asked)
}

/// Returns the time of `count` calls, estimated from stores filled with all of `keys`.
fn insert<K: Key, S: Store<K>>(keys: &[K], count: u64) -> Duration {
    let mut time = Duration::ZERO;
    let fillings = count.div_ceil(KEYS);
    for _ in 0..fillings {
        let store = S::new(keyed::limit(Op::Insert), KEYS);
        let began = Instant::now();
        let admitted = calls(&store, keys);
        time += began.elapsed();
        let asked = KEYS / S::AT_ONCE as u64 * S::AT_ONCE as u64;
        let is_right = keyed::are_all::<K, S>(admitted, asked);
        verdict::expect(S::NAME, is_right, format_args!("admitted {admitted} of {asked}"));
    }
    part(time, count, fillings * KEYS)
}

#[expect(clippy::cast_precision_loss, reason = "they are counts of a second's calls")]
fn part(time: Duration, count: u64, of: u64) -> Duration {
    time.mul_f64(count as f64 / of as f64)
}
