//! The playground in a browser, served as `sluicegate serve` serves it.

#[path = "playground/algorithms.rs"]
mod algorithms;
#[path = "playground/charts.rs"]
mod charts;
#[path = "playground/connection.rs"]
mod connection;
#[path = "playground/controls.rs"]
mod controls;
#[path = "playground/errors.rs"]
mod errors;
#[path = "playground/keyboard.rs"]
mod keyboard;
#[path = "playground/link.rs"]
mod link;
#[path = "playground/live.rs"]
mod live;
#[path = "playground/looks.rs"]
mod looks;
#[path = "playground/other_sites.rs"]
mod other_sites;
#[path = "playground/relay.rs"]
mod relay;
#[path = "playground/scenarios.rs"]
mod scenarios;
#[path = "playground/served.rs"]
mod served;

use serde_json::Value;
use sluicegate_browser_tests::{Browser, Scheme, View};

use self::served::Served;

/// A server with the playground, and a browser that looks at it.
struct Visit {
    browser: Browser,
    server: Served,
}

impl Visit {
    /// Opens the page with a fragment of the address, which begins with `#` or is empty.
    async fn to(fragment: &str) -> Visit {
        let visit = Visit { browser: Browser::take().await, server: Served::start(0).await };
        visit.open(fragment).await;
        visit.live().await;
        visit
    }

    /// Opens the page anew.
    async fn open(&self, fragment: &str) {
        let [.., desktop] = View::ALL;
        // A change of the fragment alone would not load the page.
        self.browser.visit("about:blank", desktop, Scheme::Light).await;
        let address = format!("{}/{fragment}", self.server.origin());
        self.browser.visit(&address, desktop, Scheme::Light).await;
    }

    /// Waits until the page is connected.
    async fn live(&self) {
        self.browser.until("document.getElementById('connection').dataset.state == 'live'").await;
    }

    /// Waits until the decisions of a side add up to a number of requests, and returns those that were granted, were
    /// refused, and wait.
    async fn decided(&self, side: usize, requests: u64) -> [u64; 3] {
        let totals = format!(
            "((totals) => totals[0] + totals[1] + totals[2] == {requests} && totals)({})",
            totals(side)
        );
        let totals = self.browser.until(&totals).await;
        [0, 1, 2].map(|kind| totals[kind].as_u64().unwrap())
    }

    /// Ends the visit: the console has told of nothing wrong.
    async fn end(self) {
        assert_eq!(self.browser.console().await, Vec::<Value>::new());
        self.browser.give_back();
        self.server.stop().await;
    }
}

/// An expression for what a side has granted, has refused, and keeps waiting.
fn totals(side: usize) -> String {
    format!(
        "['granted', 'refused', 'waiting'].map(kind => Number(document.querySelectorAll('.side')[{side}]
            ?.querySelector(`.totals .${{kind}} b`).textContent.replaceAll(',', '')))"
    )
}

/// A set-up of one token bucket that refills slowly.
const BUCKET: &str = "#speed=1&a=token_bucket&a.burst=5&a.permits=1&a.period=3600";
