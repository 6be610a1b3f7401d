//! Events and errors of a registry.

use std::fmt;
use std::sync::Arc;

use super::remote::ConnectError;
use crate::{HierarchyError, LevelPolicy, LimiterPolicy, LoadError, Unbuildable};

/// A change of a [`Registry`](super::Registry), as its observers are told of it.
///
/// Its `Display` is a line for a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// There is a limiter of a new name, or of one that was removed.
    Added {
        /// Its policy.
        policy: Arc<LimiterPolicy>,
    },
    /// A limiter goes on with other terms, and keeps what was used.
    Changed {
        /// The policy so far.
        old: Arc<LimiterPolicy>,
        /// The policy in force.
        new: Arc<LimiterPolicy>,
    },
    /// Another limiter, or another store of keys, has taken the place of one.
    Replaced {
        /// The policy so far.
        old: Arc<LimiterPolicy>,
        /// The policy in force.
        new: Arc<LimiterPolicy>,
    },
    /// A name is no longer in the file. Handles go on with its last terms.
    Removed {
        /// The last policy.
        old: Arc<LimiterPolicy>,
    },
    /// The hierarchy has other levels, or the same with other terms. They go on with what was used: see
    /// [`HierarchyHandle`](crate::HierarchyHandle).
    Levels {
        /// The levels in force. Empty if there are none any more.
        levels: Arc<[LevelPolicy]>,
    },
    /// The new terms were refused as a whole, and those before stay in force.
    Refused {
        /// The reason.
        error: Arc<ReloadError>,
    },
    /// A file cannot be watched any more. The terms stay in force.
    #[cfg(feature = "watch")]
    NotWatched {
        /// The reason.
        error: Arc<notify::Error>,
    },
}

/// A reason to refuse new terms.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The file cannot be read, or has mistakes.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A limiter cannot be kept on a server.
    #[error("limiter \"{name}\": {error}", name = crate::escaped(name))]
    Connect {
        /// Its name.
        name: String,
        /// The reason.
        error: ConnectError,
    },
    /// The keys of a limiter on a server would start full.
    #[error(
        "limiter \"{name}\": its keys would start full, since another kind, window, prefix or server has a place of its own \
         for what was used, and nothing is carried over: write `reset = true` in its policy to let them, or keep these",
        name = crate::escaped(name)
    )]
    StartsFull {
        /// Its name.
        name: String,
    },
    /// The levels cannot be built. (Those of a file that has been checked can.)
    #[error(transparent)]
    Levels(#[from] HierarchyError),
    /// A limiter cannot be built. (Those of a file that has been checked can.)
    #[error("limiter \"{name}\": {error}", name = crate::escaped(name))]
    Unbuildable {
        /// Its name.
        name: String,
        /// The number that is out of its range.
        error: Unbuildable,
    },
}

/// A reason why there is no such handle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No limiter has this name.
    #[error("no limiter is named \"{}\"{}", crate::escaped(name), did_you_mean(nearest.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// The most similar name, if one is similar.
        nearest: Option<String>,
    },
    /// The limiter is divided by keys.
    #[error(
        "limiter \"{}\" has keys: use `keyed`, or write `key = \"all\"` in its policy",
        crate::escaped(name)
    )]
    HasKeys {
        /// The name.
        name: String,
    },
    /// The limiter is not divided by keys.
    #[error(
        "limiter \"{}\" has no keys: use `limiter`, or name another `key` than \"all\" in its policy",
        crate::escaped(name)
    )]
    HasNoKeys {
        /// The name.
        name: String,
    },
    /// The keys of the limiter are on a server.
    #[error("limiter \"{}\" is kept on a server: use `remote`", crate::escaped(name))]
    IsRemote {
        /// The name.
        name: String,
    },
    /// The keys of the limiter are in the memory of the process.
    #[error(
        "limiter \"{}\" is not kept on a server: use `limiter` or `keyed`, or write `store = {{ redis = .. }}` in its policy",
        crate::escaped(name)
    )]
    IsNotRemote {
        /// The name.
        name: String,
    },
    /// The limiter is of another type.
    #[error(
        "limiter \"{}\" is not a `{wanted}` on the registry's clock, but a {kind}",
        crate::escaped(name)
    )]
    OtherType {
        /// The name.
        name: String,
        /// The type that was asked for.
        wanted: &'static str,
        /// The description of its kind.
        kind: String,
    },
    /// The default of a limiter cannot be built.
    #[error("limiter \"{}\": {error}", crate::escaped(name))]
    Unbuildable {
        /// The name.
        name: String,
        /// The number that is out of its range.
        error: Unbuildable,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| {
        format!("; did you mean \"{}\"?", crate::escaped(nearest))
    })
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Added { policy } => {
                write!(f, "limiter \"{}\" added: {}", crate::escaped(&policy.name), policy.kind)
            }
            Event::Changed { old, new } => change(f, "changed", old, new),
            Event::Replaced { old, new } => change(f, "replaced", old, new),
            Event::Removed { old } => {
                let name = crate::escaped(&old.name);
                write!(f, "limiter \"{name}\" removed; it was: {}", old.kind)
            }
            Event::Levels { levels } => {
                let levels = levels
                    .iter()
                    .map(|level| format!("\"{}\" ({})", crate::escaped(&level.name), level.kind));
                let levels: Vec<String> = levels.collect();
                let levels = if levels.is_empty() { "none".to_owned() } else { levels.join(", ") };
                write!(f, "levels changed: {levels}")
            }
            Event::Refused { error } => write!(f, "refused, nothing has changed: {error}"),
            #[cfg(feature = "watch")]
            Event::NotWatched { error } => write!(f, "the file is not watched: {error}"),
        }
    }
}

/// Writes the kinds if they differ, and the names of the other fields that do.
fn change(
    f: &mut fmt::Formatter<'_>,
    verb: &str,
    old: &LimiterPolicy,
    new: &LimiterPolicy,
) -> fmt::Result {
    write!(f, "limiter \"{}\" {verb}: ", crate::escaped(&new.name))?;
    if old.kind != new.kind {
        write!(f, "{}, before: {}", new.kind, old.kind)?;
    }
    let fields = [
        ("key", old.key != new.key),
        ("filter", old.filter != new.filter),
        ("except", old.except != new.except),
        ("cost", old.cost != new.cost),
        ("penalty", old.penalty != new.penalty),
        ("store", old.store != new.store || old.redis != new.redis),
        ("wait", old.wait != new.wait),
        ("shadow", old.shadow != new.shadow),
        ("overrides", old.overrides != new.overrides),
    ];
    let mut separator = if old.kind == new.kind { "other " } else { "; other " };
    for (field, _) in fields.iter().filter(|(_, differs)| *differs) {
        write!(f, "{separator}{field}")?;
        separator = ", ";
    }
    Ok(())
}
