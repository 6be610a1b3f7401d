//! Times such as `2009-02-06T12:14:14.655Z`, as most servers write them into JSON, by a short way: of others, it says
//! nothing.

use jiff::Timestamp;

use super::super::line::civil;

/// Reads a date, `T`, a time of day and an offset from UTC, with the decimal places of the second.
pub(super) fn parse(text: &[u8]) -> Option<(Timestamp, u8)> {
    let (date, rest) = text.split_at_checked("2009-02-06".len())?;
    let rest = rest.strip_prefix(b"T")?;
    let (time, zone) = rest.split_at_checked(memchr::memchr3(b'Z', b'+', b'-', rest)?)?;
    let east = match zone {
        b"Z" => 0,
        [sign, _, _, b':', _, _] => {
            civil::offset(*sign, civil::two(zone, 1)?, civil::two(zone, 4)?)?
        }
        _ => return None,
    };
    of_parts(date, time, east)
}

/// Reads a date and a time of day, `east` seconds from UTC.
pub(super) fn of_parts(date: &[u8], time: &[u8], east: i64) -> Option<(Timestamp, u8)> {
    let &[_, _, _, _, b'-', _, _, b'-', _, _] = date else { return None };
    let (time, digits) = time.split_at_checked("12:14:14".len())?;
    let &[_, _, b':', _, _, b':', _, _] = time else { return None };
    let year = civil::two(date, 0)? * 100 + civil::two(date, 2)?;
    let date = [year, civil::two(date, 5)? - 1, civil::two(date, 8)?];
    let time = [civil::two(time, 0)?, civil::two(time, 3)?, civil::two(time, 6)?];
    let second = civil::second(date, time, east)?;
    let (nanos, places) = match digits {
        [] => (0, 0),
        [b'.', digits @ ..] if (1..=9).contains(&digits.len()) => {
            let mut nanos = 0;
            for digit in digits {
                nanos = nanos * 10 + i32::from(digit.checked_sub(b'0').filter(|own| *own < 10)?);
            }
            (nanos * 10_i32.pow(9 - digits.len() as u32), digits.len() as u8)
        }
        _ => return None,
    };
    Some((Timestamp::new(second, nanos).ok()?, places))
}

#[cfg(test)]
mod tests {
    use jiff::civil::DateTime;
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn the_short_way_reads_what_the_long_one_does() {
        let mut read = 0;
        for year in (1..=9999).step_by(13).chain([1600, 1900, 1969, 1970, 1972, 2000, 2024, 2100]) {
            for (month, day) in (1..).zip([31, 29, 28, 30, 1, 2, 30, 31, 31, 9, 10, 32, 1]) {
                for time in
                    ["23:59:09", "00:00:00.5", "12:60:00.000000001", "00:00:60", "24:00:00.1"]
                {
                    let (date, both) = (format!("{year:04}-{month:02}-{day:02}"), time);
                    let long = format!("{date}T{both}").parse::<DateTime>().ok();
                    let long =
                        long.and_then(|own| Some(own.to_zoned(TimeZone::UTC).ok()?.timestamp()));
                    let short = of_parts(date.as_bytes(), time.as_bytes(), 0).map(|(time, _)| time);
                    assert!(short.is_none() || short == long, "{date} {time}: {short:?}, {long:?}");
                    for zone in ["Z", "+02:30", "-23:59", "+24:00", "z", "+0100"] {
                        let text = format!("{date}T{time}{zone}");
                        let long: Option<Timestamp> = text.parse().ok();
                        let short = parse(text.as_bytes()).map(|(time, _)| time);
                        assert!(short.is_none() || short == long, "{text}: {short:?}, {long:?}");
                        read += usize::from(short.is_some());
                    }
                }
            }
        }
        assert!(read > 40_000, "{read}");
    }

    #[test]
    fn other_forms_are_left_to_the_long_way() {
        for text in [
            "2009-02-06 12:14:14Z",
            "2009-02-06T12:14Z",
            "2009-02-06T12:14:14,5Z",
            "+002009-02-06T12:14:14Z",
            "",
            "T",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(
            parse(b"1969-12-31T23:59:59.25Z"),
            Some((Timestamp::new(0, -750_000_000).unwrap(), 2))
        );
    }
}
