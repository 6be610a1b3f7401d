//! One line of an access log, and how one in common or combined format is read.

mod address;
pub(super) mod civil;
mod split;
mod stamp;

use bstr::{BStr, ByteSlice};
use jiff::Timestamp;
use sluicegate_policy::{KeyField, path_of_target};

use self::split::Split;
use super::columns::{ABSENT, Columns};

pub(super) use self::address::client_of_list;
use self::address::write_canonical;

/// Separator of the target of a request and its version.
const PROTOCOL: &[u8] = b" HTTP/";

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
    /// The path of the request's target as it was sent, without scheme, host and query.
    pub path: &'a BStr,
    /// The three digits of the response's status; `-` if there was no answer.
    pub status: &'a BStr,
    /// Size of the response's body; a `-` counts as 0.
    pub bytes: u64,
    /// The `Referer` header.
    pub referer: &'a BStr,
    /// The `User-Agent` header.
    pub agent: &'a BStr,
    /// Headers and columns that a policy asks for.
    pub columns: Columns<'a>,
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
    /// Its time is in none of the forms that are read.
    #[error(
        "`{0:.60}` is no time: RFC 3339 such as `2015-05-17T10:05:03.25Z`, Unix seconds or \
         milliseconds, or the common format's are"
    )]
    OtherTime(String),
    /// It has no time.
    #[error("has no time, which would be named {0:.200}")]
    NoTime(String),
    /// It does not match the pattern of its log.
    #[error("does not match the pattern: {0} at byte {1}")]
    Pattern(String, usize),
    /// It is no JSON object.
    #[error("not a JSON object: {0}")]
    Json(String),
    /// It has not as many values as there are columns.
    #[error("the number of its values is {0}, that of the columns {1}")]
    Columns(usize, usize),
    /// Its last quote is open.
    #[error("a quoted value does not end on its line")]
    OpenQuote,
    /// No line before it names its fields.
    #[error("comes before the `#Fields:` line")]
    NoFields,
    /// Its status is not one.
    #[error("`{0:.40}` is not a status of three digits")]
    Status(String),
    /// Its response size is not a number.
    #[error("`{0:.40}` is not a number of bytes")]
    NoSize(String),
    /// Its response size does not fit in 64 bits.
    #[error("`{0:.40}` is too large to be a response's size")]
    Size(String),
    /// It is longer than a line may be.
    #[error("longer than {}", indicatif::HumanBytes(super::MAX_LINE_BYTES as u64))]
    TooLong,
    /// The log broke off in the middle of it.
    #[error("the log breaks off in the middle of this line")]
    Cut,
    /// Its time is before the one that limiters count from.
    #[error("{0} is before 1970")]
    BeforeEpoch(Timestamp),
    /// Its time is after the last that a clock of 64 bits counts.
    #[error("{0} is after the year 2554, the last that limiters can count to")]
    AfterClock(Timestamp),
    /// Its time is further ahead of the log's first than limiters can count.
    #[error("{0} is more than 100 years after the first line")]
    FarFuture(Timestamp),
    /// Its time is far ahead of those of the lines after it.
    #[error("{0} is more than an hour ahead of the lines around it")]
    Outlier(Timestamp),
}

impl<'a> Line<'a> {
    /// Reads one line, given without its line end.
    ///
    /// # Errors
    ///
    /// [`BadLine`], with the part that is wrong.
    pub fn parse(text: &'a [u8]) -> Result<Line<'a>, BadLine> {
        let found = Split::new(text).ok_or(BadLine::Format)?;
        let (method, target) =
            request(found.request).unwrap_or((ABSENT.as_bstr(), ABSENT.as_bstr()));
        Ok(Line {
            client: found.client.as_bstr(),
            user: user(found.identd, found.user).ok_or(BadLine::Format)?,
            time: stamp::parse(found.time)
                .ok_or_else(|| BadLine::Time(printable(&found.time.to_str_lossy())))?,
            method,
            path: path_of_target(target).as_bstr(),
            status: if is_status(found.status) { found.status } else { ABSENT }.as_bstr(),
            bytes: if is_no_answer(found.bytes) { 0 } else { size(found.bytes)? },
            referer: found.referer.as_bstr(),
            agent: found.agent.as_bstr(),
            columns: Columns::default(),
        })
    }

    /// Writes the client's address in its canonical form, without brackets and port, and one that stands for an
    /// IPv4 address as that. `space` holds the text if it differs.
    #[must_use]
    pub fn with_canonical_client<'b>(self, space: &'b mut Vec<u8>) -> Line<'b>
    where
        'a: 'b,
    {
        if self.has_canonical_client(space) {
            return self;
        }
        Line { client: space.as_bstr(), ..self }
    }

