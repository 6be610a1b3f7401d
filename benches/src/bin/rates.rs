//! Prints the errors of the rates of limiters, on clocks that are moved by hand.
//! Prints the tables of docs/compare.md.

use comfy_table::Table;
use sluicegate_benches::rates::{
    self, Governor, Nominal, Ours, POLLINGS, RATES, Ratelimit, Ratelock,
};
use sluicegate_benches::report::{self, Style};

fn main() {
    println!("### In the long run\n\n{}", long_run());
    println!("\n### Asked often\n\n{}", asked_often());
}

fn long_run() -> Table {
    let mut table = report::new_table(Style::Markdown);
    table.set_header([
        "rate",
        "sluicegate",
        "governor",
        "quota (computed)",
        "ratelimit",
        "ratelock",
    ]);
    for (index, rate) in RATES.into_iter().enumerate() {
        eprintln!("rate {} of {}: {}", index + 1, RATES.len(), rate.name);
        table.add_row([
            rate.name.to_owned(),
            error(rates::long_run_error::<Ours>(rate)),
            error(rates::long_run_error::<Governor>(rate)),
            error(Some(quota_error(rate))),
            error(rates::long_run_error::<Ratelimit>(rate)),
            error(rates::long_run_error::<Ratelock>(rate)),
        ]);
    }
    report::align(&mut table, &[0]);
    table
}

fn asked_often() -> Table {
    let mut table = report::new_table(Style::Markdown);
    table.set_header([
        "rate",
        "asked every",
        "for",
        "earned",
        "sluicegate",
        "governor",
        "ratelimit",
        "ratelock",
    ]);
    for polling in POLLINGS {
        let granted = |granted: Option<u64>| {
            granted.map_or_else(|| "none such".to_owned(), |granted| granted.to_string())
        };
        table.add_row([
            polling.rate.name.to_owned(),
            format!("{} ns", polling.every.as_nanos()),
            format!("{} s", polling.span.as_secs()),
            polling.rate.earned(polling.span).to_string(),
            granted(polling.granted::<Ours>()),
            granted(polling.granted::<Governor>()),
            granted(polling.granted::<Ratelimit>()),
            granted(polling.granted::<Ratelock>()),
        ]);
    }
    report::align(&mut table, &[0]);
    table
}

#[expect(clippy::cast_precision_loss, reason = "an error is shown to three digits")]
fn quota_error(rate: Nominal) -> f64 {
    let interval_nanos = rate.period.as_nanos() as f64 / rate.permits as f64;
    interval_nanos / rates::quota_spacing_nanos(rate) - 1.0
}

/// An error as a share. What is below the resolution is none.
fn error(error: Option<f64>) -> String {
    match error {
        None => "none such".to_owned(),
        Some(error) if error.abs() <= 1e-12 => "0".to_owned(),
        Some(error) if error.abs() < 1e-4 => format!("{error:+.1e}"),
        Some(error) => format!("{:+.2} %", error * 100.0),
    }
}
