//! The penalty of a limiter.

use sluicegate::{ConfigError, PenaltyRule};

use super::given::{Given, time, whole};
use super::{Checks, messages};
use crate::Penalty;
use crate::tree::{Node, Value};

const LONGEST: &str = "must be from `refuse_for` to 3650 days";

impl Checks<'_> {
    /// Checks the penalty, and returns it: the outer `None` is a mistake, the inner one no penalty.
    #[expect(clippy::option_option, reason = "a mistake is not the absence of the field")]
    pub(super) fn penalty(&mut self, given: &Given<'_>) -> Option<Option<Penalty>> {
        let Some(node) = given.get("penalty") else { return Some(None) };
        let rule = self.penalty_rule(given, node);
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

    fn penalty_rule(&mut self, given: &Given<'_>, node: &Node) -> Option<PenaltyRule> {
        let field = |name: &str| {
            let path = messages::path(&messages::path(given.prefix, "penalty"), name);
            (path, node.get(name))
        };
        let (offences, within) = (field("offences"), field("within"));
        if let Some(node) = offences.1
            && whole(node).is_some_and(|number| !(1..=PenaltyRule::MAX_OFFENCES).contains(&number))
        {
            let expected = messages::within(1, PenaltyRule::MAX_OFFENCES);
            return self.wrong(&offences.0, node, expected);
        }
        let offences = self.permits_per_period(&offences, &within, (&offences.0, node), None)?;
        let refuse_for = time(node.get("refuse_for")?)?;
        let rule = PenaltyRule::new(offences, refuse_for);
        let rule = match (rule, node.get("longest"), node.get("forgotten_after")) {
            (Ok(rule), Some(longest), forgotten_after) => {
                let longest = time(longest)?;
                let forgotten_after = forgotten_after.map_or(Some(longest), time)?;
                rule.doubled_up_to(longest, forgotten_after)
            }
            (Ok(_), None, Some(forgotten_after)) => {
                let label = "expected `longest` beside it: without it, each penalty is as long as the first";
                return self.wrong("penalty.forgotten_after", forgotten_after, label);
            }
            (rule, ..) => rule,
        };
        match rule {
            Ok(rule) => Some(rule),
            Err(error) => {
                let name = match error {
                    ConfigError::OffencePeriod { .. } => "within",
                    ConfigError::Penalty { .. } => "refuse_for",
                    ConfigError::LongestPenalty { .. } => "longest",
                    ConfigError::ForgottenAfter { .. } => "forgotten_after",
                    _ => "offences",
                };
                let (path, value) = field(name);
                let rule = match error {
                    ConfigError::LongestPenalty { .. } => LONGEST.to_owned(),
                    error => messages::rule(&error),
                };
                self.wrong(&path, value.unwrap_or(node), rule)
            }
        }
    }

    /// Returns whether refusals are offences, and the answers that are.
    fn offences(&mut self, by: &Node) -> (bool, Vec<crate::Filter>) {
        let nodes = match &by.value {
            Value::List(nodes) => nodes.iter().collect(),
            _ => vec![by],
        };
        let of_refusals = nodes.iter().any(|node| node.text() == Some("refusals"));
        let mut of_answers = Vec::new();
        for node in nodes.into_iter().filter(|node| node.table().is_some()) {
            if node.table().is_some_and(<[_]>::is_empty) {
                let label = "expected at least one field: this makes every request an offence";
                self.errors.push(self.wrong_value("penalty.by", node, label));
            }
            of_answers.push(self.filter("penalty.by", node));
        }
        (of_refusals, of_answers)
    }
}
