//! A browser without a window.

mod idle;
mod visitor;

use std::path::Path;
use std::process::Stdio;

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use url::Url;

/// The arguments of Chromium, which may be run by root here, and asks nobody anything.
const ARGUMENTS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
];

/// Runs the driver until the process that started it is gone, however it ends, and removes the profile of its browser.
const DRIVER: &str = r#"trap : TERM
chromedriver --port=0 </dev/null &
read -r _
kill -TERM 0
wait
rm -rf "$1"
kill -KILL 0"#;

/// The longest that the driver waits for the browser, which takes seconds: machines may be slow.
const PATIENCE_MILLIS: u32 = 300_000;

/// The rules of Deque Systems for pages that everybody can use.
const AXE: &str = include_str!("../axe-core/axe.min.js");

/// A browser without a window, and its driver.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    _driver: Driver,
    /// Removed when it is dropped.
    _profile: TempDir,
}

/// The driver, and the processes that it has started: all are killed when it is dropped.
#[derive(Debug)]
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        // They are a group, whose number is that of its first process.
        if let Some(group) = self.0.id() {
            let kill = ["-KILL".to_owned(), "--".to_owned(), format!("-{group}")];
            let _ = std::process::Command::new("kill").args(kill).status();
        }
    }
}

/// The size of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Its name, for messages and files.
    pub name: &'static str,
    /// Width in CSS pixels.
    pub width: u32,
    /// Height in CSS pixels.
    pub height: u32,
}

/// The colours that a reader prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Dark text on a light page.
    Light,
    /// Light text on a dark page.
    Dark,
}

impl Scheme {
    /// Returns the name that style sheets have for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Light => "light",
            Scheme::Dark => "dark",
        }
    }
}

impl View {
    /// A phone, a tablet and a desktop.
    pub const ALL: [View; 3] = [
        View { name: "phone", width: 360, height: 740 },
        View { name: "tablet", width: 820, height: 1180 },
        View { name: "desktop", width: 1440, height: 900 },
    ];
}

/// A command of Chromium's driver that the standard does not have.
#[derive(Debug)]
struct Extension {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}

impl Browser {
    /// Starts Chromium with a new profile.
    async fn start() -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let driver = Command::new("sh")
            .args(["-c", DRIVER, "driver"])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        let driver = driver.expect("no sh");
        let mut driver = Driver(driver);
        let port = port(&mut driver.0).await;
        let mut arguments = ARGUMENTS.map(str::to_owned).to_vec();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        let capabilities = json!({
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
            "timeouts": { "script": PATIENCE_MILLIS, "pageLoad": PATIENCE_MILLIS },
        });
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities.as_object().unwrap().clone())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await;
        let client = client.expect("no Chromium; ci/setup.sh browser installs it");
        Browser { client, _driver: driver, _profile: profile }
    }

    /// Shows a file on a screen of that size, to a reader who prefers these colours.
    ///
    /// # Panics
    ///
    /// If the browser does not.
    pub async fn show(&self, path: &Path, view: View, scheme: Scheme) {
        self.visit(Url::from_file_path(path).unwrap().as_str(), view, scheme).await;
    }

    /// Shows the page of an address, as [`show`](Browser::show) shows a file.
    ///
    /// # Panics
    ///
    /// If the browser does not.
    pub async fn visit(&self, address: &str, view: View, scheme: Scheme) {
        self.view(view).await;
        self.prefer(scheme, "screen").await;
        self.client.goto(address).await.unwrap();
    }

    /// Waits until the page is drawn, which a page without scripts cannot tell.
    ///
    /// # Panics
    ///
    /// If the page's scripts are forbidden.
    pub async fn settle(&self) {
        let drawn = "const done = arguments[0];
            requestAnimationFrame(() => requestAnimationFrame(() => done(true)));";
        self.client.execute_async(drawn, Vec::new()).await.unwrap();
    }

    /// Changes the size of the screen.
    pub async fn view(&self, view: View) {
        let metrics = json!({
            "width": view.width,
            "height": view.height,
            "deviceScaleFactor": 1,
            "mobile": view.width < 600,
        });
        self.chromium("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// Changes the preferred colours, and the medium: `screen` or `print`.
    pub async fn prefer(&self, scheme: Scheme, medium: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme.name() }]);
        let media = json!({ "media": medium, "features": features });
        self.chromium("Emulation.setEmulatedMedia", media).await;
    }

    /// Asks the page for less movement. A new preference of colours takes it back.
    pub async fn prefer_calm(&self) {
        let features = json!([{ "name": "prefers-reduced-motion", "value": "reduce" }]);
        self.chromium("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Allows the pages of an address to use the clipboard.
    pub async fn allow_clipboard(&self, origin: &str) {
        let permissions = json!(["clipboardReadWrite", "clipboardSanitizedWrite"]);
        let grant = json!({ "origin": origin, "permissions": permissions });
        self.chromium("Browser.grantPermissions", grant).await;
    }

    /// Allows or forbids the page its own scripts.
    pub async fn allow_scripts(&self, are_allowed: bool) {
        self.chromium("Emulation.setScriptExecutionDisabled", json!({ "value": !are_allowed }))
            .await;
    }

    /// Returns the value of an expression in the page.
    ///
    /// # Panics
    ///
    /// If it throws.
    pub async fn value(&self, expression: &str) -> Value {
        let script = format!("return ({expression});");
        self.client
            .execute(&script, Vec::new())
            .await
            .unwrap_or_else(|error| panic!("{error}: {script}"))
    }

    /// Returns the messages of the browser's console since it was last asked.
    ///
    /// # Panics
    ///
    /// If the browser is gone.
    pub async fn console(&self) -> Vec<Value> {
        let log = Extension { path: "se/log", body: json!({ "type": "browser" }) };
        self.client.issue_cmd(log).await.unwrap().as_array().unwrap().clone()
    }

    /// Returns the violations that axe finds in the page, each in words.
    ///
    /// # Panics
    ///
    /// If axe cannot be run.
    pub async fn violations(&self) -> Vec<String> {
        self.client.execute(&format!("{AXE}\n;window.axe = axe;"), Vec::new()).await.unwrap();
        let run = "const done = arguments[0];
            axe.run({ resultTypes: ['violations'] }).then(
                found => done(found.violations.map(rule => rule.id + ': ' + rule.help + ': '
                    + rule.nodes.slice(0, 3).map(node => node.html.slice(0, 200) + ' '
                    + (node.failureSummary || '')).join(' | '))),
                error => done([String(error)]));";
        let found = self.client.execute_async(run, Vec::new()).await.unwrap();
        found.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    }

    /// Returns a picture of the screen.
    ///
    /// # Panics
    ///
    /// If the browser is gone.
    pub async fn picture(&self) -> Vec<u8> {
        self.client.screenshot().await.unwrap()
    }

    async fn chromium(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.client.issue_cmd(Extension { path: "goog/cdp/execute", body }).await.unwrap()
    }
}

/// Returns the port that a driver says that it listens on.
async fn port(driver: &mut Child) -> u16 {
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if let Some((_, port)) = line.split_once("successfully on port ") {
            // The rest is read too, so that the driver never waits for somebody to do so.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return port.trim_end_matches('.').parse().unwrap();
        }
    }
    panic!("no chromedriver, or it ended before it listened; ci/setup.sh browser installs it");
}
