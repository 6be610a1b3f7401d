//! Questions of one request that are asked at once.

use std::future::Future;

use futures_util::stream::{self, StreamExt};

/// Most questions of one request that are on their way to servers at once: more would keep all others waiting there.
const MOST_AT_ONCE: usize = 32;

/// Returns the answers of all, in order. The first calls are made in that order, too.
pub(crate) fn side_by_side<F: Future>(
    questions: impl Iterator<Item = F>,
) -> impl Future<Output = Vec<F::Output>> {
    stream::iter(questions.collect::<Vec<_>>()).buffered(MOST_AT_ONCE).collect()
}
