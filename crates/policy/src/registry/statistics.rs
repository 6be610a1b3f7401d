//! Counts and states of the limiters of a registry, for a monitor.

use sluicegate::compose::{AnswerCounters, Counts, DenialCounts, WaitCounts};
use sluicegate::{Grant, KeyedLimiter, Limiter, Wait};

use super::Registry;
use super::names::Form;
use super::place::Place;
use super::servers::{FallbackCounts, LeaseStatistics};
use super::shadow::{Shadow, ShadowCounts};
use super::unasked::{Unasked, UnaskedCounts};
use crate::{ClassCounts, CommonLimiter, ShareCounts};

/// The statistics of one limiter of a [`Registry`]: see [`Registry::statistics`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LimiterStatistics {
    /// The name.
    pub name: String,
    /// Answers by handles that were made after the registry was told to count them; `None` if it was not:
    /// see [`Registry::counted`].
    pub counts: Option<Counts>,
    /// The denials among them by kind. Those that `shadow` overrules are not. The permits are those of all denials.
    pub denials: Option<DenialCounts>,
    /// The other denials among them: those that the limiter was not asked for.
    pub unasked: UnaskedCounts,
    /// The time that callers have stood in line; `None` for a limiter with keys, for which it is not
    /// measured.
    pub waits: Option<WaitCounts>,
    /// The decisions while the policy had `shadow`.
    pub shadow: ShadowCounts,
    /// The answers that its server did not give; `None` for a limiter in memory.
    pub fallbacks: Option<FallbackCounts>,
    /// Leases of this process; `None` for a limiter that has none.
    pub leases: Option<LeaseStatistics>,
    /// The permits that tenants were granted, assured and borrowed; `None` for a limiter without shares.
    pub shares: Option<ShareCounts>,
    /// The answers to each class of requests; none for a limiter without classes.
    pub classes: Vec<ClassCounts>,
    /// The permits that are left and the limit, as a grant tells them; `None` for a limiter with keys.
    pub state: Option<Grant>,
    /// Callers in line. For a limiter with keys, the keys that are waited for.
    pub waiting: usize,
    /// The keys that have a state; `None` for a limiter without keys.
    pub keys: Option<usize>,
    /// The memory of the slots for keys, in bytes; `None` for a limiter without keys.
    pub memory_bytes: Option<usize>,
    /// The states that were healed after the clock had gone back.
    pub healed: u64,
}

impl Registry {
    /// Counts the answers of all limiters from now on, also of those to come: calls by handles that are
    /// made afterwards. So call it before any handle is made.
    ///
    /// A counted call takes more instructions, and one or two additions on a cache line of its thread's
    /// own: see [`AnswerCounters`](sluicegate::compose::AnswerCounters). A registry that does not count costs nothing more.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_policy::{Policies, Registry};
    ///
    /// let registry = Registry::new(Policies::from_toml("p.toml", r#"
    /// limiters.pages = { policy = "fixed_window", key = "all", limit = 2, interval = "1 day" }
    /// "#)?)?.counted();
    /// let pages = registry.limiter("pages")?;
    /// (0..5).for_each(|_| _ = pages.try_acquire(1));
    ///
    /// let [pages] = &registry.statistics()[..] else { panic!() };
    /// assert_eq!((pages.name.as_str(), pages.counts.unwrap().granted), ("pages", 2));
    /// assert_eq!(pages.denials.unwrap().rate, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "a clone is the same registry, so it is counted too"]
    pub fn counted(self) -> Registry {
        self.shared.names.count();
        self
    }

    /// Returns the statistics of each limiter that the file has, in the order of their names. Takes locks;
    /// allocates; goes over the whole store of a policy with `store = "table"`.
    #[must_use]
    pub fn statistics(&self) -> Vec<LimiterStatistics> {
        let names = self.names();
        names.iter().filter_map(|name| Some(statistics(name, &self.form(name).ok()?.1))).collect()
    }
}

fn statistics(name: &str, form: &Form) -> LimiterStatistics {
    match form {
        Form::One(slot) => {
            let in_line = slot.line.answers();
            let own = of_place(name, &slot.place);
            LimiterStatistics {
                counts: own.counts.map(|counts| counts.merged(in_line.counts())),
                denials: own.denials.map(|denials| denials.merged(in_line.denials())),
                waits: own.counts.map(|_| in_line.waits()),
                state: slot.line.peek(0).ok(),
                waiting: slot.line.line().waiters(),
                healed: slot.line.healed(),
                ..own
            }
        }
        // The server has the keys, and their states.
        Form::Remote(slot) => LimiterStatistics {
            fallbacks: Some(slot.fallbacks.counts()),
            leases: slot.leases(),
            shares: slot.share_counts(),
            classes: slot.class_counts(),
            ..counted(name, slot.answers.get(), &slot.unasked, &slot.shadow)
        },
        Form::Keys(slot) => {
            let in_force = slot.place.in_force();
            let common = in_force.limiter.common();
            let keys: &dyn KeyedLimiter<[u8]> = slot.line.store();
            LimiterStatistics {
                shares: common.and_then(CommonLimiter::counts),
                classes: common.map(CommonLimiter::class_counts).unwrap_or_default(),
                waiting: slot.line.lines(),
                keys: Some(keys.len()),
                memory_bytes: Some(keys.memory_bytes()),
                healed: keys.healed(),
                ..of_place(name, &slot.place)
            }
        }
    }
}

fn of_place<L>(name: &str, place: &Place<L>) -> LimiterStatistics {
    counted(name, place.answers.get(), &place.unasked, &place.shadow)
}

/// Returns the statistics that limiters of any form have.
fn counted(
    name: &str,
    answers: Option<&AnswerCounters>,
    unasked: &Unasked,
    shadow: &Shadow,
) -> LimiterStatistics {
    LimiterStatistics {
        name: name.to_owned(),
        counts: answers.map(|answers| unasked.added_to(answers.counts())),
        denials: answers.map(|answers| unasked.permits_added_to(answers.denials())),
        unasked: unasked.counts(),
        waits: None,
        shadow: shadow.counts(),
        fallbacks: None,
        leases: None,
        shares: None,
        classes: Vec::new(),
        state: None,
        waiting: 0,
        keys: None,
        memory_bytes: None,
        healed: 0,
    }
}
