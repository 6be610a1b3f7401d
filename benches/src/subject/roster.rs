//! The limiters without keys that can be measured, ours and their peers, in the order of the
//! reports. (Stores of keys: `visit_all` in `keyed.rs`.)

use super::{
    Visitor, clocks, counted, lease, leaving, mutex_bucket, mutex_log, our_windows, ours, peers,
    window_peers,
};

/// Shows `visitor` every subject, in the order of the reports.
pub fn visit_all(visitor: &mut impl Visitor) {
    visitor.visit::<clocks::Without>();
    visitor.visit::<clocks::Quanta>();
    visitor.visit::<clocks::Coarse>();
    visitor.visit::<clocks::Monotonic>();

    ours::visit_all(visitor);
    visitor.visit::<lease::Leased>();
    visitor.visit::<leaving::Leaving>();
    visitor.visit::<counted::Counted>();

    visitor.visit::<peers::Governor>();
    visitor.visit::<peers::GovernorUpkeep>();
    visitor.visit::<peers::GovernorMonotonic>();
    visitor.visit::<peers::Quota>();
    visitor.visit::<peers::Ratelimit>();
    visitor.visit::<peers::Ratelock>();
    visitor.visit::<peers::TokioRateLimit>();
    visitor.visit::<peers::LeakyBucket>();
    visitor.visit::<mutex_bucket::MutexBucket>();

    our_windows::visit_all(visitor);

    visitor.visit::<window_peers::TowerFixed>();
    visitor.visit::<window_peers::TowerCounter>();
    visitor.visit::<window_peers::TowerLog>();
    visitor.visit::<window_peers::Trypema>();
    visitor.visit::<mutex_log::MutexLog>();
}
