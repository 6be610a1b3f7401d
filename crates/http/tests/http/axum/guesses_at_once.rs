//! Guesses of a password that are sent at once, before the first answer: no answer can be counted yet.

use sluicegate::keyed::{Each, Penalties};
use sluicegate::penalty::PenaltyRule;
use sluicegate::rate;
use sluicegate_http::layer::{Penalized, Settled};
use tokio::sync::watch;

use super::*;

const GUESSES: usize = 200;

/// An app whose log-ins fail: none is answered before `may_answer`.
fn log_in(began: &watch::Sender<usize>, may_answer: &watch::Sender<bool>) -> Router {
    let (began, may_answer) = (began.clone(), may_answer.subscribe());
    let fail = move || {
        let mut may_answer = may_answer.clone();
        began.send_modify(|began| *began += 1);
        async move {
            may_answer.wait_for(|may| *may).await.unwrap();
            StatusCode::UNAUTHORIZED
        }
    };
    Router::new().route("/", get(fail))
}

/// Sends all guesses at once, each by its own connection, and answers none before all have come. Returns how many
/// have reached the service.
async fn guesses_that_reach_the_service(limits: Vec<Limit>) -> usize {
    let (began, may_answer) = (watch::Sender::new(0), watch::Sender::new(false));
    let layer = RateLimitLayer::all_of(limits).unwrap();
    let server = serve(log_in(&began, &may_answer).layer(layer)).await;
    let (refused, mut statuses) = (watch::Sender::new(0), JoinSet::new());
    for _ in 0..GUESSES {
        let refused = refused.clone();
        statuses.spawn(async move {
            let status = status(&client(false), server, "/").await;
            refused.send_modify(|refused| *refused += usize::from(status == 429));
            status
        });
    }
    until(|| *began.borrow() + *refused.borrow() == GUESSES).await;
    may_answer.send_replace(true);
    let statuses = statuses.join_all().await;
    let failed = statuses.iter().filter(|status| **status == 401).count();
    assert_eq!(failed, *began.borrow());
    // The next one is refused in any case.
    assert_eq!(status(&client(false), server, "/").await, 429);
    failed
}

/// A penalty of an hour after five failures.
fn penalized() -> Limit {
    let rule = PenaltyRule::new(rate!(5 / 10 minutes), Duration::from_secs(3_600)).unwrap();
    let offenders = Keyed::<ClientKey, _>::builder(Penalties::new(rule)).build().unwrap();
    let penalized = Penalized::by_status(Arc::new(offenders), [StatusCode::UNAUTHORIZED]);
    Limit::per_client(penalized).policy(QuotaPolicy::new(5).named("penalty").unwrap())
}

/// The same number, counted when a request begins, and given back if it succeeds.
fn failures_only() -> Limit {
    let store = Keyed::<ClientKey, _>::with(Each::new(|_: &ClientKey| {
        Arc::new(FixedWindow::new(rate!(5 / 10 minutes)).unwrap())
    }));
    let failures = Settled::failures_only(Arc::new(store));
    Limit::per_client(failures).policy(QuotaPolicy::new(5).named("failures").unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_penalty_alone_lets_all_guesses_at_once_pass_and_a_limit_of_failures_only_its_number() {
    assert_eq!(guesses_that_reach_the_service(vec![penalized()]).await, GUESSES);
    assert_eq!(guesses_that_reach_the_service(vec![penalized(), failures_only()]).await, 5);
}
