//! Times one call of a thread that has the limiter to itself.
//!
//! Names read `uncontended/<op>/<limiter>`.

use std::hint::black_box;
use std::time::Duration;

use criterion::Criterion;
use sluicegate_benches::life::Life;
use sluicegate_benches::round;
use sluicegate_benches::subject::{self, Op, Subject, Visitor};
use sluicegate_benches::verdict;

/// Short, because all of it may be one run on one limiter: the fastest would use up
/// their burst.
const WARM_UP: Duration = Duration::from_millis(500);

fn main() {
    let mut criterion = Criterion::default().warm_up_time(WARM_UP).configure_from_args();
    for op in [Op::Allow, Op::Deny] {
        subject::visit_all(&mut Uncontended { op, criterion: &mut criterion });
    }
    criterion.final_summary();
}

struct Uncontended<'a> {
    op: Op,
    criterion: &'a mut Criterion,
}

impl Visitor for Uncontended<'_> {
    /// Admission and denial are timed apart: they do different things, and an
    /// overloaded service does mostly the second.
    fn visit<S: Subject>(&mut self) {
        let op = self.op;
        if S::NAME.starts_with("clock/") {
            return;
        }
        let limit = S::limit(op);
        let mut group = self.criterion.benchmark_group(format!("uncontended/{op}"));
        group.bench_function(S::NAME, |bencher| {
            let life = Life::begin();
            let subject = S::new(limit);
            let mut own = subject.own();
            let own = black_box(&mut own);
            let (mut made, mut admitted) = (0, 0);
            bencher.iter(|| {
                made += 1;
                admitted += u64::from(round::call(&subject, own));
            });
            let is_right = match op {
                Op::Allow | Op::Full => admitted == made,
                _ => admitted <= S::bound(limit, life.elapsed()),
            };
            verdict::expect(S::NAME, is_right, format_args!("admitted {admitted} of {made}"));
        });
        group.finish();
    }
}
