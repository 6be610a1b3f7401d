//! A limiter as a policy describes it.

use std::time::Duration;

use crate::{Cost, Filter, KeyPart, Kind, Named, Overrides, Penalty, RedisStore, Store};

/// One named limiter of a policy: what it limits, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterPolicy {
    /// The name, from 1 to 200 characters. No two limiters of a policy have the same.
    pub name: String,
    /// Parts of a request; requests that agree in all of them share one limiter. At least one.
    pub key: Vec<KeyPart>,
    /// The algorithm and its numbers.
    pub kind: Kind,
    /// The requests that it judges.
    pub filter: Filter,
    /// Requests that it does not judge all the same.
    pub except: Vec<Filter>,
    /// The permits that a request asks for.
    pub cost: Cost,
    /// The penalty of keys that offend, if there is one.
    pub penalty: Option<Penalty>,
    /// The store of its keys in the memory of the process.
    pub store: Store,
    /// The server that has its keys instead, if several machines share them.
    pub redis: Option<RedisStore>,
    /// The longest that a request waits for its permits; `None` if it is refused at once.
    pub wait: Option<Duration>,
    /// True if it only counts what it would deny.
    pub shadow: bool,
    /// True if its keys on a server may start full when a reload gives them another kind, window or place there. Otherwise the
    /// reload is refused: a server cannot carry over what was used.
    pub reset: bool,
    /// Keys, and networks of clients, that have numbers of their own, by the same algorithm.
    pub overrides: Overrides,
}

impl LimiterPolicy {
    /// Returns the headers and columns that its key, its filters, its penalty and its cost need, in alphabetical
    /// order and each once.
    #[must_use]
    pub fn named(&self) -> Vec<Named> {
        let of_filter = |filter: &Filter| -> Vec<Named> {
            filter.named.iter().map(|(named, _)| named.clone()).collect()
        };
        let mut all: Vec<Named> = self.key.iter().filter_map(KeyPart::named).cloned().collect();
        all.extend(of_filter(&self.filter));
        all.extend(self.except.iter().flat_map(of_filter));
        all.extend(self.penalty.iter().flat_map(|own| &own.of_answers).flat_map(of_filter));
        match &self.cost {
            Cost::Named(cost) => all.push(cost.named.clone()),
            Cost::Rules(rules) => all.extend(rules.iter().flat_map(|rule| of_filter(&rule.filter))),
            Cost::Permits(_) | Cost::Bytes => {}
        }
        all.sort();
        all.dedup();
        all
    }

    /// Returns the numbers that hold for a key: those of its [override](Overrides::of), or the limiter's own.
    #[must_use]
    pub fn kind_of(&self, key: &[u8]) -> &Kind {
        self.overrides.of(key).unwrap_or(&self.kind)
    }
}
