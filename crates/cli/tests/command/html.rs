//! The pages of `replay --html` and `suggest --html`: their figures are those of `--json`, and text never becomes markup.

use std::fs;
use std::path::Path;

use indicatif::HumanCount;
use scraper::{ElementRef, Html, Selector};
use serde_json::Value;

use super::{Folder, json, sluicegate, stderr, stdout};

/// A key and a name that would be markup.
const HOSTILE: &str = "<script>alert('&lt;')</script>";

struct Page {
    text: String,
    html: Html,
}

impl Page {
    fn read(path: &Path) -> Page {
        let text = fs::read_to_string(path).unwrap();
        let html = Html::parse_document(&text);
        assert_eq!(html.errors, Vec::<String>::new());
        Page { text, html }
    }

    fn all(&self, selector: &str) -> Vec<ElementRef<'_>> {
        self.html.select(&Selector::parse(selector).unwrap()).collect()
    }

    fn contains(&self, text: &str) -> bool {
        text_of(self.html.root_element()).contains(text)
    }
}

fn text_of(element: ElementRef<'_>) -> String {
    element.text().collect::<String>().trim().to_owned()
}

/// Returns the figures of an element, in their order.
fn figures(element: ElementRef<'_>) -> Vec<u64> {
    let data = Selector::parse("data").unwrap();
    element.select(&data).map(|data| data.attr("value").unwrap().parse().unwrap()).collect()
}

/// Replays with `--json` and with `--html`, and returns both.
fn both(args: &[&str]) -> (Value, Page) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let mut replay = sluicegate();
    replay.args(["replay", "--json", "--html"]).arg(&path).args(args);
    if !args.contains(&"--policy") {
        replay.args([
            "--policy",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/sample/policy.toml"),
        ]);
    }
    let replay = replay.assert().success();
    (serde_json::from_str(&stdout(&replay)).unwrap(), Page::read(&path))
}

/// Compares each figure of the page with the one that `--json` has.
fn assert_same(report: &Value, page: &Page) {
    let number = |value: &Value| value.as_u64().unwrap();
    let facts = figures(page.all("header dl")[0]);
    let names = ["lines", "skipped", "late", "outliers"];
    assert_eq!(facts, names.map(|name| number(&report[name])));

    let limiters = report["limiters"].as_array().unwrap();
    let rows = page.all("table.summary tbody tr");
    assert_eq!(rows.len(), limiters.len());
    let sections = page.all("main > section[id]");
    assert_eq!(sections.len(), limiters.len());
    for ((limiter, row), section) in limiters.iter().zip(rows).zip(sections) {
        let name = limiter["name"].as_str().unwrap();
        let heading = section.select(&Selector::parse("h2").unwrap()).next().unwrap();
        assert_eq!(text_of(heading), name);
        let waits = limiter.get("waits");
        let mut expected =
            ["keys", "keys_hit", "allowed"].map(|name| number(&limiter[name])).to_vec();
        expected.extend(waits.map(|waits| number(&waits["delayed"])));
        expected.push(number(&limiter["denied"]));
        assert_eq!(figures(row), expected, "{name}");

        let tables: Vec<_> = section.select(&Selector::parse("table.keys").unwrap()).collect();
        let top = |field: &str| limiter[field].as_array().cloned().unwrap_or_default();
        let lists = [("top_delayed", "delayed"), ("top_denied", "denied")];
        let lists = lists.map(|(list, count)| (top(list), count)).into_iter();
        let lists: Vec<_> = lists.filter(|(keys, _)| !keys.is_empty()).collect();
        assert_eq!(tables.len(), lists.len(), "{name}");
        for (table, (keys, field)) in tables.into_iter().zip(lists) {
            let rows: Vec<_> = table.select(&Selector::parse("tbody tr").unwrap()).collect();
            assert_eq!(rows.len(), keys.len(), "{name}");
            for (row, key) in rows.into_iter().zip(&keys) {
                let shown = row.select(&Selector::parse(".name").unwrap()).next().unwrap();
                assert_eq!(text_of(shown), key["key"].as_str().unwrap());
                let of = if field == "denied" {
                    number(&key["allowed"]) + number(&key["denied"])
                } else {
                    number(&key["allowed"])
                };
                assert_eq!(figures(row)[..2], [number(&key[field]), of], "{name}");
                let seen: Vec<_> = row
                    .select(&Selector::parse("time").unwrap())
                    .map(|time| json!(time.attr("datetime").unwrap()))
                    .collect();
                assert_eq!(seen, [key["first_seen"].clone(), key["last_seen"].clone()], "{name}");
            }
        }
        // Of peaks, those of one limit and no overrides are of all keys.
        if let [peaks] =
            &section.select(&Selector::parse("p.peaks").unwrap()).collect::<Vec<_>>()[..]
        {
            assert_eq!(figures(*peaks)[1], number(&limiter["keys"]), "{name}");
        }
    }
}

