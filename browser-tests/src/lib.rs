//! Debian's Chromium, driven by its driver, and pages to look at with it. All of it panics where a
//! test has to fail.

mod browser;
mod pages;

pub use self::browser::{Browser, Scheme, View};
pub use self::pages::{Pages, page};
