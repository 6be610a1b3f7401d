//! One line of an access log, in common or combined format.

use std::sync::LazyLock;

use bstr::{BStr, ByteSlice};
use jiff::Timestamp;
use jiff::fmt::strtime;
use regex::bytes::Regex;
use serde::Deserialize;

/// Common log format, with or without the two quoted fields of the combined one.
///
/// Works on bytes, since what clients send is often not UTF-8. Accepts more
/// fields after the agent, as in nginx's `main` format, and an agent that was cut
/// off at the end of the line.
///
/// At every byte there is one way to go on, which lets `regex` match and capture
/// in one pass. Checks that would break this are left to [`user`] and [`request`].
static FORMAT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x-u) ^
        (?<client>\S+) \x20 (?<identd>\S+) \x20 (?<user>[^\[]+)
        \[ (?<time>[^\]]+) \] \x20
        " (?<request>(?:[^"\\]|\\.)*) " \x20
        (?<status>[0-9]{3}|-) \x20
        (?<bytes>[0-9]+|-)
        (?: $ |
            \x20 " (?<referer>(?:[^"\\]|\\.)*) "
            \x20 " (?<agent>(?:[^"\\]|\\.)*) (?: $ | " (?: $ | \x20 ) ) )"#,
    )
    .expect("the pattern is a constant")
});

/// Format of a time such as `17/May/2015:10:05:03 +0000`.
const TIME: &str = "%d/%b/%Y:%H:%M:%S %z";

/// The text of a field that is absent.
const ABSENT: &[u8] = b"-";

/// The fields of a line. A field that the line leaves out, or that its format does not
/// have, is `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Address or name of the client.
    pub client: &'a BStr,
    /// The user that the client signed in as.
    pub user: &'a BStr,
    /// Time of the request, by the server.
    pub time: Timestamp,
    /// `GET`, `POST` and so on.
    pub method: &'a BStr,
    /// The request's target up to its `?`.
    pub path: &'a BStr,
    /// The three digits of the response's status.
    pub status: &'a BStr,
    /// Size of the response's body; a `-` counts as 0.
    pub bytes: u64,
    /// The `Referer` header.
    pub referer: &'a BStr,
    /// The `User-Agent` header.
    pub agent: &'a BStr,
}

/// A field, or a part of one, that keys can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// [`Line::client`]
    Client,
    /// [`Line::path`]
    Path,
    /// [`Line::method`]
    Method,
    /// [`Line::status`]
    Status,
    /// The first digit of the status: `2xx`.
    StatusClass,
    /// [`Line::user`]
    User,
    /// [`Line::referer`]
    Referer,
    /// [`Line::agent`]
    Agent,
    /// No field: the whole stream has one key.
    All,
}

/// A reason why a line cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    /// It does not have the fields of either format.
    #[error("not in common or combined log format")]
    Format,
    /// Its time is not valid.
    #[error("`{0:.40}` is not a time such as `17/May/2015:10:05:03 +0000`")]
    Time(String),
    /// Its response size does not fit in 64 bits.
    #[error("`{0:.40}` is too large to be a response's size")]
    Size(String),
    /// Its time is before the one that limiters count from.
    #[error("{0} is before 1970")]
    BeforeEpoch(Timestamp),
    /// Its time is further ahead of the log's first than limiters can count.
    #[error("{0} is more than 100 years after the first line")]
    FarFuture(Timestamp),
}

impl<'a> Line<'a> {
    /// Reads one line, given without its line end.
    ///
    /// # Errors
    ///
    /// [`BadLine`], with the part that is wrong.
    pub fn parse(text: &'a [u8]) -> Result<Line<'a>, BadLine> {
        let found = FORMAT.captures(text).ok_or(BadLine::Format)?;
        let field = |name| found.name(name).map_or(ABSENT, |field| field.as_bytes()).as_bstr();
        let (time, size) = (field("time"), field("bytes"));
        let (method, target) =
            request(field("request")).unwrap_or((ABSENT.as_bstr(), ABSENT.as_bstr()));
        Ok(Line {
            client: field("client"),
            user: user(field("identd"), field("user")).ok_or(BadLine::Format)?,
            time: strtime::parse(TIME, time)
                .and_then(|time| time.to_timestamp())
                .map_err(|_| BadLine::Time(printable(&time.to_str_lossy())))?,
            method,
            path: target.split_once_str("?").map_or(target, |(path, _)| path.as_bstr()),
            status: field("status"),
            bytes: match size.to_str_lossy().as_ref() {
                "-" => 0,
                digits => digits.parse().map_err(|_| BadLine::Size(digits.to_owned()))?,
            },
            referer: field("referer"),
            agent: field("agent"),
        })
    }

    /// Returns the text of one field.
    #[must_use]
    pub fn field(&self, field: Field) -> &'a BStr {
        match field {
            Field::Client => self.client,
            Field::Path => self.path,
            Field::Method => self.method,
            Field::Status => self.status,
            Field::StatusClass => status_class(self.status),
            Field::User => self.user,
            Field::Referer => self.referer,
            Field::Agent => self.agent,
            Field::All => BStr::new("all"),
        }
    }
}

/// Replaces control characters, so that text from a client cannot steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// Returns the user in the text between the identd name and the time.
///
/// A user's name may contain spaces, but only if the identd name is absent. Otherwise
/// the line starts with something else, such as a virtual host, and its fields would
/// be taken for others.
fn user<'a>(identd: &BStr, user: &'a BStr) -> Option<&'a BStr> {
    let user = user.strip_suffix(b" ")?;
    (*identd == *ABSENT || !user.contains(&b' ')).then_some(user.as_bstr())
}

/// Returns the method and the target of a request, if it is an HTTP request. Some clients
/// send spaces in the target.
fn request(text: &BStr) -> Option<(&BStr, &BStr)> {
    let (method, rest) = text.split_once_str(" ")?;
    let is_method = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let target = rest.rsplit_once_str(" HTTP/").map_or(rest, |(target, _)| target);
    method.iter().all(is_method).then_some((method.as_bstr(), target.as_bstr()))
}

fn status_class(status: &BStr) -> &'static BStr {
    BStr::new(match status.first() {
        Some(b'1') => "1xx",
        Some(b'2') => "2xx",
        Some(b'3') => "3xx",
        Some(b'4') => "4xx",
        Some(b'5') => "5xx",
        _ => "-",
    })
}

#[cfg(test)]
mod tests;
