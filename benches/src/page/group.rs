//! Which limiters are drawn together.

use crate::report::Line;

/// Limiters that can be compared: they do the same on the same kind of clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Counter,
    System,
    Coarse,
    Windows,
    Sliding,
    Logs,
}

impl Group {
    const ALL: [Group; 6] =
        [Group::Counter, Group::System, Group::Coarse, Group::Windows, Group::Sliding, Group::Logs];

    pub(super) fn title(self) -> &'static str {
        match self {
            Group::Counter => "Buckets on the processor's counter",
            Group::System => "Buckets on the operating system's clock",
            Group::Coarse => "Buckets on a clock that a thread sets",
            Group::Windows => "Windows that follow one another",
            Group::Sliding => "Windows that slide",
            Group::Logs => "Logs of every admission",
        }
    }

    /// Whom a limiter is compared with says what clock it has; if that is a log, it
    /// counts a window, and its name says what kind. The log itself is drawn with
    /// all of those, and the bare measurement with none: it would be all there is
    /// room for.
    fn has(self, line: &Line) -> bool {
        let is_called = |part: &str| line.limiter.contains(part);
        let of_windows = [Group::Windows, Group::Sliding, Group::Logs];
        match line.baseline {
            _ if line.limiter == "clock/none" => false,
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
        Group::ALL.into_iter().map(of_group).filter(|(_, lines)| !lines.is_empty()).collect()
    }
}
