//! Groups of limiters that are drawn together.

use crate::plot::axis::Scale;
use crate::report::Line;

/// Limiters that can be compared: they do the same on the same kind of clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Counter,
    Spread,
    System,
    Coarse,
    Windows,
    Sliding,
    Logs,
}

impl Group {
    const ALL: [Group; 7] = [
        Group::Counter,
        Group::Spread,
        Group::System,
        Group::Coarse,
        Group::Windows,
        Group::Sliding,
        Group::Logs,
    ];

    /// Limiters whose threads each spend from a cache line of their own.
    const SPREAD: [&str; 4] = [
        "sluicegate/sharded",
        "sluicegate/sharded_per_cpu",
        "sluicegate/sharded_coarse",
        "sluicegate/lease",
    ];

    /// The limiters that they are drawn beside, and a clock that they do not always read.
    const NOT_SPREAD: [&str; 4] =
        ["clock/quanta", "sluicegate/token_bucket", "governor", "governor_upkeep"];

    pub(super) fn title(self) -> &'static str {
        match self {
            Group::Counter => "Buckets on the processor's counter",
            Group::Spread => "Spread over cores",
            Group::System => "Buckets on the operating system's clock",
            Group::Coarse => "Buckets on a clock that a thread sets",
            Group::Windows => "Windows that follow one another",
            Group::Sliding => "Windows that slide",
            Group::Logs => "Logs of every admission",
        }
    }

    /// Returns the scale of its throughputs. Those of limiters that share a line and of limiters
    /// that do not are far apart.
    pub(super) fn scale(self) -> Scale {
        if self == Group::Spread { Scale::Log } else { Scale::Linear }
    }

    /// Returns whether the limiter of `line` is drawn in this group. Its baseline tells which clock
    /// it reads; if the baseline is a log, the limiter counts a window, and its name tells the
    /// kind. The log itself is drawn with all of those. The bare measurement is in no group: it
    /// would dwarf all other figures.
    fn has(self, line: &Line) -> bool {
        let is_called = |part: &str| line.limiter.contains(part);
        let of_windows = [Group::Windows, Group::Sliding, Group::Logs];
        match line.baseline {
            _ if line.limiter == "clock/none" => false,
            _ if self == Group::Spread => {
                Group::SPREAD.contains(&line.limiter) || Group::NOT_SPREAD.contains(&line.limiter)
            }
            _ if Group::SPREAD.contains(&line.limiter) => false,
            _ if line.limiter == line.baseline && line.baseline == "mutex_log" => {
                of_windows.contains(&self)
            }
            "governor_monotonic" => self == Group::System,
            "governor_upkeep" => self == Group::Coarse,
            "mutex_log" if is_called("log") => self == Group::Logs,
            "mutex_log" if ["slid", "multi", "trypema"].into_iter().any(is_called) => {
                self == Group::Sliding
            }
            "mutex_log" => self == Group::Windows,
            _ => self == Group::Counter,
        }
    }

    /// The lines of each group that has any.
    pub(super) fn split<'a>(lines: &[&'a Line]) -> Vec<(Group, Vec<&'a Line>)> {
        let of_group = |group: Group| {
            let lines: Vec<&Line> = lines.iter().copied().filter(|line| group.has(line)).collect();
            (group, lines)
        };
        // Without a limiter that is spread over cores there is nothing to compare.
        let is_there = |(group, lines): &(Group, Vec<&Line>)| match group {
            Group::Spread => lines.iter().any(|line| Group::SPREAD.contains(&line.limiter)),
            _ => !lines.is_empty(),
        };
        Group::ALL.into_iter().map(of_group).filter(is_there).collect()
    }
}
