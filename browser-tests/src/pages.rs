//! The pages that are looked at.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use indicatif::ProgressBar;
use sluicegate_cli::report::{Heading, Page, SuggestPage, Summary};
use sluicegate_replay::log::{Merged, Source};
use sluicegate_replay::policy::{EVERY_KIND, Policy};
use sluicegate_replay::replay::{Options, Replay};
use sluicegate_replay::suggest::{SuggestOptions, suggest};
use tempfile::TempDir;

/// A folder with a page of each kind.
#[derive(Debug)]
pub struct Pages {
    _folder: TempDir,
    /// The bundled log, with its 17 limiters.
    pub sample: PathBuf,
    /// The same, with requests that wait.
    pub shaped: PathBuf,
    /// Names that would be markup or do not fit, budgets, warnings, and more keys than are kept.
    pub awkward: PathBuf,
    /// No request.
    pub empty: PathBuf,
    /// Suggested limits, of the awkward log and policy.
    pub suggested: PathBuf,
}

/// A policy whose names would be markup, or are long.
const AWKWARD: &str = r#"
[[limiter]]
name = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>"
key = ["client", "path"]
policy = "fixed_window"
limit = 2
interval = "1 minute"
shadow = true

[[limiter]]
name = "a-name-without-any-place-to-break-it-that-is-longer-than-a-phone-is-wide-and-goes-on"
key = "path"
policy = "budget"
amount = 40_000
on = { saturday = 20_000, sunday = 0 }
zone = "Pacific/Auckland"
cost = "bytes"

[[limiter]]
name = "judges nothing"
policy = "fixed_window"
limit = 2
interval = "1 minute"
match = { method = "TRACE" }
"#;

/// The pages, while a test has them.
static SHARED: Mutex<Weak<Pages>> = Mutex::new(Weak::new());

impl Pages {
    /// Returns the pages of a test that has them at this time, or writes them.
    ///
    /// # Panics
    ///
    /// If one cannot be written.
    #[must_use]
    pub fn shared() -> Arc<Pages> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let pages = Arc::new(Pages::new());
            *shared = Arc::downgrade(&pages);
            pages
        })
    }

    fn new() -> Pages {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let log = write("<script>window.hacked=1<>.log", awkward_log());
        let nothing = write("empty.log", String::new());
        let shape = Options {
            shape: true,
            shape_within: Some(Duration::from_secs(2)),
            ..Options::default()
        };
        let few = Options { tally_keys: 200, ..Options::default() };
        let sample = write("sample.html", page(EVERY_KIND, &Source::Sample, &Options::default()));
        let shaped = write("shaped.html", page(EVERY_KIND, &Source::Sample, &shape));
        let suggested = write("suggested.html", suggest_page(AWKWARD, &Source::File(log.clone())));
        let awkward = write("awkward.html", page(AWKWARD, &Source::File(log), &few));
        let empty = write("empty.html", page(AWKWARD, &Source::File(nothing), &Options::default()));
        Pages { _folder: folder, sample, shaped, awkward, empty, suggested }
    }

    /// Returns all of them, with their names.
    #[must_use]
    pub fn all(&self) -> [(&'static str, &PathBuf); 5] {
        [
            ("sample", &self.sample),
            ("shaped", &self.shaped),
            ("awkward", &self.awkward),
            ("empty", &self.empty),
            ("suggested", &self.suggested),
        ]
    }
}

/// Returns the page of a replay.
///
/// # Panics
///
/// If the policy has mistakes or the log cannot be read.
#[must_use]
pub fn page(policy: &str, log: &Source, options: &Options) -> String {
    let logs = vec![log.to_string()];
    let checked = Policy::parse("policy.toml", policy).unwrap();
    let mut replay = Replay::with_options(checked, Options { peaks: true, ..options.clone() });
    let mut lines = Merged::open(std::slice::from_ref(log), &ProgressBar::hidden()).unwrap();
    replay.read(&mut lines).unwrap();
    let summary = Summary::new(&replay, 10, Vec::new());
    let heading = Heading {
        logs,
        policy: "policy.toml".to_owned(),
        took: Duration::ZERO,
        brief: false,
        next: None,
    };
    let page = Page {
        heading: &heading,
        command: "sluicegate replay --policy policy.toml --html report.html access.log".to_owned(),
        policy: policy.to_owned(),
        summary: &summary,
        replay: &replay,
    };
    page.html()
}

/// Returns the page of a search for limits.
fn suggest_page(policy: &str, log: &Source) -> String {
    let checked = Policy::parse("policy.toml", policy).unwrap();
    let (findings, _) = suggest(&checked, &SuggestOptions::default(), &mut || {
        Merged::open(std::slice::from_ref(log), &ProgressBar::hidden())
    })
    .unwrap();
    let command = "sluicegate suggest --policy policy.toml --html page.html access.log".to_owned();
    SuggestPage { logs: vec![log.to_string()], command, findings: &findings }.html()
}

/// Returns lines of several months, late ones and broken ones among them, of many clients and of
/// paths that would be markup or are long.
fn awkward_log() -> String {
    let paths = [
        "/<script>window.hacked=1</script>".to_owned(),
        "/\"onmouseover=\"window.hacked=1".to_owned(),
        format!("/{}", "long".repeat(100)),
        "/\u{202e}sdrawkcab".to_owned(),
    ];
    let mut log = String::new();
    for number in 0..4000_u32 {
        let (month, day) =
            (["May", "Jun", "Jul"][number as usize * 3 / 4000], number % 1333 / 48 + 1);
        let minute = number % 48;
        let client = number.wrapping_mul(2_654_435_761) % 900;
        let path = &paths[(number % 7).min(3) as usize];
        let _ = writeln!(
            log,
            "10.0.{}.{} - - [{day:02}/{month}/2015:10:{minute:02}:03 +0000] \"GET {path} HTTP/1.1\" 200 {}",
            client / 250,
            client % 250,
            number * 7 % 9000,
        );
    }
    log += "no line at all\n";
    log
}
