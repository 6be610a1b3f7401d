//! Logs that look random: steady rates and bursts, pauses, lines out of order and in several zones, and
//! some that are no log lines.

use std::fmt::Write;

use jiff::Timestamp;
use jiff::tz::Offset;

use super::Numbers;

/// Moments at which clocks change, a month ends, or a leap day begins.
const MOMENTS: [&str; 6] = [
    "2015-03-29T00:55:00Z",
    "2015-04-04T14:58:00Z",
    "2015-11-01T05:55:00Z",
    "2016-02-28T23:57:00Z",
    "2015-12-31T23:58:00Z",
    "2015-05-17T10:00:00Z",
];

const CLIENTS: [&str; 9] = [
    "10.0.0.1",
    "10.0.0.2",
    "::ffff:10.0.0.2",
    "2001:db8::2",
    "2001:DB8:0::2",
    "2001:db8:8000::2",
    "example.org",
    "10.0.0.3",
    "-",
];

const PATHS: [&str; 8] =
    ["/users/me", "/users/7", "/users/8/posts/1", "/users/me/x/y", "/users/", "/", "//x//y/", "*"];

/// Returns a log of so many lines.
pub(crate) fn log(seed: u64, lines: usize) -> String {
    let mut numbers = Numbers::new(seed ^ 0x5eed);
    let start: Timestamp = numbers.pick(&MOMENTS).parse().unwrap();
    let (mut second, mut text, mut written) = (start.as_second(), String::new(), 0);
    while written < lines {
        // The same number of lines for some seconds, none for some, or another each second.
        let (per_second, seconds) = match numbers.below(5) {
            0 => (1 + numbers.below(12), 5 + numbers.below(20)),
            1 => (3 + 4 * numbers.below(5), 10),
            2 => (0, 1 + numbers.below(90)),
            3 => (40 + numbers.below(60), 1),
            _ => (numbers.below(6), 1),
        };
        for _ in 0..seconds {
            for _ in 0..per_second {
                // One of a hundred is late, and few are early.
                let off = match numbers.below(100) {
                    0 => -(numbers.below(40) as i64),
                    1 => numbers.below(3) as i64,
                    _ => 0,
                };
                text += &line(&mut numbers, second + off);
                written += 1;
            }
            second += 1;
        }
    }
    text
}

fn line(numbers: &mut Numbers, second: i64) -> String {
    let zone = numbers.pick(&[0, 0, 0, 2, -5, 14, -12]);
    let time = Timestamp::from_second(second)
        .unwrap()
        .to_zoned(Offset::from_hours(zone).unwrap().to_time_zone())
        .strftime("%d/%b/%Y:%H:%M:%S %z")
        .to_string();
    let bytes = match numbers.below(5) {
        0 => "-".to_owned(),
        1 => "0".to_owned(),
        _ => numbers.below(90_000).to_string(),
    };
    let query = numbers.pick(&["", "", "?q=1"]);
    let path = match numbers.below(3) {
        0 => numbers.pick(&PATHS).to_owned(),
        _ => format!("/{}", numbers.below(40)),
    };
    let mut line = format!(
        "{} - {} [{time}] \"{} {path}{query} HTTP/1.1\" {} {bytes}",
        numbers.pick(&CLIENTS),
        numbers.pick(&["-", "ada", "bob"]),
        numbers.pick(&["GET", "GET", "POST", "HEAD"]),
        numbers.pick(&[200, 200, 304, 404, 500]),
    );
    if numbers.one_in(2) {
        let referer = numbers.pick(&["-", "http://a/?b", "7", "1.5", "12", "0.25", "7x", ""]);
        let agent = numbers.pick(&["-", "agent", "an \\\"agent\\\"", "Kube-Probe/1", ""]);
        let _ = write!(line, " \"{referer}\" \"{agent}\"");
    }
    line += numbers.pick(&["\n", "\n", "\r\n"]);
    if numbers.one_in(60) {
        line += numbers.pick(&["no log line\n", "\n", "\r\n", "x - - [] \"\" 1 1\n"]);
    }
    line
}
