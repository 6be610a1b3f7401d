//! The line of callers that wait, without the feature `wait`: nobody can stand in it.

#![expect(clippy::unused_self, reason = "as where callers can wait")]

pub(crate) mod line_lock {
    #[derive(Debug)]
    pub(crate) struct LineLock;

    impl LineLock {
        pub(crate) fn new() -> LineLock {
            LineLock
        }

        pub(crate) fn is_unused(&self) -> bool {
            true
        }

        pub(crate) fn wait_nanos(&self, _now_nanos: u64) -> u64 {
            1
        }
    }
}

pub(crate) mod line {
    pub(crate) fn help<T>(_limiter: &T, _now_nanos: u64) -> bool {
        true
    }

    pub(crate) fn poke<T>(_limiter: &T) {}
}

pub(crate) mod traits {
    macro_rules! waits {
        ($($of:tt)*) => {};
    }

    pub(crate) use {waits, waits as waits_by, waits as reserves_windows};
}