#[test]
fn the_figures_of_the_page_are_those_of_json() {
    for args in [&["--sample"][..], &["--sample", "--shape", "--shape-within", "2s"]] {
        let (report, page) = both(args);
        assert_same(&report, &page);
        assert!(page.contains("budget: 10,000,000 a day"));
        assert!(page.contains("# A policy for `sluicegate replay`"), "the policy as it was read");
    }
    let folder = Folder::new();
    let path = |name: &str| folder.0.path().join(name).display().to_string();
    let (report, page) = both(&["--policy", &path("policy.toml"), &path("access.log")]);
    assert_same(&report, &page);
    // Of client a, four requests at once; of b, two.
    let peaks = page.all("p.peaks").into_iter().map(figures).collect::<Vec<_>>();
    assert_eq!(peaks[0], [1, 2, 2, 4, 4, 4]);
    assert!(
        text_of(page.all("p.peaks")[0]).starts_with("1 of 2 keys (50.0 %) go over the limit of 2")
    );
    let waits = both(&["--policy", &path("policy.toml"), "--shape", &path("access.log")]);
    let waits = figures(waits.1.all("figure")[1]);
    let found = &both(&["--policy", &path("policy.toml"), "--shape", &path("access.log")]).0;
    let found = &found["limiters"][0];
    let names = ["p50_nanos", "p90_nanos", "p99_nanos", "max_nanos"];
    assert_eq!(waits[2..6], names.map(|name| found["waits"][name].as_u64().unwrap()));
}

#[test]
fn keys_over_the_limit_are_those_that_were_denied() {
    let (report, page) = both(&["--sample", "--top", "0"]);
    for name in
        ["per-client", "login", "api", "reload", "errors", "egress", "pages", "pages-log", "daily"]
    {
        let limiters = report["limiters"].as_array().unwrap();
        let index = limiters.iter().position(|limiter| limiter["name"] == *name).unwrap();
        let peaks = page.all(&format!("#limiter-{} p.peaks", index + 1));
        let denied = limiters[index]["top_denied"].as_array().unwrap().len() as u64;
        assert_eq!(figures(peaks[0])[0], denied, "{name}");
    }
}

