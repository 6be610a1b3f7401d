//! An observer that keeps what it is told.

use std::sync::Mutex;

use sluicegate::keyed::Observe;
use sluicegate::{Denied, Grant};

/// A key, the permits that were asked for, and the answer.
type Decision<K> = (K, u64, Result<Grant, Denied>);

/// An observer that keeps all decisions, in the order in which it is told of them.
#[derive(Debug, Default)]
pub(crate) struct Told<K>(pub(crate) Mutex<Vec<Decision<K>>>);

impl<K> Observe<K> for Told<K::Owned>
where
    K: ToOwned<Owned: Send> + ?Sized,
{
    fn decided(&self, key: &K, permits: u64, answer: Result<&Grant, &Denied>) {
        let answer = answer.copied().map_err(|denied| *denied);
        self.0.lock().unwrap().push((key.to_owned(), permits, answer));
    }
}
