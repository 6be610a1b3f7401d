//! The progress of a long measurement, on standard error.

use std::io::{IsTerminal as _, stderr};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

/// Lines that are printed in all where there is no terminal.
const LINES: u32 = 4;

/// A bar on a terminal, and a line now and then anywhere else.
///
/// It is drawn by the thread that starts the turns, between two of them: a thread
/// that draws all the time would disturb what is measured.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    rounds: u32,
    began: Instant,
    is_terminal: bool,
}

impl Progress {
    /// Starts a measurement of `rounds` rounds of `turns` turns.
    ///
    /// # Panics
    ///
    /// Never: the template is right.
    #[must_use]
    pub fn new(rounds: u32, turns: usize) -> Progress {
        let is_terminal = stderr().is_terminal();
        // Draws nothing by itself where standard error is no terminal.
        let bar = ProgressBar::new(u64::from(rounds) * turns as u64);
        let style = ProgressStyle::with_template("{bar:32} {percent:>3} %, {eta} left  {msg}");
        bar.set_style(style.expect("the template is right"));
        Progress { bar, rounds, began: Instant::now(), is_terminal }
    }

    /// Reports that a turn of `limiter` is over.
    pub fn end_turn(&self, limiter: &'static str) {
        self.bar.set_message(limiter);
        self.bar.inc(1);
    }

    /// Reports that a round, counted from 1, is over.
    pub fn end_round(&self, round: u32) {
        let step = self.rounds.div_ceil(LINES);
        if !self.is_terminal && (round.is_multiple_of(step) || round == self.rounds) {
            let seconds = self.began.elapsed().as_secs_f64();
            eprintln!("round {round} of {}: {seconds:.1} s", self.rounds);
        }
    }

    /// Reports that all rounds are over.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
