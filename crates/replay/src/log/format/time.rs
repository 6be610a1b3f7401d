//! Times in other forms than that of the common format.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;

use super::super::line::clf_time;
use super::iso;

/// Numbers below these count seconds, milliseconds and microseconds, and larger ones nanoseconds: the
/// ranges of the years 1973 to 5138 do not overlap.
const UNITS: [(u64, u8); 3] =
    [(100_000_000_000, 0), (100_000_000_000_000, 3), (100_000_000_000_000_000, 6)];

/// A time, and the decimal places of its second.
pub(super) type Stamp = (Timestamp, u8);

/// Reads a time of RFC 3339 or of the common format, in UTC if it has no zone, or a number of seconds or their parts since
/// 1970.
pub(super) fn parse(text: &[u8]) -> Option<Stamp> {
    if text.first()?.is_ascii_digit()
        && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
    {
        return number(text);
    }
    if let Some(stamp) =
        iso::parse(text).or_else(|| clf_without_zone(text)).or_else(|| iso_without_zone(text))
    {
        return Some(stamp);
    }
    let text_without_brackets =
        text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]")).unwrap_or(text);
    if let Some(time) = clf_time(text_without_brackets) {
        return Some((time, 0));
    }
    let text = str::from_utf8(text).ok()?;
    Some((text.parse().ok()?, decimals(text.as_bytes())))
}

/// Reads the common format's time without its zone, in UTC, and with parts of its second, as `HAProxy` writes it.
fn clf_without_zone(text: &[u8]) -> Option<Stamp> {
    let (whole, rest) = text.split_at_checked("06/Feb/2009:12:14:14".len())?;
    let digits = match rest {
        [] => None,
        [b'.', digits @ ..] => Some(digits),
        _ => return None,
    };
    let stamp = (clf_time(&[whole, b" +0000"].concat())?, 0);
    digits.map_or(Some(stamp), |digits| with_fraction(stamp, digits))
}

/// Reads RFC 3339's date and time of day without its zone, in UTC, as programs write them: also with a comma before the parts
/// of a second.
fn iso_without_zone(text: &[u8]) -> Option<Stamp> {
    let (date, rest) = text.split_at_checked("2009-02-06".len())?;
    let (b'T' | b't' | b' ', time) = rest.split_first()? else { return None };
    let is_time = time.iter().all(|byte| byte.is_ascii_digit() || b":.,".contains(byte));
    if is_time { of_parts(date, time) } else { None }
}

/// Reads a date and a time of day, in UTC.
pub(super) fn of_parts(date: &[u8], time: &[u8]) -> Option<Stamp> {
    if let Some(stamp) = iso::of_parts(date, time, 0) {
        return Some(stamp);
    }
    let text = format!("{}T{}", str::from_utf8(date).ok()?, str::from_utf8(time).ok()?);
    let time: DateTime = text.parse().ok()?;
    Some((time.to_zoned(TimeZone::UTC).ok()?.timestamp(), decimals(text.as_bytes())))
}

/// Reads a time by a format of `strftime`; in UTC if it does not say.
pub(super) fn by_format(format: &str, text: &[u8]) -> Option<Stamp> {
    let time = BrokenDownTime::parse(format, text).ok()?;
    let time = match time.offset() {
        Some(_) => time.to_timestamp().ok()?,
        None => time
            .to_timestamp()
            .ok()
            .or_else(|| Some(time.to_datetime().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp()))?,
    };
    Some((time, 0))
}

/// Adds the digits beyond a second.
pub(super) fn with_fraction((time, _): Stamp, digits: &[u8]) -> Option<Stamp> {
    let places = u8::try_from(digits.len()).ok().filter(|places| (1..=9).contains(places))?;
    let nanos = i64::try_from(whole(digits)?).ok()? * 10_i64.pow(9 - u32::from(places));
    Some((time.checked_add(jiff::SignedDuration::from_nanos(nanos)).ok()?, places))
}

fn number(text: &[u8]) -> Option<Stamp> {
    let (whole_part, fraction) = match memchr::memchr(b'.', text) {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    let number = whole(whole_part)?;
    let unit = UNITS.iter().find(|(below, _)| number < *below).map_or(9, |(_, places)| *places);
    let fraction = &fraction[..fraction.len().min(usize::from(9 - unit))];
    let places = unit + fraction.len() as u8;
    let part = if fraction.is_empty() { 0 } else { whole(fraction)? };
    let nanos = i128::from(number) * 10_i128.pow(9 - u32::from(unit))
        + i128::from(part) * 10_i128.pow(9 - u32::from(places));
    Some((Timestamp::from_nanosecond(nanos).ok()?, places))
}

fn whole(digits: &[u8]) -> Option<u64> {
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns the decimal places of the second in a text such as `2015-05-17T10:05:03.250Z`.
fn decimals(text: &[u8]) -> u8 {
    let Some(point) = memchr::memchr2(b'.', b',', text) else { return 0 };
    let digits = text[point + 1..].iter().take_while(|byte| byte.is_ascii_digit());
    digits.count().min(9) as u8
}
