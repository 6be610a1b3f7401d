//! Turns in line: none is waited for in vain, and nobody overtakes.

use sluicegate_http::outgoing::NoTurn;
use tokio::time::{Instant, sleep};

use super::*;

const NONE_LEFT: [(&str, &str); 1] = [("ratelimit", r#""p";r=0;t=30"#)];

/// Returns the wait that the refusal of a turn tells.
fn retry_after<T>(turn: Result<T, NoTurn>) -> Option<Duration> {
    turn.err().expect("a refusal").retry_after
}

/// Limits on tokio's time, of a server that has nothing left for half a minute.
fn nothing_left() -> Arc<ServerLimits> {
    let limits = ServerLimits::new(Bounds::new());
    limits.try_send().unwrap().sync_with(StatusCode::OK, &fields(&NONE_LEFT));
    Arc::new(limits)
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_known_to_come_too_late_is_not_waited_for_behind_others() {
    let limits = nothing_left();
    let start = Instant::now();
    let patient = tokio::spawn({
        let limits = Arc::clone(&limits);
        async move { limits.turn(60 * SECOND).await.is_ok() }
    });
    sleep(SECOND).await;
    assert_eq!(limits.waiters(), 1);
    assert_eq!(retry_after(limits.turn(5 * SECOND).await), Some(29 * SECOND));
    assert_eq!(start.elapsed(), SECOND);
    assert!(patient.await.unwrap());
    assert_eq!(start.elapsed(), 30 * SECOND);
}

/// When it took its place, a response on the way could have let it through.
#[tokio::test(start_paused = true)]
async fn a_turn_that_news_puts_off_for_too_long_is_given_up_at_once() {
    let limits = Arc::new(ServerLimits::new(Bounds::new().shortest_pause(10 * SECOND)));
    let start = Instant::now();
    let on_its_way = limits.try_send().unwrap();
    let waits = tokio::spawn({
        let limits = Arc::clone(&limits);
        async move { retry_after(limits.turn(20 * SECOND).await) }
    });
    sleep(SECOND).await;
    assert_eq!(limits.waiters(), 1);
    on_its_way.sync_with(StatusCode::OK, &fields(&NONE_LEFT));
    assert_eq!(waits.await.unwrap(), Some(30 * SECOND));
    assert_eq!(start.elapsed(), SECOND);
}

/// The server has more by the client's clock, and the first in line still sleeps.
#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_wait_does_not_overtake_the_line() {
    let (clock, limits) = limits_with(Bounds::new());
    limits.try_send().unwrap().ok(&NONE_LEFT);
    let limits = Arc::new(limits);
    let first = tokio::spawn({
        let limits = Arc::clone(&limits);
        async move { limits.turn(60 * SECOND).await.is_ok() }
    });
    tokio::task::yield_now().await;
    clock.advance(30 * SECOND);
    assert_eq!(limits.waiters(), 1);
    assert_eq!(retry_after(limits.try_send()), None, "others in line are ahead");
    assert!(first.await.unwrap());
    assert_eq!(limits.waiters(), 0);
}
