//! The levels of a policy file by the names in it, whose terms change live.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use sluicegate::{Denied, Grant, KeyedLimiter};

use super::level::{HierarchyError, LevelPolicy};
use super::levels::Levels;
use crate::{SharedClock, escaped};

/// The levels of a registry's file, for programs that learn the names of fields and amounts from it: all levels
/// grant a request, or it takes nothing from any. A clone is the same levels.
///
/// It takes amounts for good, so they are those that a request uses, or an estimate that is not corrected later:
/// [`Hierarchy`](crate::Hierarchy) settles estimates.
///
/// **Guarantee.** The bound of each key of each level holds, as for [`Hierarchy`](crate::Hierarchy). A level whose
/// policy stays goes on as it is when the file is read again. One with other numbers starts with what each key has
/// used. What it has no place for, of a larger limit before, counts again if a later file has a place for it, but for the parts
/// of an `all`. One with other fields or amounts starts full.
///
/// Each call locks the terms shared, and a part of each level's store. It waits while new terms take over the keys of the
/// old ones. It allocates, and reads the clock of each level.
///
/// # Examples
///
/// ```
/// use std::collections::BTreeMap;
/// use sluicegate_policy::{Policies, Registry};
///
/// let registry = Registry::new(Policies::from_toml("limits.toml", r#"
/// [[hierarchy]]
/// name = "org"
/// key = "org"
/// counts = "tokens"
/// policy = "fixed_window"
/// limit = 1_000
/// interval = "1 day"
///
/// [[hierarchy]]
/// name = "user"
/// key = ["org", "user"]
/// policy = "fixed_window"
/// limit = 1
/// interval = "1 day"
/// "#)?)?;
/// let levels = registry.hierarchy();
/// let ada = BTreeMap::from([("org", "acme"), ("user", "ada")].map(|(a, b)| (a.to_owned(), b.to_owned())));
/// let tokens = BTreeMap::from([("tokens".to_owned(), 400)]);
/// assert_eq!(levels.try_acquire(&ada, &tokens)?.denied_by, None);
/// let answers = levels.try_acquire(&ada, &tokens)?;
/// assert_eq!(answers.denied_by.map(|which| &*answers.levels[which].level), Some("user"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct HierarchyHandle {
    in_force: Arc<RwLock<InForce>>,
}

/// The levels of one file.
#[derive(Default)]
struct InForce {
    policies: Arc<[LevelPolicy]>,
    /// Names of the fields of all keys, each once.
    fields: Vec<String>,
    /// Names of the amounts of all levels, each once.
    amounts: Vec<String>,
    /// `None` if there is no level.
    levels: Option<Levels>,
}

/// Levels that are not in force yet.
pub(crate) struct NewLevels(InForce);

/// The answers of all levels to one request.
#[derive(Clone, Debug)]
pub struct LevelAnswers {
    /// The answers in the order of the levels. If the request is denied, those that grant have taken nothing.
    pub levels: Vec<LevelAnswer>,
    /// Index of the level that denies the request and has to be waited for longest; `None` if all grant it.
    pub denied_by: Option<usize>,
}

/// The answer of one level.
#[derive(Clone, Debug)]
pub struct LevelAnswer {
    /// Name of the level.
    pub level: Arc<str>,
    /// Key of the request there, such as `acme/ada`.
    pub key: String,
    /// Permits that the request takes from it.
    pub permits: u64,
    /// The answer.
    pub answer: Result<Grant, Denied>,
}

/// A request that cannot be put to the levels. Nothing was charged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LevelRequestError {
    /// The file has no levels.
    #[error("the policy has no levels: write some as [[hierarchy]]")]
    NoLevels,
    /// The request lacks a field or an amount.
    #[error("`{table}.{}` is missing: expected a value for each of {known}", escaped(.name))]
    Missing {
        /// `fields` or `amounts`.
        table: &'static str,
        /// Its name.
        name: String,
        /// Those that levels have.
        known: String,
    },
    /// No level has a field or an amount of the request.
    #[error("`{table}.{}` belongs to no level: expected {known}", escaped(.name))]
    Unknown {
        /// `fields` or `amounts`.
        table: &'static str,
        /// Its name.
        name: String,
        /// Those that levels have.
        known: String,
    },
    /// No level has this name.
    #[error("`level`: no level is named \"{}\": expected one of {known}", escaped(.level))]
    NoSuchLevel {
        /// The name.
        level: String,
        /// The names of the levels.
        known: String,
    },
}

impl HierarchyHandle {
    pub(crate) fn new() -> HierarchyHandle {
        HierarchyHandle { in_force: Arc::default() }
    }

    /// Returns the levels in force, in the order of the file.
    #[must_use]
    pub fn levels(&self) -> Arc<[LevelPolicy]> {
        Arc::clone(&self.read().policies)
    }

    /// Takes what a request uses from all levels, or nothing from any.
    ///
    /// `fields` has a value for each name in the `key` of a level, and `amounts` for each in its `counts`.
    ///
    /// # Errors
    ///
    /// [`LevelRequestError`] if a name is missing, or belongs to no level. A denial is an answer.
    pub fn try_acquire(
        &self,
        fields: &BTreeMap<String, String>,
        amounts: &BTreeMap<String, u64>,
    ) -> Result<LevelAnswers, LevelRequestError> {
        self.read().answer(fields, amounts, true)
    }

