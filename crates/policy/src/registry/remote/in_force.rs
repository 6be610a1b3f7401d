//! A limiter on a server while its policy is in force.

use std::sync::Arc;

use sluicegate::compose::AnswerCounters;
use sluicegate::{Denied, Grant};

use super::RemoteLimits;
use crate::{ClassCounts, LimiterPolicy};

/// The limiter in force, and its policy.
pub(super) struct RemoteInForce {
    pub(super) policy: Arc<LimiterPolicy>,
    pub(super) limits: Arc<dyn RemoteLimits>,
    /// The answers to each class of the policy.
    classes: Box<[AnswerCounters]>,
}

impl RemoteInForce {
    pub(super) fn new(policy: Arc<LimiterPolicy>, limits: Arc<dyn RemoteLimits>) -> RemoteInForce {
        let classes = policy.kind.classes().iter().map(|_| AnswerCounters::new()).collect();
        RemoteInForce { policy, limits, classes }
    }

    /// Counts an answer to the class of the key, if the policy has classes.
    pub(super) fn count(&self, key: &str, permits: u64, answer: Result<&Grant, &Denied>) {
        if let Some(class) = self.policy.kind.class_index(key.as_bytes())
            && let Some(answers) = self.classes.get(class)
        {
            answers.count(permits, answer);
        }
    }

    /// Returns the answers to each class so far.
    pub(super) fn class_counts(&self) -> Vec<ClassCounts> {
        let classes = self.policy.kind.classes().iter().zip(&self.classes);
        classes
            .map(|(class, answers)| ClassCounts {
                name: class.name.clone(),
                counts: answers.counts(),
            })
            .collect()
    }
}
