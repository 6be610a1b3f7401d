//! The page is complete, loads nothing else, and escapes the text that it is given.

use super::*;
use crate::keyed::Skew;
use crate::latency::Latency;
use crate::report::OfKeys;
use crate::watch::{Fairness, Figures, Worst};

fn line(limiter: &'static str, op: Op, threads: usize) -> Line {
    let spread = |median| Spread { min: median * 0.9, median, max: median * 1.2 };
    Line {
        limiter,
        op: op.to_string(),
        threads,
        keys: 1,
        ns_per_op: spread(10.0),
        mops: 100.0,
        mops_spread: spread(100.0),
        watched: Figures {
            latency_ns: Some(Latency { p50: 10.0, p99: 30.0, p999: 900.0, max: 1e6 }),
            worst_ns: Some(Worst { median: 1e6, max: 3e6 }),
            fairness_1ms: (threads > 1).then_some(Fairness { median: 0.95, min: 0.125 }),
        },
        admitted: 1_000_000,
        bound: 1_000_003,
        excess: 0,
        fastest_thread: 1,
        slowest_thread: 1,
        rounds: 3,
        quiet: 3,
        baseline: "governor",
        of_keys: None,
        run: None,
    }
}

fn page_of(lines: &[Line], machine: &str) -> String {
    let page = Page {
        machine: machine.to_owned(),
        command: "contend --html x.html".to_owned(),
        how: "3 rounds".to_owned(),
        threads: &[1, 2],
        lines,
        keyed: &[],
    };
    page.html()
}

/// Returns the names of the elements that are open after `text`, which should be none.
///
/// # Panics
///
/// If an element is closed that is not the last that was opened.
fn open_elements(text: &str) -> Vec<&str> {
    let mut open = Vec::new();
    for tag in text.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or("")) {
        let name = tag.split([' ', '\n', '/']).find(|part| !part.is_empty()).unwrap_or("");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') && !["!DOCTYPE", "meta"].contains(&name) {
            open.push(name);
        }
    }
    open
}

#[test]
fn every_element_is_closed() {
    let lines = [line("sluicegate/gcra", Op::Allow, 1), line("governor", Op::Allow, 2)];
    assert_eq!(open_elements(&page_of(&lines, "a machine")), Vec::<&str>::new());
    assert_eq!(open_elements(&page_of(&[], "a machine")), Vec::<&str>::new());
}

#[test]
fn nothing_is_loaded() {
    let lines = [line("sluicegate/gcra", Op::Allow, 1)];
    // The name of a vocabulary, which browsers do not load.
    let page = page_of(&lines, "a machine").replace("http://www.w3.org/2000/svg", "");
    for link in ["http:", "https:", "src=", "<link", "<script", "@import", "url("] {
        assert!(!page.contains(link), "{link}");
    }
}

#[test]
fn text_is_not_markup() {
    let page = page_of(&[line("<b>&\"", Op::Allow, 1)], "<i>AMD & Intel</i>");
    assert!(page.contains("&lt;i&gt;AMD &amp; Intel&lt;/i&gt;"));
    assert!(!page.contains("<b>") && !page.contains("<i>"));
    assert_eq!(open_elements(&page), Vec::<&str>::new());
}

#[test]
fn every_limiter_has_a_line_in_the_plots_and_one_in_the_tables() {
    let page = page_of(&[line("governor", Op::Allow, 1), line("quota", Op::Allow, 2)], "");
    for limiter in ["governor", "quota"] {
        let count = page.lines().filter(|text| *text == limiter).count();
        assert_eq!(count, 3, "{limiter} in two plots of lines and one of percentiles");
        let rows = page.matches(&format!("<th>{limiter}</th>")).count();
        assert_eq!(rows, 2, "{limiter} in the table of all figures and in that of worst calls");
    }
}

#[test]
fn worst_calls_and_fairness_are_shown_of_every_line_that_has_them() {
    let unwatched = Line { watched: Figures::default(), ..line("quota", Op::Allow, 2) };
    let page = page_of(&[line("governor", Op::Allow, 2), unwatched], "");
    let (_, after) = page.split_once("<section id=\"worst\">").expect("there is a section");
    let (section, _) = after.split_once("</section>").expect("it ends");
    let cells = "<td>1000.0</td><td>3000.0</td><td>0.95</td><td>0.12</td>";
    assert!(section.contains("<th>governor</th>") && section.contains(cells), "{section}");
    assert!(!section.contains("<th>quota</th>"), "{section}");
}

#[test]
fn what_is_spread_over_cores_is_drawn_with_what_is_not() {
    let alone = [line("sluicegate/token_bucket", Op::Allow, 1), line("governor", Op::Allow, 1)];
    assert!(!page_of(&alone, "").contains("Spread over cores"));
    let [bucket, governor] = alone;
    let page = page_of(&[bucket, line("sluicegate/sharded", Op::Allow, 1), governor], "");
    assert!(page.contains("Spread over cores"));
    let drawn = |name: &str| page.lines().filter(|text| *text == name).count();
    // Two plots of each group, and the percentiles.
    assert_eq!((drawn("sharded"), drawn("token_bucket"), drawn("governor")), (3, 5, 5));
}

#[test]
fn limiters_of_keys_are_drawn_against_the_number_of_keys() {
    let keyed = |keys, spread| {
        let (store, key) = ("governor/dashmap", "u64");
        let of_keys = Some(OfKeys { keys, store, key, spread });
        Line { keys, of_keys, ..line("governor/dashmap/u64", Op::Deny, 1) }
    };
    let keyed =
        [keyed(1_000, Skew::Uniform), keyed(100_000, Skew::Uniform), keyed(1_000, Skew::Zipf)];
    let page = Page {
        machine: String::new(),
        command: String::new(),
        how: String::new(),
        threads: &[1, 2],
        lines: &[],
        keyed: &keyed,
    };
    let page = page.html();
    assert_eq!(open_elements(&page), Vec::<&str>::new());
    let count = |text: &str| page.lines().filter(|line| *line == text).count();
    // One of each plot: two spreads, and one and two threads, of which the second has no store.
    assert_eq!((count("1,000 keys"), count("100,000 keys"), count("governor/dashmap")), (2, 1, 2));
    assert!(!page_of(&[line("governor", Op::Allow, 1)], "").contains("id=\"keys\""));
}

#[test]
fn what_is_admitted_beyond_the_bound_is_named() {
    let faulty = Line { excess: 12_345, ..line("governor", Op::Allow, 1) };
    assert!(page_of(&[faulty], "").contains("12\u{202f}345"));
    assert!(page_of(&[line("governor", Op::Allow, 1)], "").contains("None, by any of 1 limiters."));
}

#[test]
fn a_command_line_can_be_given_to_a_shell() {
    let args = ["/a place/contend", "--op", "allow,deny", "--html", "it's mine"];
    let command = command_line(args.into_iter().map(str::to_owned));
    assert_eq!(command, r"contend --op allow,deny --html 'it'\''s mine'");
}
