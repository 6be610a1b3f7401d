//! Browsers that a test has left, for the next one: to start one takes longer than most tests.

use std::sync::{LazyLock, Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};

use super::Browser;

/// The browsers that no test uses: no more than there are tests at a time.
static IDLE: Mutex<Vec<Browser>> = Mutex::new(Vec::new());

/// The runtime of the connections to the drivers, which outlive that of a test.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap());

impl Browser {
    /// Takes a browser that another test has left, or starts one. It ends with this process.
    ///
    /// # Panics
    ///
    /// If there is no `chromedriver` or no Chromium: `ci/setup.sh browser` installs both.
    pub async fn take() -> Browser {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(browser) = idle else { return RUNTIME.spawn(Browser::start()).await.unwrap() };
        // Pages of the test before, and what they said.
        browser.client.goto("about:blank").await.unwrap();
        browser.console().await;
        browser
    }

    /// Leaves the browser to the next test. One that is dropped instead, as by a test that fails, ends.
    pub fn give_back(self) {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }
}
