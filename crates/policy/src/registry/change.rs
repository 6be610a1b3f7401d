//! Changes of a limiter in place, by the engine's live reconfiguration.
//!
//! Two numbers of a `MultiWindow`, a `Budget` or an `All` cannot be changed in one step. A decision in
//! between would be made by one number of the old terms and another of the new ones. So they change only
//! while decisions are void: see `generation.rs`.

use sluicegate::Quota;
use sluicegate::bucket::Carry;
use sluicegate::calendar::Weekday;

use super::limiter_of_kind::LimiterOfKind;
use crate::Kind;

/// The steps that a change may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// One: decisions go on meanwhile.
    One,
    /// Any number: decisions in between are void.
    Several,
}

impl LimiterOfKind {
    /// Changes the limiter from `old` to `new` numbers and returns true, or returns false if it cannot.
    ///
    /// If it returns false, it has changed nothing; or, in several steps, some numbers, and the limiter is
    /// to be replaced.
    pub(super) fn change(&self, old: &Kind, new: &Kind, steps: Steps) -> bool {
        if old == new {
            return true;
        }
        match (self, old, new) {
            (LimiterOfKind::TokenBucket(bucket), _, Kind::TokenBucket { quota, .. }) => {
                bucket.reconfigure(*quota, Carry::Keep);
                true
            }
            (LimiterOfKind::Gcra(cells), _, Kind::Gcra { interval, tolerance }) => {
                cells.reconfigure(*interval, *tolerance, Carry::Keep).is_ok()
            }
            (LimiterOfKind::LeakyBucket(bucket), _, Kind::LeakyMeter(quota)) => {
                bucket.reconfigure(*quota, Carry::Keep);
                true
            }
            (LimiterOfKind::LeakyBucket(bucket), _, Kind::LeakyMinInterval(rate)) => {
                let Ok(quota) = Quota::new(*rate).with_burst(1) else { return false };
                bucket.reconfigure(quota, Carry::Keep);
                true
            }
            (LimiterOfKind::CalendarWindow(window), _, _) => match (old, new) {
                (
                    Kind::CalendarWindow { calendar: before, .. },
                    Kind::CalendarWindow { limit, calendar },
                ) => before == calendar && window.reconfigure(*limit).is_ok(),
                _ => false,
            },
            (
                LimiterOfKind::Budget(budget),
                Kind::Budget { amounts: before, zone: old_zone },
                Kind::Budget { amounts, zone },
            ) => {
                let days = Weekday::ALL.into_iter().zip(before.iter().zip(amounts));
                let changed = days.filter(|(_, (before, amount))| before != amount);
                old_zone == zone
                    && each(steps, changed, |(day, (_, amount))| {
                        budget.reconfigure(day, *amount).is_ok()
                    })
            }
            (LimiterOfKind::MultiWindow(windows), _, _) => match (old, new) {
                (
                    Kind::MultiWindow { limits: before, slots: old_slots },
                    Kind::MultiWindow { limits, slots },
                ) => {
                    let is_alike = old_slots == slots
                        && before.len() == limits.len()
                        && before.iter().zip(limits).all(|(a, b)| a.period() == b.period());
                    let pairs = before.iter().zip(limits).enumerate();
                    let changed = pairs.filter(|(_, (before, limit))| before != limit);
                    is_alike
                        && each(steps, changed, |(which, (_, limit))| {
                            windows.reconfigure(which, limit.permits()).is_ok()
                        })
                }
                _ => false,
            },
            (LimiterOfKind::All(all), Kind::All(before), Kind::All(parts)) => {
                let pairs = all.limiters().iter().zip(before.iter().zip(parts));
                let changed = pairs.filter(|(_, (before, part))| before != part);
                before.len() == parts.len()
                    && each(steps, changed, |(limiter, (before, part))| {
                        limiter.change(before, part, steps)
                    })
            }
            _ => self.change_window(old, new),
        }
    }

    /// Changes a window of a single limit.
    fn change_window(&self, old: &Kind, new: &Kind) -> bool {
        let (Some(before), Some(limit)) = (old.window(), new.window()) else { return false };
        if before.period() != limit.period() || old.with_window(limit).as_ref() != Some(new) {
            return false;
        }
        self.set_limit(limit.permits())
    }
}

/// Makes each of the changes, unless there are more than the steps allow.
fn each<T>(
    steps: Steps,
    mut changes: impl Iterator<Item = T> + Clone,
    change: impl FnMut(T) -> bool,
) -> bool {
    (steps == Steps::Several || changes.clone().count() == 1) && changes.all(change)
}
