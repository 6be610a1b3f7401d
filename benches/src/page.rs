//! The report of `contend` as one page, which loads no other file.

mod group;
mod keys;
mod tables;

use std::path::Path;

use clap::ValueEnum as _;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::group::Group;
use crate::latency::EVERY;
use crate::plot::lines::{self, Series};
use crate::plot::{Side, axis::Scale, ink, ranges};
use crate::report::Line;
use crate::spread::Spread;
use crate::subject::Op;

/// The style sheet.
const STYLE: &str = include_str!("page/style.css");

/// The contents of the page.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// The machine that the figures were taken on.
    pub machine: String,
    /// The command that takes them again.
    pub command: String,
    /// The method by which they were taken.
    pub how: String,
    /// Numbers of threads that asked, in order.
    pub threads: &'a [usize],
    /// The figures of limiters without keys.
    pub lines: &'a [Line],
    /// The figures of those that keep keys apart.
    pub keyed: &'a [Line],
}

/// The command that was given, without the program's folder.
#[must_use]
pub fn command_line(mut args: impl Iterator<Item = String>) -> String {
    let program = args.next().unwrap_or_default();
    let name = Path::new(&program)
        .file_name()
        .map_or(program.clone(), |name| name.to_string_lossy().into_owned());
    let quoted = args.map(|arg| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=,./:+".contains(&byte);
        if !arg.is_empty() && arg.bytes().all(is_plain) {
            return arg;
        }
        format!("'{}'", arg.replace('\'', r"'\''"))
    });
    [name].into_iter().chain(quoted).collect::<Vec<_>>().join(" ")
}

impl Page<'_> {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let dark = format!("@media (prefers-color-scheme: dark) {{\n{}}}\n", ink::dark_rules());
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { "Contention" }
                    style { (PreEscaped(STYLE)) (PreEscaped(dark)) }
                }
                body { (self.header()) main { (self.body()) } }
            }
        }
        .into_string()
    }

    fn header(&self) -> Markup {
        html! {
            header {
                h1 { "What a limiter costs, and its callers each other" }
                dl {
                    dt { "Machine" } dd { (self.machine) }
                    dt { "Command" } dd { code { (self.command) } }
                    dt { "How" } dd { (self.how) }
                    dt { "Spread" } dd {
                        "Points are medians of the rounds in which no thread had to wait for a processor, \
                         or of all of them where fewer than three were so; bars are the least and the most \
                         of the same rounds. The time per call is that of the slowest thread, over its own calls."
                    }
                }
                p.legend {
                    span.ours { "this project: bold, filled, cool colours" }
                    span.peer { "peers: thin, hollow, warm colours" }
                    span.clock { "bare clocks, the floor of a time for who reads them: grey" }
                }
                nav {
                    @for op in self.ops() { a href={ "#" (op) } { (op) } }
                    @if !self.keyed.is_empty() { a href="#keys" { "keys" } }
                    a href="#worst" { "worst calls and fairness" }
                    a href="#excess" { "excess" }
                    a href="#figures" { "all figures" }
                }
            }
        }
    }

    fn body(&self) -> Markup {
        html! {
            @for op in self.ops() { (self.section(op)) }
            @if !self.keyed.is_empty() { (keys::section(self.keyed, self.threads)) }
            section #worst {
                h2 { "Worst calls and fairness" }
                p {
                    "The longest of the calls that were timed, one in " (EVERY) ", in microseconds: the median \
                     of the turns, and the most of all; what the system does meanwhile is in it. And the calls \
                     of the slowest thread over those of the fastest in each millisecond: the median, and the \
                     least of all; 1 is even."
                }
                details { summary { "as a table" } (tables::worst(self.lines, self.keyed)) }
            }
            section #excess {
                h2 { "Excess admissions" }
                p {
                    "What was admitted beyond burst + rate × time, the worst of the clocks taken for the time. \
                     Only " code { "edge" } " comes close to the bound while permits are refilled."
                }
                (tables::excess(self.lines.iter().chain(self.keyed)))
            }
            section #figures {
                h2 { "All figures" }
                details { summary { "as a table" } (tables::figures(self.lines, self.keyed)) }
            }
        }
    }

    /// Returns the operations that limiters without keys were asked for.
    fn ops(&self) -> Vec<Op> {
        let asked = |op: &&Op| self.lines.iter().any(|line| line.op == op.to_string());
        Op::value_variants().iter().filter(asked).copied().collect()
    }

    fn section(&self, op: Op) -> Markup {
        let name = op.to_string();
        let lines: Vec<&Line> = self.lines.iter().filter(|line| line.op == name).collect();
        html! {
            section id=(name) {
                h2 { (name) }
                p { (explain(op)) }
                @for (group, lines) in Group::split(&lines) {
                    h3 { (group.title()) }
                    div.pair {
                        (figure(throughput(group.scale()), &self.plot(
                            lines.iter().filter(|line| Side::of(line.limiter) != Side::Clock),
                            |line| line.mops_spread,
                            group.scale(),
                        )))
                        (figure("Time per call of the slowest thread: ns, logarithmic", &self.plot(
                            lines.iter(), |line| line.ns_per_op, Scale::Log,
                        )))
                    }
                }
                h3 { "Single calls" }
                p {
                    "Percentiles of the time of single calls: "
                    (mark("currentColor")) " p50, " (mark("#C4C9D0")) " p99, " (mark("#FFFFFF")) " p99.9. "
                    "The timer's own time is in them, in its steps: it is what " code { "clock/none" }
                    " has, in the section of " code { "allow" } "."
                }
                div.pair {
                    @for &threads in &self.edges() {
                        @let rows = latencies(&lines, threads);
                        @if !rows.is_empty() {
                            (figure(&format!("{threads} thread{}", if threads == 1 { "" } else { "s" }),
                                &ranges::draw(&rows)))
                        }
                    }
                }
            }
        }
    }

    /// Returns the smallest and the largest number of threads.
    fn edges(&self) -> Vec<usize> {
        let mut edges: Vec<usize> =
            self.threads.first().into_iter().chain(self.threads.last()).copied().collect();
        edges.dedup();
        edges
    }

    fn plot<'a>(
        &self,
        lines: impl Iterator<Item = &'a &'a Line>,
        figure: fn(&Line) -> Spread,
        scale: Scale,
    ) -> String {
        let mut series: Vec<Series<'_>> = Vec::new();
        for line in lines {
            let place = self.threads.iter().position(|threads| *threads == line.threads);
            let point = place.map(|place| (place, figure(line)));
            match series.iter_mut().find(|series| series.limiter == line.limiter) {
                Some(series) => series.points.extend(point),
                None => series
                    .push(Series { limiter: line.limiter, points: point.into_iter().collect() }),
            }
        }
        lines::draw(&threads(self.threads), &series, scale)
    }
}

