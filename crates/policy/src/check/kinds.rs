//! The kinds of limiters that a policy can name: their fields, and how these are read.

use std::sync::LazyLock;

use sluicegate::Rate;

use super::Checks;
use super::given::{Given, time, whole};
use crate::Kind;

/// A kind of limiter, and the fields that only some kinds have.
pub(crate) struct KindFields {
    pub(crate) policy: &'static str,
    pub(crate) mode: Option<&'static str>,
    pub(crate) needed: &'static [&'static str],
    /// It needs exactly one of these.
    pub(crate) either: &'static [&'static str],
    pub(crate) optional: &'static [&'static str],
    pub(crate) about: &'static str,
    /// True if a level of a hierarchy may be of this kind: if it can be settled.
    pub(crate) in_levels: bool,
    /// True if a server can keep it.
    pub(crate) on_servers: bool,
    /// True if all keys have one limiter in common: then it has no overrides, no line and no other store here, and is part of no
    /// other.
    pub(crate) is_common: bool,
    /// Reads the fields, and reports those that are out of range.
    pub(super) read: fn(&mut Checks<'_>, &Given<'_>) -> Option<Kind>,
}

impl KindFields {
    /// Returns the fields of the kind, without those that every limiter may have.
    pub(crate) fn own(&self) -> impl Iterator<Item = &'static str> {
        self.needed.iter().chain(self.either).chain(self.optional).copied()
    }

    /// Returns its name in messages.
    pub(super) fn shown(&self) -> String {
        match self.mode {
            Some(mode) => format!("{} as a {mode}", self.policy),
            None => self.policy.to_owned(),
        }
    }
}

/// Returns the names of the kinds for which this is true, each once.
pub(crate) fn kind_names(has: impl Fn(&KindFields) -> bool) -> Vec<&'static str> {
    let mut names: Vec<_> = KINDS.iter().filter(|kind| has(kind)).map(|kind| kind.policy).collect();
    names.dedup();
    names
}

/// The names of all kinds.
pub(crate) static POLICIES: LazyLock<Vec<&str>> = LazyLock::new(|| kind_names(|_| true));

const KIND: KindFields = KindFields {
    policy: "",
    mode: None,
    needed: &[],
    either: &[],
    optional: &[],
    about: "",
    in_levels: false,
    on_servers: false,
    is_common: false,
    read: |_, _| None,
};

