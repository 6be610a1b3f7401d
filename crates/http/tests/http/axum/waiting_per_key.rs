//! Requests that wait for the limit of their key.

use sluicegate::ManualClock;
use sluicegate::keyed::QueuedKeys;
use sluicegate_http::layer::WaitUpTo;

use super::*;

/// Those that have no turn in time would otherwise hang for as long as they may wait.
#[tokio::test]
async fn requests_behind_others_of_their_client_are_refused_at_once_if_their_turns_come_too_late() {
    let clock = Arc::new(ManualClock::new());
    // A permit an hour for each client, on a clock that stands still.
    let clients = KeyTable::builder(quota!(1 / hour)).clock(Arc::clone(&clock)).keys(100).unwrap();
    let clients = QueuedKeys::<_, ClientKey, _>::with_clock(clients, Arc::clone(&clock));
    let clients = Arc::new(clients);
    let longest = Duration::from_secs(3 * 3_600);
    let limit = Limit::per_client(WaitUpTo::new(Arc::clone(&clients), longest));
    let server = serve(hello().layer(RateLimitLayer::new(limit))).await;
    let mut requests = JoinSet::new();
    for _ in 0..30 {
        requests.spawn(async move { status(&client(false), server, "/").await });
    }
    // One passes at once, three wait, and no time passes for the others to be refused.
    let mut statuses = Vec::new();
    while statuses.len() < 27 {
        statuses.push(requests.join_next().await.unwrap().unwrap());
    }
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (200, &[429; 26][..]));
    assert_eq!(clients.lines(), 1);
    clock.advance(longest);
    clients.update(|_| {});
    assert_eq!(requests.join_all().await, [200, 429, 429]);
}
