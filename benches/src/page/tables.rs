//! The figures as tables.

use maud::{Markup, html};

use crate::plot::Side;
use crate::report::Line;

/// Returns a table of the permits that each limiter admitted beyond its bound.
pub(super) fn excess<'a>(lines: impl Iterator<Item = &'a Line>) -> Markup {
    let limiters = lines.filter(|line| Side::of(line.limiter) != Side::Clock);
    // In the order of the lines.
    let mut sums: Vec<(&str, u64, u64, u64)> = Vec::new();
    for line in limiters {
        if sums.iter().all(|(limiter, ..)| *limiter != line.limiter) {
            sums.push((line.limiter, 0, 0, 0));
        }
        for (_, admitted, bound, excess) in
            sums.iter_mut().filter(|(limiter, ..)| *limiter == line.limiter)
        {
            *admitted += line.admitted;
            *bound += line.bound;
            *excess += line.excess;
        }
    }
    let (faulty, faultless): (Vec<_>, Vec<_>) = sums.into_iter().partition(|sum| sum.3 > 0);
    html! {
        @if faulty.is_empty() {
            p.none { "None, by any of " (faultless.len()) " limiters." }
        } @else {
            p { (faulty.len()) " of " (faulty.len() + faultless.len()) " limiters admitted too much:" }
            table {
                tr { th { "limiter" } th { "admitted" } th { "bound" } th { "excess" } }
                @for (limiter, admitted, bound, excess) in faulty {
                    tr {
                        th { (limiter) }
                        td { (grouped(admitted)) }
                        td { (grouped(bound)) }
                        td.excess { (grouped(excess)) }
                    }
                }
            }
        }
    }
}

/// Returns a table of the longest calls and the fairness of each line that was watched.
pub(super) fn worst(lines: &[Line], keyed: &[Line]) -> Markup {
    let micros = |nanos: f64| format!("{:.1}", nanos / 1e3);
    let share = |ratio: f64| format!("{ratio:.2}");
    html! {
        table {
            tr {
                th { "limiter" } th { "op" } th { "keys" } th { "threads" }
                th { "worst, µs" } th { "the most" } th { "fairness in 1 ms" } th { "the least" }
            }
            @for line in lines.iter().chain(keyed) {
                @if let Some(worst) = line.watched.worst_ns {
                    tr {
                        th { (line.limiter) }
                        td { (line.op) }
                        td { @if line.of_keys.is_some() { (grouped(line.keys)) } }
                        td { (line.threads) }
                        td { (micros(worst.median)) }
                        td { (micros(worst.max)) }
                        @if let Some(fairness) = line.watched.fairness_1ms {
                            td { (share(fairness.median)) }
                            td { (share(fairness.min)) }
                        } @else {
                            td {} td {}
                        }
                    }
                }
            }
        }
    }
}

/// Returns a table of every line.
pub(super) fn figures(lines: &[Line], keyed: &[Line]) -> Markup {
    let nanos = |figure: f64| format!("{figure:.1}");
    html! {
        table {
            tr {
                th { "limiter" } th { "op" } th { "keys" } th { "threads" } th { "ns" } th { "min..max" }
                th { "p50" } th { "p99" } th { "p99.9" } th { "most" } th { "Mops" }
                th { "1 thread" }
                th { "rounds" } th { "quiet" } th { "admitted" } th { "bound" } th { "excess" }
            }
            @for line in lines.iter().chain(keyed) {
                tr {
                    th { (line.limiter) }
                    td { (line.op) }
                    td { @if line.of_keys.is_some() { (grouped(line.keys)) } }
                    td { (line.threads) }
                    td { (nanos(line.ns_per_op.median)) }
                    td { (nanos(line.ns_per_op.min)) ".." (nanos(line.ns_per_op.max)) }
                    @if let Some(latency) = line.watched.latency_ns {
                        @for figure in [latency.p50, latency.p99, latency.p999, latency.max] {
                            td { (grouped(figure.round() as u64)) }
                        }
                    } @else {
                        td {} td {} td {} td {}
                    }
                    td { (nanos(line.mops)) }
                    td { @if let Some(times) = line.speed_up(if line.of_keys.is_some() { keyed } else { lines }) { (format!("{times:.2} ×")) } }
                    td { (line.rounds) }
                    td { (line.quiet) }
                    td { (grouped(line.admitted)) }
                    td { (grouped(line.bound)) }
                    td { (grouped(line.excess)) }
                }
            }
        }
    }
}

/// Formats a number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            // A space at which no line breaks.
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_threes_from_the_right() {
        let plain = |number| grouped(number).replace('\u{202f}', " ");
        assert_eq!(plain(7), "7");
        assert_eq!(plain(1_234), "1 234");
        assert_eq!(plain(123_456_789), "123 456 789");
    }
}