/// The kinds of limiters.
pub(crate) static KINDS: &[KindFields] = &[
    KindFields {
        policy: "token_bucket",
        needed: &["limit", "rate"],
        optional: &["refill", "initial", "max_debt"],
        about: "Holds at most `limit` tokens, and earns `amount` in every `interval`.",
        in_levels: true,
        on_servers: true,
        read: |checks, given| checks.token_bucket(given),
        ..KIND
    },
    KindFields {
        policy: "gcra",
        needed: &["interval", "tolerance"],
        about: "A request every `interval`, each up to `tolerance` early.",
        on_servers: true,
        read: |_, given| {
            let [interval, tolerance] = ["interval", "tolerance"].map(|field| given.get(field));
            Some(Kind::Gcra { interval: time(interval?)?, tolerance: time(tolerance?)? })
        },
        ..KIND
    },
    KindFields {
        policy: "leaky_bucket",
        mode: Some("meter"),
        needed: &["limit", "rate"],
        optional: &["max_debt"],
        about: "Each request adds to a level, which leaks at the rate and never exceeds `limit`.",
        on_servers: true,
        read: |checks, given| checks.quota(given).map(Kind::LeakyMeter),
        ..KIND
    },
    KindFields {
        policy: "leaky_bucket",
        mode: Some("min_interval"),
        either: &["rate", "interval"],
        about: "Requests are at least `interval` apart.",
        on_servers: true,
        read: |checks, given| checks.apart(given).map(Kind::LeakyMinInterval),
        ..KIND
    },
    KindFields {
        policy: "fixed_window",
        needed: &["limit", "interval"],
        optional: &["start"],
        about: "At most `limit` permits in each window; then the count starts again.",
        in_levels: true,
        on_servers: true,
        read: |checks, given| match given.word("start") {
            Some("epoch") => checks.window(given, Kind::FixedWindow),
            None | Some("first") => checks.window(given, Kind::WindowFromFirst),
            _ => None,
        },
        ..KIND
    },
    KindFields {
        policy: "sliding_window",
        needed: &["limit", "interval"],
        optional: &["slots"],
        about: "At most `limit` permits in any interval, which moves on by one slot at a time.",
        in_levels: true,
        on_servers: true,
        read: |checks, given| {
            let slots = checks.slots(given);
            let kind = |limit| Kind::SlidingWindow { limit, slots: slots.unwrap_or(1) };
            checks.window(given, kind).filter(|_| slots.is_some())
        },
        ..KIND
    },
    KindFields {
        policy: "sliding_counter",
        needed: &["limit", "interval"],
        about: "An estimate from this window's count and a part of the last one's.",
        in_levels: true,
        on_servers: true,
        read: |checks, given| checks.counter(given),
        ..KIND
    },
    KindFields {
        policy: "sliding_log",
        needed: &["limit", "interval"],
        about: "At most `limit` requests in any interval, exact to the nanosecond.",
        on_servers: true,
        read: |checks, given| checks.window(given, Kind::SlidingLog),
        ..KIND
    },
    KindFields {
        policy: "weighted_log",
        needed: &["limit", "interval"],
        optional: &["capacity"],
        about: "At most `limit` permits in any interval; requests may take more than one.",
        on_servers: true,
        read: |checks, given| {
            let capacity = given.get("capacity").map(|node| whole(node).map(all_places));
            let kind = |limit: Rate| {
                let capacity = capacity.flatten().unwrap_or(limit.permits());
                Kind::WeightedLog { limit, capacity }
            };
            checks.window(given, kind).filter(|_| capacity != Some(None))
        },
        ..KIND
    },
    KindFields {
        policy: "multi_window",
        needed: &["limits"],
        optional: &["slots"],
        about: "Several sliding windows over the same requests.",
        in_levels: true,
        read: |checks, given| checks.multi_window(given),
        ..KIND
    },
    KindFields {
        policy: "calendar_window",
        needed: &["limit", "every"],
        optional: &["zone"],
        about: "At most `limit` permits in each minute, hour, day, week or month of a time zone.",
        in_levels: true,
        read: |checks, given| checks.calendar_window(given),
        ..KIND
    },
    KindFields {
        policy: "budget",
        // Needed unless every day has an amount of its own.
        optional: &["amount", "on", "zone"],
        about: "An amount for each day, and others for some days of the week.",
        in_levels: true,
        read: |checks, given| checks.budget(given),
        ..KIND
    },
    KindFields {
        policy: "all",
        needed: &["of"],
        about: "Limiters of any kind, all or nothing.",
        in_levels: true,
        read: |checks, given| checks.all(given),
        ..KIND
    },
    KindFields {
        policy: "shares",
        needed: &["limit", "rate", "shares"],
        about: "One bucket for all keys. Each is a tenant with an assured part of it, and may borrow what others leave idle.",
        on_servers: true,
        is_common: true,
        read: |checks, given| checks.shares(given),
        ..KIND
    },
    KindFields {
        policy: "priorities",
        needed: &["limit", "rate", "classes"],
        about: "One bucket for all keys. Each is of a class, which leaves a reserve to more important ones.",
        on_servers: true,
        is_common: true,
        read: |checks, given| checks.priorities(given),
        ..KIND
    },
];

/// Returns the largest capacity that takes no more memory than `capacity`: the engine's log has
/// a power of two of entries, and two of them have another use.
fn all_places(capacity: u64) -> u64 {
    match capacity.checked_add(2).and_then(u64::checked_next_power_of_two) {
        Some(places) if capacity > 0 => places - 2,
        _ => capacity,
    }
}