    /// Returns the answers that [`try_acquire`](HierarchyHandle::try_acquire) would, and takes nothing.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn peek(
        &self,
        fields: &BTreeMap<String, String>,
        amounts: &BTreeMap<String, u64>,
    ) -> Result<LevelAnswers, LevelRequestError> {
        self.read().answer(fields, amounts, false)
    }

    /// Makes the limiter of one level that a request has full again.
    ///
    /// # Errors
    ///
    /// [`LevelRequestError`] if there is no such level, or a field is missing or belongs to no level.
    pub fn reset(
        &self,
        level: &str,
        fields: &BTreeMap<String, String>,
    ) -> Result<(), LevelRequestError> {
        let in_force = self.read();
        let levels = in_force.levels.as_ref().ok_or(LevelRequestError::NoLevels)?;
        let Some(which) = levels.names().position(|name| name == level) else {
            let names: Vec<String> = levels.names().map(str::to_owned).collect();
            return Err(LevelRequestError::NoSuchLevel {
                level: level.to_owned(),
                known: listed(&names),
            });
        };
        let keys = levels.keys(&texts(&values("fields", &in_force.fields, fields)?));
        levels.stores()[which].reset(keys[which].as_str());
        Ok(())
    }

    /// Creates the levels of a file, without putting them in force.
    pub(crate) fn build(
        policies: Vec<LevelPolicy>,
        clock: &SharedClock,
    ) -> Result<NewLevels, HierarchyError> {
        let fields = names(&policies, |level| &level.key);
        let amounts = names(&policies, |level| &level.counts);
        let levels = if policies.is_empty() {
            None
        } else {
            Some(Levels::new(&policies, &texts(&fields), &texts(&amounts), clock)?)
        };
        Ok(NewLevels(InForce { policies: policies.into(), fields, amounts, levels }))
    }

    /// Puts levels in force, which go on with what was used. Returns true if they differ from those before.
    pub(crate) fn enforce(&self, NewLevels(mut new): NewLevels) -> bool {
        let mut old = self.in_force.write().unwrap_or_else(PoisonError::into_inner);
        if old.policies == new.policies {
            return false;
        }
        if let (Some(levels), Some(old_levels)) = (&mut new.levels, &old.levels) {
            for (which, policy) in new.policies.iter().enumerate() {
                let mut olds = old.policies.iter().enumerate();
                let found = olds.find(|(_, old)| {
                    (&old.name, &old.key, &old.counts)
                        == (&policy.name, &policy.key, &policy.counts)
                });
                if let Some((of, old)) = found {
                    levels.take_over(which, old_levels, of, old == policy);
                }
            }
        }
        *old = new;
        true
    }

    fn read(&self) -> RwLockReadGuard<'_, InForce> {
        self.in_force.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InForce {
    fn answer(
        &self,
        fields: &BTreeMap<String, String>,
        amounts: &BTreeMap<String, u64>,
        take: bool,
    ) -> Result<LevelAnswers, LevelRequestError> {
        let levels = self.levels.as_ref().ok_or(LevelRequestError::NoLevels)?;
        let keys = levels.keys(&texts(&values("fields", &self.fields, fields)?));
        let amounts = values("amounts", &self.amounts, amounts)?;
        let grants = if take {
            // Estimates that are dropped keep what was taken.
            let taken = levels.try_acquire(&keys, &amounts);
            taken.map(|taken| taken.iter().map(sluicegate::keyed::KeyEstimate::grant).collect())
        } else {
            levels.peek(&keys, &amounts)
        };
        let (answers, denied_by): (Vec<Result<Grant, Denied>>, _) = match grants {
            Ok(grants) => (grants.into_iter().map(Ok).collect(), None),
            Err(refused) => {
                let mut answers: Vec<_> =
                    (0..keys.len()).map(|which| levels.look(which, &keys, &amounts)).collect();
                // The others may have been changed since by other callers.
                answers[refused.which()] = Err(refused.denied());
                (answers, Some(refused.which()))
            }
        };
        let keys = keys.into_iter().zip(answers).enumerate();
        let levels = keys.map(|(which, (key, answer))| LevelAnswer {
            level: Arc::clone(levels.name(which)),
            key,
            permits: levels.permits(which, &amounts),
            answer,
        });
        Ok(LevelAnswers { levels: levels.collect(), denied_by })
    }
}

/// Returns the different names in some lists of all levels.
fn names<'l>(
    levels: &'l [LevelPolicy],
    list: impl Fn(&'l LevelPolicy) -> &'l [String],
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in levels.iter().flat_map(list) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Returns the values of the names that are known, each of which is to be given, and no other.
fn values<T: Clone>(
    table: &'static str,
    known: &[String],
    given: &BTreeMap<String, T>,
) -> Result<Vec<T>, LevelRequestError> {
    if let Some(name) = given.keys().find(|name| !known.contains(name)) {
        let (name, known) = (name.clone(), listed(known));
        return Err(LevelRequestError::Unknown { table, name, known });
    }
    let value = |name: &String| {
        given.get(name).cloned().ok_or_else(|| LevelRequestError::Missing {
            table,
            name: name.clone(),
            known: listed(known),
        })
    };
    known.iter().map(value).collect()
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", escaped(name))).collect();
    names.join(", ")
}

/// Shows the policies.
impl fmt::Debug for HierarchyHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HierarchyHandle").field("levels", &self.levels()).finish()
    }
}