/// Returns the label of each number of threads.
fn threads(threads: &[usize]) -> Vec<String> {
    let label = |threads: &usize| match threads {
        1 => "1 thread".to_owned(),
        more => format!("{more} threads"),
    };
    threads.iter().map(label).collect()
}

/// A plot and what it shows.
fn figure(caption: &str, svg: &str) -> Markup {
    html! { figure { figcaption { (caption) } (PreEscaped(svg)) } }
}

/// The caption of a plot of throughputs.
fn throughput(scale: Scale) -> &'static str {
    match scale {
        Scale::Linear => "Throughput: calls of all threads per microsecond",
        Scale::Log => "Throughput: calls of all threads per microsecond, logarithmic",
    }
}

/// One of the marks of a plot, within a sentence.
fn mark(fill: &str) -> Markup {
    html! { svg.mark viewBox="0 0 10 10" { circle cx="5" cy="5" r="4" stroke="currentColor" fill=(fill) {} } }
}

fn latencies<'a>(lines: &[&'a Line], threads: usize) -> Vec<(&'a str, crate::latency::Latency)> {
    let of_plot = lines.iter().filter(|line| line.threads == threads);
    of_plot.filter_map(|line| Some((line.limiter, line.watched.latency_ns?))).collect()
}

/// Explains an operation, in the words of the page.
fn explain(op: Op) -> &'static str {
    match op {
        Op::Allow => {
            "One permit of a large burst, asked faster than it refills: every call is admitted."
        }
        Op::Full => "One permit of a limiter that is always full: every call is admitted.",
        Op::Deny => "One permit of a limiter that is empty: every call is refused.",
        Op::Edge => {
            "One permit at a rate of a few in a hundred calls: some are admitted, most are refused."
        }
        Op::Insert => "One permit of a key that is new.",
        Op::Beside => {
            "One thread takes single permits of a large burst at full speed; all others ask for the whole \
             burst and are refused. Only the refused calls are counted and timed. A thread alone only asks."
        }
    }
}

#[cfg(test)]
mod tests;
