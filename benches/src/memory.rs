//! The memory that the process has, and may have.

use std::fs;

/// Returns the KiB of it that are resident, or `None` if the system does not report them.
/// Linux does: this file walks the pages, whereas the cheaper ones add up what each
/// processor has counted, and are some hundreds of KiB off.
#[must_use]
pub fn resident_kib() -> Option<u64> {
    parse(&fs::read_to_string("/proc/self/smaps_rollup").ok()?)
}

/// Mappings that a thread takes: its stack, one more for the handler of an overflow,
/// and a guard before each.
const MAPPINGS: usize = 4;

/// Returns the number of further threads that the process has mappings for, if the system
/// reports it. Ask beforehand: a thread that gets its stack and no more ends the process.
pub(crate) fn room_for_threads() -> Option<usize> {
    let most: usize = fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()?;
    let used = fs::read_to_string("/proc/self/maps").ok()?.lines().count();
    Some(most.saturating_sub(used) / MAPPINGS)
}

fn parse(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_part_is_the_line_of_that_name() {
        assert_eq!(parse("00-ff ---p [rollup]\nRss:    1234 kB\nPss:  99 kB\n"), Some(1_234));
        assert_eq!(parse("nothing"), None);
    }
}
