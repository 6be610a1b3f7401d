//! Times the calls of some threads that share one limiter.
//!
//! Names read `contended/<op>/<limiter>/<threads>`. The time is that of the
//! slowest thread, over the calls that one thread made.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use crossbeam_utils::CachePadded;
use sluicegate_benches::life::Life;
use sluicegate_benches::round;
use sluicegate_benches::subject::{self, Op, Subject, Visitor};
use sluicegate_benches::verdict;

const THREADS: [usize; 2] = [2, 4];

/// Short, because all of it may be one run on one limiter: the fastest would use up
/// their burst.
const WARM_UP: Duration = Duration::from_millis(500);

fn main() {
    let mut criterion = Criterion::default().warm_up_time(WARM_UP).configure_from_args();
    for op in [Op::Allow, Op::Deny] {
        subject::visit_all(&mut Contended { op, criterion: &mut criterion });
    }
    criterion.final_summary();
}

struct Contended<'a> {
    op: Op,
    criterion: &'a mut Criterion,
}

impl Visitor for Contended<'_> {
    /// A denial must not write to the line that the threads share, so its time
    /// should not depend on their number.
    fn visit<S: Subject>(&mut self) {
        let op = self.op;
        if S::NAME.starts_with("clock/") {
            return;
        }
        let limit = S::limit(op);
        let mut group = self.criterion.benchmark_group(format!("contended/{op}"));
        for threads in THREADS {
            group.bench_function(BenchmarkId::new(S::NAME, threads), |bencher| {
                bencher.iter_custom(|calls| {
                    let life = Life::begin();
                    let subject = CachePadded::new(S::new(limit));
                    let (time, admitted) =
                        slowest(threads, || round::calls::<S>(&subject, &mut subject.own(), calls));
                    let made = calls * threads as u64;
                    let is_right = match op {
                        Op::Allow | Op::Full => admitted == made,
                        _ => admitted <= S::bound(limit, life.elapsed()),
                    };
                    let done = format_args!("admitted {admitted} of {made}");
                    verdict::expect(S::NAME, is_right, done);
                    time
                });
            });
        }
        group.finish();
    }
}

/// Starts `threads` threads together, each doing `work`. Returns the longest time, and
/// the sum of what they returned.
fn slowest(threads: usize, work: impl Fn() -> u64 + Sync) -> (Duration, u64) {
    let start = Barrier::new(threads);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    let began = Instant::now();
                    let result = work();
                    (began.elapsed(), result)
                })
            })
            .collect();
        let done = running.into_iter().map(|thread| thread.join().expect("no call panics"));
        done.fold((Duration::ZERO, 0), |(time, sum), (took, more)| (time.max(took), sum + more))
    })
}
