//! A request of a client, put to the limiters of a policy file.

use sluicegate_policy::{RequestFields, Subject};

use super::answer::Answer;
use super::ask::Ask;
use super::several::AllOrNone;
use crate::limiters::InForce;

/// The decision on a request.
#[derive(Debug)]
pub struct Judged<'l> {
    /// The answers of the limiters that judge it, in the order of their names.
    pub answers: Vec<Answer<'l>>,
    /// Index of the answer that denies it; `None` if the request may go on.
    pub denied_by: Option<usize>,
}

/// Puts a request to all limiters whose policies judge it, or to those of `names`: all grant it, or
/// nothing is taken, as far as [`AllOrNone`] says.
///
/// Each policy makes the key and the cost of the request, as for a line of a log in a replay.
pub async fn judge<'l>(
    in_force: &'l InForce,
    names: Option<&[&str]>,
    request: &impl RequestFields,
) -> Judged<'l> {
    let mut asks = Vec::new();
    for limiter in in_force.all() {
        if names.is_some_and(|names| !names.contains(&limiter.name())) {
            continue;
        }
        let (policy, mut key) = (limiter.policy(), Vec::new());
        match policy.subject(request, &mut key) {
            Subject::NotJudged | Subject::Admitted => {}
            Subject::Denied if policy.shadow => {}
            Subject::Denied => {
                limiter.count_missing_key(policy.cost.fixed().unwrap_or(1));
                let answers = vec![Answer::without_key(limiter.name())];
                return Judged { answers, denied_by: Some(0) };
            }
            Subject::Key { permits } => {
                // The key of all requests is no key to a limiter without.
                if !limiter.has_keys() {
                    key.clear();
                }
                asks.push(Ask::new(limiter, key, Some(permits)));
            }
        }
    }
    let AllOrNone { which, answers, .. } = AllOrNone::take(&asks).await;
    Judged { answers, denied_by: which }
}
