//! The sessions of a server, by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rand::TryRngCore;
use rand::rngs::OsRng;

use crate::live::Live;

/// A session that requests share.
pub(crate) type SharedLive = Arc<Mutex<Live>>;

/// A bounded number of sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    by_name: Mutex<HashMap<String, SharedLive>>,
    most: usize,
}

/// The reason for which there is no new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSession {
    /// All are in use.
    Full,
    /// The system has no random numbers for a name.
    NoName,
}

/// Locks a session. One that has panicked is as it was then: a limiter is never half changed.
pub(crate) fn lock(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sessions {
    pub(crate) fn new(most: usize) -> Sessions {
        Sessions { by_name: Mutex::default(), most: most.max(1) }
    }

    /// Adds a session, and returns its name. If there are too many, the one that has been idle for longest ends.
    pub(crate) fn add(&self, live: Live, now: Instant) -> Result<String, NoSession> {
        let name = name().ok_or(NoSession::NoName)?;
        let mut sessions = self.by_name();
        forget(&mut sessions, now);
        if sessions.len() >= self.most {
            let idle =
                sessions.iter().filter_map(|(name, live)| Some((lock(live).idle_since()?, name)));
            let oldest = idle.min().map(|(_, name)| name.clone()).ok_or(NoSession::Full)?;
            sessions.remove(&oldest).iter().for_each(end);
        }
        sessions.insert(name.clone(), Arc::new(Mutex::new(live)));
        Ok(name)
    }

    /// Returns a session, if it has not ended.
    pub(crate) fn get(&self, name: &str, now: Instant) -> Option<SharedLive> {
        let mut sessions = self.by_name();
        let live = sessions.get(name)?;
        if lock(live).is_forgotten(now) {
            sessions.remove(name).iter().for_each(end);
            return None;
        }
        Some(Arc::clone(live))
    }

    /// Ends a session. Returns false if there is none of this name.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let removed = self.by_name().remove(name);
        removed.iter().for_each(end);
        removed.is_some()
    }

    /// Ends all sessions.
    pub(crate) fn clear(&self) {
        self.by_name().drain().for_each(|(_, live)| end(&live));
    }

    /// Returns the number of sessions.
    pub(crate) fn len(&self, now: Instant) -> usize {
        let mut sessions = self.by_name();
        forget(&mut sessions, now);
        sessions.len()
    }

    fn by_name(&self) -> MutexGuard<'_, HashMap<String, SharedLive>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the sessions whose events nobody has read for long.
fn forget(sessions: &mut HashMap<String, SharedLive>, now: Instant) {
    sessions.retain(|_, live| {
        let mut live = lock(live);
        let is_forgotten = live.is_forgotten(now);
        if is_forgotten {
            live.end();
        }
        !is_forgotten
    });
}

fn end(live: &SharedLive) {
    lock(live).end();
}

/// Returns a name that nobody guesses.
fn name() -> Option<String> {
    let mut bytes = [0; 16];
    OsRng.try_fill_bytes(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_le_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::setup::CheckedSetup;

    fn live(now: Instant) -> Live {
        let setup = serde_json::from_value(json!({ "sides": [{ "algorithm": "gcra" }] })).unwrap();
        Live::new(CheckedSetup::new(&setup).unwrap(), now)
    }

    #[test]
    fn sessions_that_nobody_reads_end_by_themselves() {
        let sessions = Sessions::new(10);
        let began = Instant::now();
        let after = |secs| began + Duration::from_secs(secs);
        let first = sessions.add(live(began), began).unwrap();
        let second = sessions.add(live(after(60)), after(60)).unwrap();
        assert_ne!(first, second);
        let held = sessions.get(&first, after(119)).unwrap();
        assert!(!lock(&held).has_ended());
        assert!(sessions.get(&first, after(120)).is_none());
        assert!(lock(&held).has_ended());
        assert_eq!((sessions.len(after(179)), sessions.len(after(180))), (1, 0));
        assert!(!sessions.remove(&second));
    }

    #[test]
    fn a_name_is_long_and_another_one_each_time() {
        let names: Vec<_> = (0..100).filter_map(|_| name()).collect();
        assert!(names.iter().all(|name| name.len() == 32), "{names:?}");
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), 100);
    }
}