    /// Returns true if the client is in its canonical form, and otherwise writes that form.
    pub(super) fn has_canonical_client(&self, canonical: &mut Vec<u8>) -> bool {
        canonical.clear();
        !write_canonical(self.client, canonical)
    }

    /// Returns the text of one field.
    #[must_use]
    pub fn field(&self, field: KeyField) -> &'a BStr {
        match field {
            KeyField::Client => self.client,
            KeyField::Path => self.path,
            KeyField::Method => self.method,
            KeyField::Status => self.status,
            KeyField::StatusClass => status_class(self.status),
            KeyField::User => self.user,
            KeyField::Referer => self.referer,
            KeyField::Agent => self.agent,
            KeyField::All => BStr::new("all"),
        }
    }
}

/// Replaces control characters, and characters that change the direction of what follows them, so that text from a client
/// cannot steer a terminal or a page.
#[must_use]
pub fn printable(text: &str) -> String {
    let turns = |character: char| {
        matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}')
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace(|character: char| character.is_control() || turns(character), "\u{fffd}")
}

/// Returns a part of a line as it is shown.
pub(super) fn shown(text: &[u8]) -> String {
    printable(&text.to_str_lossy())
}

/// Reads a time such as `17/May/2015:10:05:03 +0000`.
pub(super) fn clf_time(text: &[u8]) -> Option<Timestamp> {
    stamp::parse(text)
}

/// Returns the user in the text between the identd name and the time.
///
/// A user's name may contain spaces, but only if the identd name is absent. Otherwise
/// the line starts with something else, such as a virtual host, and its fields would
/// be taken for others.
fn user<'a>(identd: &[u8], user: &'a [u8]) -> Option<&'a BStr> {
    let user = user.strip_suffix(b" ")?;
    (identd == ABSENT || !user.contains(&b' ')).then_some(user.as_bstr())
}

/// Returns true for a status of three digits, of which a server has sent one.
pub(super) fn is_status(text: &[u8]) -> bool {
    matches!(text, [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'])
}

/// Returns true for what servers write in place of a number if there was no answer: a `-`, noughts, or a negative
/// number.
pub(super) fn is_no_answer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_negative = digits.len() < text.len();
    (is_negative || !text.is_empty())
        && digits.iter().all(|digit| *digit == b'0' || (is_negative && digit.is_ascii_digit()))
}

/// Returns the size of a response in the text, which is digits or a `-`.
pub(super) fn size(text: &[u8]) -> Result<u64, BadLine> {
    if text == ABSENT {
        return Ok(0);
    }
    let digit = |sum: u64, digit: &u8| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    text.iter().try_fold(0, digit).ok_or_else(|| BadLine::Size(text.to_str_lossy().into_owned()))
}

/// Returns the method and the target of a request, if it is an HTTP request. Some clients
/// send spaces in the target.
pub(super) fn request(text: &[u8]) -> Option<(&BStr, &BStr)> {
    let (method, rest) = text.split_at(memchr::memchr(b' ', text)?);
    let rest = &rest[1..];
    let is_method = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    if !method.iter().all(is_method) {
        return None;
    }
    // Nearly every request ends with a version of one or three characters.
    let target = [6, 8].into_iter().find_map(|version| {
        let (target, version) = rest.split_at(rest.len().checked_sub(version + 1)?);
        (version.starts_with(PROTOCOL) && !version[1..].contains(&b' ')).then_some(target)
    });
    let target =
        target.unwrap_or_else(|| rest.rsplit_once_str(PROTOCOL).map_or(rest, |(target, _)| target));
    Some((method.as_bstr(), target.as_bstr()))
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
