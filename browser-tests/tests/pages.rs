//! The pages of the project in a browser.
//!
//! Pictures of them are left in the folder that cargo has for tests (`target/tmp`), to be looked at.

#[path = "pages/playground.rs"]
mod playground;
#[path = "pages/replay.rs"]
mod replay;

use std::fs;
use std::path::Path;

use sluicegate_browser_tests::{Browser, Scheme};

const SCHEMES: [Scheme; 2] = [Scheme::Light, Scheme::Dark];

async fn keep_picture(browser: &Browser, name: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::write(folder.join(name).with_extension("png"), browser.picture().await).unwrap();
}