#[test]
fn levels_of_a_hierarchy_are_on_the_page() {
    let folder = Folder::new();
    let policy = folder.file(
        "levels.toml",
        "[[hierarchy]]\nname = \"page\"\nkey = \"path\"\npolicy = \"fixed_window\"\nlimit = 20\n\
         interval = \"1 minute\"\n\n[[hierarchy]]\nname = \"client\"\nkey = \"client\"\n\
         policy = \"fixed_window\"\nlimit = 60\ninterval = \"1 minute\"\n",
    );
    let (report, page) = both(&["--sample", "--policy", policy.to_str().unwrap()]);
    let hierarchy = &report["hierarchy"];
    let number = |value: &Value| value.as_u64().unwrap();
    let verdict = text_of(page.all("ul.verdicts li")[0]);
    let denied = HumanCount(number(&hierarchy["levels"][0]["denied"]));
    assert!(
        verdict.starts_with("page of ") && verdict.contains(&format!("denied {denied} of")),
        "{verdict}"
    );
    let passed = page.all("#levels > p")[0];
    assert_eq!(figures(passed), [number(&hierarchy["allowed"]), number(&hierarchy["denied"])]);
    let rows = page.all("#levels > table:first-of-type tbody tr");
    let levels = hierarchy["levels"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(levels.iter().all(|level| number(&level["denied"]) > 0), "{hierarchy}");
    for (row, level) in rows.into_iter().zip(levels) {
        let columns = ["keys", "keys_hit", "denied"].map(|column| number(&level[column]));
        assert_eq!(figures(row), columns);
    }
    let listed: usize =
        levels.iter().map(|level| level["top_denied"].as_array().unwrap().len()).sum();
    assert_eq!(page.all("#levels table.keys tbody tr").len(), listed);
}

#[test]
fn the_page_of_suggested_limits_has_the_figures_of_json_and_runs_its_own_script_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let suggested = sluicegate()
        .args(["suggest", "--json", "--top", "0", "--sample", "--kind", "sliding_window"])
        .args(["--interval", "1 minute", "--key", "path", "--at-least", "50", "--html"])
        .arg(&path)
        .assert()
        .success();
    let limiter = &json(&suggested)["limiters"][0];
    let page = Page::read(&path);
    let number = |value: &Value| value.as_u64().unwrap();
    let shown = page.all(".points tbody tr").into_iter().map(figures).collect::<Vec<_>>();
    let points = limiter["curve"].as_array().unwrap().iter();
    let points =
        points.map(|point| ["limit", "keys_hit", "denied"].map(|name| number(&point[name])));
    assert_eq!(shown, points.collect::<Vec<_>>());
    let chosen = page.all(".points [aria-current]");
    assert_eq!(figures(chosen[0])[0], number(&limiter["suggested"]));
    let line = page.all("svg .chosen")[0];
    assert_eq!(line.attr("x1"), chosen[0].attr("data-x"));

    // The keys that need most, of which the first are those that are hit.
    let keys = page.all(".keys tbody tr");
    let hit = limiter["hit"].as_array().unwrap();
    assert!(keys.len() == 100 && hit.len() > 10, "{} of {}", keys.len(), hit.len());
    let marked: Vec<_> = keys.iter().filter(|key| key.attr("class") == Some("hit")).collect();
    assert_eq!(marked.len(), hit.len().min(100));
    for key in marked {
        let name = text_of(key.select(&Selector::parse(".name").unwrap()).next().unwrap());
        let found = hit.iter().find(|hit| name == *hit["key"].as_str().unwrap()).unwrap();
        let expected = ["least_limit", "denied", "requests"].map(|field| number(&found[field]));
        assert_eq!(figures(*key), expected, "{name}");
    }

    let policy = page.all("meta[http-equiv=Content-Security-Policy]")[0].attr("content").unwrap();
    assert!(policy.contains("script-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.all("script").len(), 1);
    assert_eq!(page.all("link, img, iframe, [style], [src], [onclick]").len(), 0);
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let (_, page) = both(&["--sample"]);
    let policy = page.all("meta[http-equiv=Content-Security-Policy]")[0].attr("content").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"));
    for tag in ["script", "link", "img", "iframe", "object", "[style]", "[src]", "[onclick]"] {
        assert_eq!(page.all(tag).len(), 0, "{tag}");
    }
    let outside = |link: &ElementRef<'_>| !link.attr("href").unwrap().starts_with('#');
    assert!(!page.all("[href]").iter().any(outside));
    for text in ["http://", "https://", "@import", "url("] {
        assert!(!page.text.contains(text), "{text}");
    }
}

#[test]
fn every_table_has_a_caption_and_every_plot_a_text() {
    let (_, page) = both(&["--sample"]);
    let tables = page.all("table").len();
    assert!(tables > 17);
    assert_eq!(page.all("table > caption").len(), tables);
    let plots = page.all("svg");
    assert!(plots.len() > 3 * 17);
    for plot in plots {
        assert_eq!(plot.attr("role"), Some("img"));
        assert!(plot.attr("aria-label").is_some_and(|text| text.len() > 20));
    }
}

#[test]
fn hostile_names_are_text() {
    let folder = Folder::new();
    let policy = format!(
        "[[limiter]]\nname = \"{HOSTILE}\"\nkey = \"path\"\npolicy = \"fixed_window\"\nlimit = 1\n\
         interval = \"1 hour\"\n# {HOSTILE}\n"
    );
    folder.file("policy.toml", &policy);
    let request = |path: &str| {
        format!("a - - [17/May/2015:10:05:03 +0000] \"GET {path} HTTP/1.1\" 200 1\n").repeat(2)
    };
    let hostile = HOSTILE.replace(' ', "");
    let long = format!("/{}", "é".repeat(5000));
    let lines = [hostile.as_str(), "/\u{1b}[31m\u{202e}", &long].map(request).concat();
    folder.file("<b>.log", lines);
    folder.replay(&["--html", "page.html", "<b>.log"], "").success();
    let page = Page::read(&folder.0.path().join("page.html"));
    assert_eq!(page.all("script, b").len(), 0);
    assert_eq!(text_of(page.all("#limiter-1 h2")[0]), HOSTILE);
    let names: Vec<String> = page.all(".name").into_iter().map(text_of).collect();
    assert!(names.contains(&hostile), "{names:?}");
    assert!(names.iter().all(|name| name.chars().count() <= 161));
    assert!(page.contains("<b>.log"));
    assert!(text_of(page.all("pre")[0]).contains(HOSTILE));
    assert!(names.contains(&"/\u{fffd}[31m\u{fffd}".to_owned()), "{names:?}");
    assert!(!page.text.contains(['\u{1b}', '\u{202e}']));
}

#[test]
fn the_size_of_a_page_is_bounded_and_estimates_are_said_to_be_some() {
    let folder = Folder::new();
    let line = |client: usize| {
        format!("c{client} - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n")
    };
    let log: String = (0..3).flat_map(|_| (0..20_000).map(line)).collect();
    folder.file("many.log", log);
    let args = ["--top", "0", "--tally-keys", "1000", "--html", "page.html", "many.log"];
    folder.replay(&args, "").success();
    let page = Page::read(&folder.0.path().join("page.html"));
    assert!(page.text.len() < 200_000, "{}", page.text.len());
    assert!(page.all("#limiter-1 table.keys tbody tr").len() <= 100);
    let peaks = page.all("#limiter-1 p.peaks")[0];
    assert!(text_of(peaks).starts_with("About "), "{}", text_of(peaks));
    let [over, keys] = [0, 1].map(|place| figures(peaks)[place]);
    assert!((15_000..25_000).contains(&keys) && over == keys, "{over} of {keys}");
    assert!(page.contains("An estimate: more keys than --tally-keys were seen, so one in 32 was"));
    assert!(page.contains("saw about 2"), "the warning");
}

#[test]
fn warnings_and_what_could_not_be_read_are_on_the_page() {
    let folder = Folder::new();
    let gzip = super::gzip(&super::LOG.repeat(1000));
    folder.file("cut.log.gz", &gzip[..gzip.len() / 2]);
    folder.replay(&["--html", "page.html", "cut.log.gz"], "").code(1);
    let page = Page::read(&folder.0.path().join("page.html"));
    let warnings = text_of(page.all("section.warnings")[0]);
    assert!(warnings.contains("Not all of the logs were judged."), "{warnings}");
    assert!(warnings.contains("cut.log.gz"), "{warnings}");
    // Nothing is judged.
    folder.file("empty.log", "");
    folder.replay(&["--html", "page.html", "empty.log"], "").code(3);
    let page = Page::read(&folder.0.path().join("page.html"));
    assert!(page.contains("no line was judged"));
    assert!(page.contains("Replay of 0 requests"));
}

#[test]
fn the_usual_report_is_printed_beside_the_page_which_replaces_a_file() {
    let folder = Folder::new();
    let path = folder.file("page.html", "x".repeat(1 << 20));
    let replay = folder.replay(&["--html", "page.html", "access.log"], "").success();
    assert!(stdout(&replay).contains("\nlimiters\n"));
    assert_eq!(stderr(&replay), "");
    let page = Page::read(&path);
    assert!(page.text.starts_with("<!DOCTYPE html>") && page.text.ends_with("</html>"));
    assert!(page.contains("sluicegate replay --policy policy.toml --html page.html access.log"));
    let next: Vec<String> = page.all("dd").into_iter().map(text_of).collect();
    for command in [
        "put it in force: sluicegate serve --policy policy.toml",
        "the most that it admits: sluicegate explain policy.toml",
    ] {
        assert!(next.iter().any(|line| line == command), "{next:?}");
    }
    assert!(!page.text.contains('\u{fffd}'));
    let help = stdout(&sluicegate().args(["replay", "--help"]).assert().success());
    assert!(help.contains("a file of this name is replaced"), "{help}");
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_the_logs_are_read() {
    let folder = Folder::new();
    for (file, why) in [("no/page.html", "No such file"), (".", "directory")] {
        // The log does not exist either, and is not looked for.
        let failed = folder.replay(&["--html", file, "missing.log"], "").code(2);
        let error = stderr(&failed);
        assert!(
            error.starts_with(&format!("error: --html {file}: ")) && error.contains(why),
            "{error}"
        );
        assert_eq!(stdout(&failed), "");
    }
    for file in ["access.log", "policy.toml", "./access.log"] {
        let before = fs::read(folder.0.path().join(file)).unwrap();
        let failed = folder.replay(&["--html", file, "access.log"], "").code(2);
        assert!(
            stderr(&failed).contains("would replace a file that is read"),
            "{}",
            stderr(&failed)
        );
        assert_eq!(fs::read(folder.0.path().join(file)).unwrap(), before);
    }
    let log = folder.0.path().join("access.log");
    let before = fs::read(&log).unwrap();
    let failed = std::process::Command::new(env!("CARGO_BIN_EXE_sluicegate"))
        .args(["replay", "--html"])
        .arg(&log)
        .stdin(fs::File::open(&log).unwrap())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&failed.stderr);
    assert!(error.contains("would replace the file that standard input reads"), "{error}");
    assert_eq!((failed.status.code(), fs::read(&log).unwrap()), (Some(2), before));
    let failed = folder.replay(&["--html", "-", "access.log"], "").code(2);
    assert!(stderr(&failed).contains("--html - names no file"), "{}", stderr(&failed));
    // Nothing is left behind by a replay that comes to nothing.
    folder.replay(&["--html", "page.html", "missing.log"], "").code(1);
    assert!(!folder.0.path().join("page.html").exists());
    folder.file("page.html", "mine");
    folder.replay(&["--html", "page.html", "missing.log"], "").code(1);
    assert_eq!(fs::read_to_string(folder.0.path().join("page.html")).unwrap(), "mine");
}
