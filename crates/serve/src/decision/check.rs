//! The question that a check asks.

use std::borrow::Cow;

use serde::Deserialize;
use sluicegate_policy::Registry;
use sluicegate_policy::RegistryError;
use utoipa::ToSchema;

use super::ask::Ask;
use super::check_error::CheckError;
use super::key::Key;
use super::seconds::Seconds;
use super::whole;
use crate::limiters::{InForce, NamedLimiter};

/// One question: may a caller take so many permits of a limiter?
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Check<'b> {
    /// Name of the limiter in the policy file.
    #[serde(borrow)]
    #[schema(example = "api")]
    pub limiter: Cow<'b, str>,
    /// Key of the caller, for a limiter that limits each key by itself.
    #[serde(borrow, default)]
    pub key: Option<Key<'b>>,
    /// Permits to take. By default the `cost` of the policy, or 1 if that depends on a request.
    #[serde(default, deserialize_with = "whole::optional")]
    pub cost: Option<u64>,
    /// Longest time to stand in line for the permits, in seconds. The policy's `wait` counts too: if the permits
    /// come later than either allows, the check is denied at once. Only a check by itself can wait.
    #[serde(default)]
    pub wait: Option<Seconds>,
}

impl Check<'_> {
    /// Returns the same question, which borrows from no body.
    pub(crate) fn into_owned(self) -> Check<'static> {
        let Check { limiter, key, cost, wait } = self;
        Check {
            limiter: Cow::Owned(limiter.into_owned()),
            key: key.map(Key::into_owned),
            cost,
            wait,
        }
    }

    /// Finds the limiter, and makes sure that the key is one of its keys, and that nobody is to wait.
    ///
    /// # Errors
    ///
    /// [`CheckError`]. Nothing is charged.
    pub(crate) fn resolve<'l>(
        &'l self,
        in_force: &'l InForce,
        registry: &Registry,
    ) -> Result<Ask<'l>, CheckError> {
        if self.wait.is_some() {
            return Err(CheckError::WaitNotWanted);
        }
        let Some(limiter) = in_force.get(&self.limiter) else {
            return Err(unknown(registry, &self.limiter));
        };
        match (limiter.has_keys(), &self.key) {
            (false, None) => Ok(Ask::new(limiter, Vec::new(), self.cost)),
            (false, Some(_)) => {
                Err(CheckError::KeyNotWanted { limiter: limiter.name().to_owned() })
            }
            (true, None) => {
                let (limiter, parts) = (limiter.name().to_owned(), parts(limiter));
                Err(CheckError::KeyMissing { limiter, parts })
            }
            (true, Some(given)) => {
                check_parts(given, limiter)?;
                let mut key = Vec::with_capacity(given.text().len());
                let outcome = limiter.policy().given_key(given.text().as_bytes(), &mut key);
                Ok(Ask::new(limiter, key, self.cost).with(outcome))
            }
        }
    }
}

/// Returns an error if a key cannot be one of this limiter.
fn check_parts(key: &Key<'_>, limiter: &NamedLimiter) -> Result<(), CheckError> {
    let (given, wanted) = (key.parts(), limiter.policy().key.len());
    if given != wanted {
        let (limiter, parts) = (limiter.name().to_owned(), parts(limiter));
        return Err(CheckError::KeyParts { limiter, given, wanted, parts });
    }
    Ok(())
}

fn unknown(registry: &Registry, name: &str) -> CheckError {
    match registry.limiter(name) {
        Err(error @ RegistryError::Unknown { .. }) => CheckError::Unknown(error),
        // It was added since; the next question will find it.
        _ => CheckError::Unknown(RegistryError::Unknown { name: name.to_owned(), nearest: None }),
    }
}

/// Returns the parts of a limiter's key in words.
fn parts(limiter: &NamedLimiter) -> String {
    let parts: Vec<String> = limiter.policy().key.iter().map(ToString::to_string).collect();
    parts.join(", ")
}
