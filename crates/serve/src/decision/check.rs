//! The question that a check asks.

use std::borrow::Cow;

use serde::Deserialize;
use sluicegate_policy::{KeyField, KeyOutcome, LimiterPolicy, Registry, RegistryError};
use utoipa::ToSchema;

use super::ask::Ask;
use super::check_error::CheckError;
use super::key::Key;
use super::seconds::Seconds;
use super::whole;
use crate::bounded_key::bound;
use crate::limiters::InForce;

/// One question: may a caller take so many permits of a limiter?
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Check<'b> {
    /// Name of the limiter in the policy file.
    #[serde(borrow)]
    #[schema(example = "api")]
    pub limiter: Cow<'b, str>,
    /// Key of the caller, for a limiter with keys.
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
            (true, None) => Err(missing(limiter.policy())),
            (true, Some(given)) => {
                check_parts(given, limiter.policy())?;
                let mut key = Vec::with_capacity(given.text().len());
                let outcome = limiter.policy().given_key(given.text().as_bytes(), &mut key);
                Ok(Ask::new(limiter, key, self.cost).with(outcome))
            }
        }
    }
}

/// Returns a key as the service keeps it of a limiter, for a client of the same server: of the text or the JSON array that a
/// question would give, or no text for a limiter that has no keys.
///
/// # Errors
///
/// [`CheckError`], as of a question with this key.
pub fn kept_key(policy: &LimiterPolicy, given: &str) -> Result<String, CheckError> {
    let limiter = || policy.name.clone();
    match (policy.key == [KeyField::All], given) {
        (true, "") => return Ok(String::new()),
        (true, _) => return Err(CheckError::KeyNotWanted { limiter: limiter() }),
        (false, "") => return Err(missing(policy)),
        (false, _) => {}
    }
    let is_list = policy.key.len() > 1;
    let list = is_list.then(|| serde_json::from_str::<Key<'_>>(given).ok()).flatten();
    let given = list.unwrap_or_else(|| Key::from(given));
    check_parts(&given, policy)?;
    let mut key = Vec::new();
    if policy.given_key(given.text().as_bytes(), &mut key) != KeyOutcome::Limited {
        return Err(CheckError::KeyEmpty { limiter: limiter() });
    }
    bound(&mut key);
    // It is made of a text.
    Ok(String::from_utf8_lossy(&key).into_owned())
}

/// Returns an error if a key cannot be one of this limiter.
fn check_parts(key: &Key<'_>, policy: &LimiterPolicy) -> Result<(), CheckError> {
    let (given, wanted) = (key.parts(), policy.key.len());
    if given != wanted {
        let (limiter, parts) = (policy.name.clone(), parts(policy));
        return Err(CheckError::KeyParts { limiter, given, wanted, parts });
    }
    Ok(())
}

fn missing(policy: &LimiterPolicy) -> CheckError {
    CheckError::KeyMissing { limiter: policy.name.clone(), parts: parts(policy) }
}

fn unknown(registry: &Registry, name: &str) -> CheckError {
    match registry.limiter(name) {
        Err(error @ RegistryError::Unknown { .. }) => CheckError::Unknown(error),
        // It was added since; the next question will find it.
        _ => CheckError::Unknown(RegistryError::Unknown { name: name.to_owned(), nearest: None }),
    }
}

/// Returns the parts of a limiter's key in words.
fn parts(policy: &LimiterPolicy) -> String {
    let parts: Vec<String> = policy.key.iter().map(ToString::to_string).collect();
    parts.join(", ")
}
