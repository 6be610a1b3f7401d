//! The penalty of a limiter.

use std::ops::RangeInclusive;
use std::time::Duration;

use sluicegate::Rate;
use sluicegate::penalty::PenaltyRule;

use super::given::{Given, many, time, whole};
use super::{Checks, messages};
use crate::Penalty;
use crate::tree::Node;

const TIMES: RangeInclusive<Duration> = Duration::from_nanos(1)..=PenaltyRule::MAX_TIME;
const RANGE: &str = "must be from 1 ns to 3650 days";
const TOO_FAST: &str =
    "must be at most 2^31 offences per second: a longer `within`, or fewer `offences`";
const LONGEST: &str = "must be from `refuse_for` to 3650 days";

impl Checks<'_> {
    /// Checks the penalty, and returns it: the outer `None` is a mistake, the inner one no penalty.
    #[expect(clippy::option_option, reason = "a mistake is not the absence of the field")]
    pub(super) fn penalty(&mut self, given: &Given<'_>) -> Option<Option<Penalty>> {
        let Some(node) = given.get("penalty") else { return Some(None) };
        let rule = self.penalty_rule(node);
        let (of_refusals, of_answers) = match node.get("by") {
            None => (true, Vec::new()),
            Some(by) => self.offences(by),
        };
        let max_keys = match node.get("max_keys") {
            None => Some(Penalty::MAX_KEYS),
            Some(node) => match whole(node) {
                Some(0) => self.wrong("penalty.max_keys", node, messages::ONE_OR_MORE),
                keys => keys.map(|keys| usize::try_from(keys).unwrap_or(usize::MAX)),
            },
        };
        Some(Some(Penalty { rule: rule?, of_refusals, of_answers, max_keys: max_keys? }))
    }

    /// Returns the rule, of which each field is checked by itself: so all mistakes are told at once.
    fn penalty_rule(&mut self, node: &Node) -> Option<PenaltyRule> {
        let offences = node.get("offences").and_then(|node| self.number_of_offences(node));
        let [within, refuse_for, forgotten_after] = ["within", "refuse_for", "forgotten_after"]
            .map(|name| {
                let field = format!("penalty.{name}");
                node.get(name).map(|node| self.time_within(&field, node, TIMES, RANGE))
            });
        let longest = node.get("longest");
        if let (None, Some(forgotten_after)) = (longest, node.get("forgotten_after")) {
            let label =
                "expected `longest` beside it: without it, each penalty is as long as the first";
            return self.wrong("penalty.forgotten_after", forgotten_after, label);
        }
        // The number and the period are in their ranges.
        let Ok(offences) = Rate::new(offences?, within??) else {
            return self.wrong("penalty", node, TOO_FAST);
        };
        let rule = PenaltyRule::new(offences, refuse_for??).ok()?;
        let Some(longest) = longest else { return Some(rule) };
        let length = time(longest)?;
        match rule.doubled_up_to(length, forgotten_after.unwrap_or(Some(length))?) {
            Ok(rule) => Some(rule),
            Err(_) => self.wrong("penalty.longest", longest, LONGEST),
        }
    }

    fn number_of_offences(&mut self, node: &Node) -> Option<u64> {
        let offences = whole(node)?;
        if (1..=PenaltyRule::MAX_OFFENCES).contains(&offences) {
            return Some(offences);
        }
        let expected = messages::within(1, PenaltyRule::MAX_OFFENCES);
        self.wrong("penalty.offences", node, expected)
    }

    /// Returns whether refusals are offences, and the answers that are.
    fn offences(&mut self, by: &Node) -> (bool, Vec<crate::Filter>) {
        let nodes = many(by);
        let of_refusals = nodes.iter().any(|node| node.text() == Some("refusals"));
        let mut of_answers = Vec::new();
        for node in nodes.iter().filter(|node| node.table().is_some()) {
            if node.table().is_some_and(<[_]>::is_empty) {
                let label = "expected at least one field: this makes every request an offence";
                self.errors.push(self.wrong_value("penalty.by", node, label));
            }
            of_answers.push(self.filter("penalty.by", node));
        }
        (of_refusals, of_answers)
    }
}
