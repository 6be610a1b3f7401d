//! The time of a line.

use jiff::Timestamp;
use jiff::fmt::strtime;

use super::civil;

/// Format of a time such as `17/May/2015:10:05:03 +0000`.
const FORMAT: &str = "%d/%b/%Y:%H:%M:%S %z";

/// Reads a time. Those in the form that servers write take the short way.
pub(super) fn parse(text: &[u8]) -> Option<Timestamp> {
    usual(text).or_else(|| strtime::parse(FORMAT, text).ok()?.to_timestamp().ok())
}

/// Reads a time with two digits for everything but the year; `None` says nothing about any
/// other one, and it does not know leap seconds or the 29th of February.
fn usual(text: &[u8]) -> Option<Timestamp> {
    let text: &[u8; 26] = text.try_into().ok()?;
    let two = |at| civil::two(text, at);
    let is = |at: usize, byte| (text[at] == byte).then_some(());
    for (at, byte) in [(2, b'/'), (6, b'/'), (11, b':'), (14, b':'), (17, b':'), (20, b' ')] {
        is(at, byte)?;
    }
    let (day, year) = (two(0)?, two(7)? * 100 + two(9)?);
    let (hour, minute, second) = (two(12)?, two(15)?, two(18)?);
    let east = civil::offset(text[21], two(22)?, two(24)?)?;
    let month = match &text[3..6] {
        b"Jan" => 0,
        b"Feb" => 1,
        b"Mar" => 2,
        b"Apr" => 3,
        b"May" => 4,
        b"Jun" => 5,
        b"Jul" => 6,
        b"Aug" => 7,
        b"Sep" => 8,
        b"Oct" => 9,
        b"Nov" => 10,
        b"Dec" => 11,
        _ => return None,
    };
    let second = civil::second([year, month, day], [hour, minute, second], east)?;
    Timestamp::from_second(second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_reads_what_the_long_one_does() {
        let months =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let mut read = 0;
        for year in (1..=9999).step_by(7).chain([1600, 1900, 1969, 1970, 1972, 2000, 2024, 2100]) {
            for (month, day) in months.iter().zip([31, 29, 28, 30, 1, 2, 30, 31, 31, 9, 10, 32]) {
                for zone in ["+0000", "-0330", "+2359", "+1400", "-9999"] {
                    let text = format!("{day:02}/{month}/{year:04}:23:59:09 {zone}");
                    let long =
                        strtime::parse(FORMAT, &text).and_then(|time| time.to_timestamp()).ok();
                    let short = usual(text.as_bytes());
                    assert!(short.is_none() || short == long, "{text}: {short:?}, {long:?}");
                    read += usize::from(short.is_some());
                }
            }
        }
        assert!(read > 50_000, "{read}");
    }
}
