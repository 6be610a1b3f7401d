//! The acts of a visitor: clicks, typing, and waits for something to happen.

use std::time::{Duration, Instant};

use fantoccini::Locator;
use serde_json::{Value, json};

use super::Browser;

/// The longest wait for something to happen in a page. It takes moments, but machines may be slow.
const LONGEST: Duration = Duration::from_secs(60);

/// The time between two looks.
const BETWEEN: Duration = Duration::from_millis(30);

impl Browser {
    /// Presses the tabulator.
    pub async fn press_tab(&self) {
        self.press("Tab").await;
    }

    /// Presses a key: a letter, a digit, or a name such as `Tab`, `Enter`, `Escape` or `ArrowRight`.
    pub async fn press(&self, key: &str) {
        let named = |code: u32| json!({ "key": key, "code": key, "windowsVirtualKeyCode": code });
        let mut event = match key {
            "Tab" => named(9),
            "Enter" => {
                json!({ "key": key, "code": key, "windowsVirtualKeyCode": 13, "text": "\r" })
            }
            "Escape" => named(27),
            "Home" => named(36),
            "ArrowRight" => named(39),
            "ArrowDown" => named(40),
            _ => json!({ "key": key, "text": key }),
        };
        for kind in ["keyDown", "keyUp"] {
            event["type"] = json!(kind);
            self.chromium("Input.dispatchKeyEvent", event.clone()).await;
        }
    }

    /// Clicks the element of a CSS selector.
    ///
    /// # Panics
    ///
    /// If there is none, or it is hidden or covered.
    pub async fn click(&self, selector: &str) {
        let found = self.client.find(Locator::Css(selector)).await;
        let found = found.unwrap_or_else(|error| panic!("{selector}: {error}"));
        found.click().await.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Types a text into a field in place of what is there.
    ///
    /// # Panics
    ///
    /// If there is no such field.
    pub async fn fill(&self, selector: &str, text: &str) {
        let field = self.client.find(Locator::Css(selector)).await;
        let field = field.unwrap_or_else(|error| panic!("{selector}: {error}"));
        field.clear().await.unwrap_or_else(|error| panic!("{selector}: {error}"));
        field.send_keys(text).await.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Chooses an option of a list by its value.
    ///
    /// # Panics
    ///
    /// If there is no such list or option.
    pub async fn choose(&self, selector: &str, value: &str) {
        let list = self.client.find(Locator::Css(selector)).await;
        let list = list.unwrap_or_else(|error| panic!("{selector}: {error}"));
        list.select_by_value(value).await.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Waits until an expression of the page is true, and returns its value.
    ///
    /// # Panics
    ///
    /// If it does not become true.
    pub async fn until(&self, expression: &str) -> Value {
        let began = Instant::now();
        loop {
            let value = self.value(expression).await;
            if ![Value::Null, json!(false), json!(0), json!("")].contains(&value) {
                return value;
            }
            if began.elapsed() > LONGEST {
                let text = self.value("document.body.innerText").await;
                panic!("never true: {expression}; the page says:\n{}", text.as_str().unwrap());
            }
            tokio::time::sleep(BETWEEN).await;
        }
    }

    /// Returns the text of the element of a CSS selector as it is seen.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub async fn text(&self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({selector:?})?.innerText")).await;
        text.as_str().unwrap_or_else(|| panic!("no {selector}")).trim().to_owned()
    }
}
