//! Stamps of a log, as short as its span allows.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The way in which stamps of one log are written, in UTC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps(&'static str);

impl Stamps {
    /// Returns the shortest way that tells the times of a log of that span apart.
    pub(super) fn within(span: Option<(Timestamp, Timestamp)>) -> Stamps {
        let same = |format: &str| {
            span.is_none_or(|(first, last)| written(first, format) == written(last, format))
        };
        Stamps(if same("%F") {
            "%T"
        } else if same("%Y") {
            "%d %b %H:%M"
        } else {
            "%F"
        })
    }

    /// Returns a stamp in words.
    pub(super) fn of(self, stamp: Timestamp) -> String {
        written(stamp, self.0)
    }
}

fn written(stamp: Timestamp, format: &str) -> String {
    stamp.to_zoned(TimeZone::UTC).strftime(format).to_string()
}

/// Returns the time that is so many nanoseconds after 1970.
pub(super) fn stamp(nanos: u64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(nanos)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_as_short_as_the_span_allows() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let first = at("2015-05-17T10:05:03Z");
        for (last, text) in [
            ("2015-05-17T23:59:59Z", "10:05:03"),
            ("2015-05-18T00:00:00Z", "17 May 10:05"),
            ("2016-01-01T00:00:00Z", "2015-05-17"),
        ] {
            assert_eq!(Stamps::within(Some((first, at(last)))).of(first), text);
        }
        assert_eq!(Stamps::within(None).of(first), "10:05:03");
    }
}
