//! Questions to the levels of a hierarchy.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sluicegate_policy::{LevelAnswer, LevelAnswers};
use utoipa::ToSchema;

use super::answer::{Answer, Decision};
use super::whole;
use crate::bounded_key::bound_text;

/// A question to all levels of the policy file.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelsCheck {
    /// A value for each name in the `key` of a level.
    #[schema(example = json!({ "org": "acme", "user": "ada" }))]
    pub fields: BTreeMap<String, String>,
    /// A number for each name in the `counts` of a level.
    #[serde(default, deserialize_with = "whole::by_name")]
    #[schema(example = json!({ "tokens": 700 }))]
    pub amounts: BTreeMap<String, u64>,
}

/// The answer of all levels: granted by all, or nothing taken from any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LevelsAnswer<'l> {
    /// The decision.
    pub decision: Decision,
    /// Name of the level that denies: if several do, one that never grants, or else the one with the longest wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "user")]
    pub which: Option<&'l str>,
    /// The answers in the order of the file; `limiter` is the name of the level. If the decision is `denied`, those
    /// that are `granted` would be by themselves, and nothing was taken for them.
    pub answers: Vec<Answer<'l>>,
}

impl LevelsCheck {
    /// Shortens the values of which keys are made.
    pub(crate) fn bounded(mut self) -> LevelsCheck {
        self.fields.values_mut().for_each(bound_text);
        self
    }
}

impl<'l> LevelsAnswer<'l> {
    pub(crate) fn of(told: &'l LevelAnswers) -> LevelsAnswer<'l> {
        let answer = |level: &'l LevelAnswer| match &level.answer {
            Ok(grant) => Answer::granted(&level.level, level.permits, grant),
            Err(denied) => Answer::denied(&level.level, level.permits, denied),
        };
        let which = told.denied_by.and_then(|which| told.levels.get(which));
        LevelsAnswer {
            decision: if which.is_some() { Decision::Denied } else { Decision::Granted },
            which: which.map(|level| &*level.level),
            answers: told.levels.iter().map(answer).collect(),
        }
    }
}
