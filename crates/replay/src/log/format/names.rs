//! The fields of a request, and the names that logs give them.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::super::columns::Asked;
use super::{FormatError, Used};

/// A part of a line that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Client,
    User,
    /// A whole stamp.
    Time,
    /// The part of a stamp beyond its second, in milliseconds or microseconds.
    Fraction,
    Date,
    TimeOfDay,
    /// `GET /path HTTP/1.1`
    Request,
    Method,
    Path,
    Status,
    Bytes,
    Referer,
    Agent,
}

/// The number of slots.
pub(super) const SLOTS: usize = Slot::Agent as usize + 1;

/// The names that fields have in `--fields`, and those by which they are found without it, the
/// preferred first.
const FIELDS: [(&str, Slot, &[&str]); 12] = [
    (
        "client",
        Slot::Client,
        &[
            "client",
            "remote_addr",
            "client_ip",
            "c-ip",
            "clientip",
            "remote_ip",
            "ip",
            "request.client_ip",
            "request.remote_ip",
            "ClientHost",
            "ClientAddr",
            "ClientIP",
            "clientIp",
            "client_addr",
            "client_address",
            "client.ip",
            "client.address",
            "httpRequest.remoteIp",
            "downstream_remote_address",
            "remote_address",
            "remoteAddress",
            "remoteIp",
            "source.ip",
            "source_ip",
            "src_ip",
            "sourceIPAddress",
        ],
    ),
    (
        "user",
        Slot::User,
        &[
            "user",
            "remote_user",
            "cs-username",
            "user_id",
            "ClientUsername",
            "user.name",
            "user_name",
            "username",
        ],
    ),
    (
        "time",
        Slot::Time,
        &[
            // Traefik's, beside a `time` of whole seconds.
            "StartUTC",
            "time",
            "timestamp",
            "@timestamp",
            "ts",
            "msec",
            "time_iso8601",
            "time_local",
            "datetime",
            "start_time",
            "EdgeStartTimestamp",
            "eventTime",
            // The journal's.
            "__REALTIME_TIMESTAMP",
        ],
    ),
    ("date", Slot::Date, &["date"]),
    ("time_of_day", Slot::TimeOfDay, &["time"]),
    ("request", Slot::Request, &["request", "request_line"]),
    (
        "method",
        Slot::Method,
        &[
            "method",
            "request_method",
            "cs-method",
            "request.method",
            "RequestMethod",
            "ClientRequestMethod",
            "httpRequest.requestMethod",
            "http.request.method",
            "http_method",
        ],
    ),
    (
        "path",
        Slot::Path,
        &[
            "path",
            "uri",
            "request_uri",
            "url",
            "cs-uri-stem",
            "cs-uri",
            "request.uri",
            "RequestPath",
            "ClientRequestURI",
            "ClientRequestPath",
            "httpRequest.requestUrl",
            "requestUrl",
            "request_url",
            "request_path",
            "url.path",
            "url.original",
        ],
    ),
    (
        "status",
        Slot::Status,
        &[
            "status",
            "sc-status",
            "status_code",
            "DownstreamStatus",
            "EdgeResponseStatus",
            "httpRequest.status",
            "http.response.status_code",
            "response_code",
            "response.status",
        ],
    ),
    (
        "bytes",
        Slot::Bytes,
        &[
            "bytes",
            "body_bytes_sent",
            "bytes_sent",
            "sc-bytes",
            "size",
            "DownstreamContentSize",
            "EdgeResponseBytes",
            "httpRequest.responseSize",
            "http.response.body.bytes",
            "response_size",
        ],
    ),
    (
        "referer",
        Slot::Referer,
        &[
            "referer",
            "http_referer",
            "cs(Referer)",
            "referrer",
            "request.headers.Referer",
            "request_Referer",
            "ClientRequestReferer",
            "httpRequest.referer",
            "http.request.referrer",
        ],
    ),
    (
        "agent",
        Slot::Agent,
        &[
            "agent",
            "http_user_agent",
            "user_agent",
            "cs(User-Agent)",
            "request.headers.User-Agent",
            "request_User-Agent",
            "user-agent",
            "userAgent",
            "ClientRequestUserAgent",
            "httpRequest.userAgent",
            "user_agent.original",
        ],
    ),
];

/// The names of each field in a log.
#[derive(Clone, Debug)]
pub(super) struct Names {
    fields: Vec<Name>,
    /// All names, and what is before each of their points.
    by_name: HashMap<String, Wanted, RandomState>,
    /// Headers and columns that a policy asks for.
    pub(super) asked: Asked,
    /// The fields whose values have to be valid.
    pub(super) used: Used,
}

/// The fields that are found by one name.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// The slot of each, and the place of the name among those of the field. None if it is only the
    /// name of an object around fields.
    pub(super) slots: Vec<(Slot, usize)>,
}

/// A field, and the names that it may have, the preferred first.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) slot: Slot,
    pub(super) names: Vec<String>,
    /// True if `--fields` named it.
    pub(super) is_given: bool,
}

impl Names {
    /// Reads `client=remote_addr,time=ts`. Fields that it leaves out keep their usual names.
    pub(super) fn parse(text: &str) -> Result<Names, FormatError> {
        let usual = FIELDS.iter().map(|(_, slot, names)| Name {
            slot: *slot,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            is_given: false,
        });
        let mut names: Vec<Name> = usual.collect();
        let mut start = 0;
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let end = start + part.len();
            let error = |title: String, label: &str| {
                FormatError::new("--fields", text, start..end, title, label)
            };
            let known: Vec<&str> = FIELDS.iter().map(|(name, ..)| *name).collect();
            let Some((field, name)) = part.split_once('=') else {
                return Err(error(
                    format!("`{part}` is no pair"),
                    "must be FIELD=NAME, as in client=remote_addr",
                ));
            };
            let (field, name) = (field.trim(), name.trim());
            let Some(place) = known.iter().position(|known| *known == field) else {
                let label = format!("must be one of {}", known.join(", "));
                return Err(
                    error(format!("`{field}` is not a field"), &label).did_you_mean(field, known)
                );
            };
            if name.is_empty() {
                return Err(error(
                    format!("`{field}` has no name"),
                    "must be FIELD=NAME, as in client=remote_addr",
                ));
            }
            if names[place].is_given {
                return Err(error(format!("`{field}` is named twice"), "must be named once"));
            }
            names[place].names = vec![name.to_owned()];
            names[place].is_given = true;
            start = end + 1;
        }
        let is_given = |slot| names.iter().any(|name: &Name| name.slot == slot && name.is_given);
        let (time, method, path) =
            (is_given(Slot::Time), is_given(Slot::Method), is_given(Slot::Path));
        // A stamp that was named takes the place of a date and a time of day.
        let in_parts = is_given(Slot::Date) || is_given(Slot::TimeOfDay);
        let request = is_given(Slot::Request);
        names.retain(|name| {
            name.is_given
                || match name.slot {
                    Slot::Date | Slot::TimeOfDay => !time,
                    Slot::Time => !in_parts,
                    Slot::Request => !(method && path),
                    Slot::Method | Slot::Path => !request,
                    _ => true,
                }
        });
        Ok(Names::of(names))
    }

    fn of(fields: Vec<Name>) -> Names {
        let mut by_name: HashMap<String, Wanted, RandomState> = HashMap::default();
        for field in &fields {
            for (rank, name) in field.names.iter().enumerate() {
                for (point, _) in name.match_indices('.') {
                    by_name.entry_ref(&name[..point]).or_default();
                }
                by_name.entry_ref(name.as_str()).or_default().slots.push((field.slot, rank));
            }
        }
        Names { fields, by_name, asked: Asked::default(), used: Used::default() }
    }

    /// Adds a name to each of some fields that `--fields` leaves out.
    pub(super) fn with_more(mut self, more: &[(&str, &str)]) -> Names {
        for (field, name) in more {
            let slot = FIELDS.iter().find(|(known, ..)| known == field).map(|(_, slot, _)| *slot);
            let is_it = |own: &&mut Name| Some(own.slot) == slot && !own.is_given;
            if let Some(own) = self.fields.iter_mut().find(is_it) {
                own.names.push((*name).to_owned());
            }
        }
        Names::of(self.fields)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Name> {
        self.fields.iter()
    }

    /// Returns the fields that this name is one of; `None` if it is neither the name of a field nor
    /// of an object around one.
    pub(super) fn get(&self, name: &str) -> Option<&Wanted> {
        self.by_name.get(name)
    }

    /// Returns the names by which the time is found, for messages.
    pub(super) fn of_time(&self) -> String {
        let of_slot = |slot| self.fields.iter().find(move |name| name.slot == slot);
        let quoted = |name: &Name| {
            let mut names: Vec<String> =
                name.names.iter().map(|name| format!("`{name}`")).collect();
            // Names of one server only are the last, though they are preferred.
            names.sort_by_key(|name| name.contains(char::is_uppercase));
            names.join(", ")
        };
        match (of_slot(Slot::Time), of_slot(Slot::Date)) {
            (Some(time), _) => quoted(time),
            (None, Some(date)) => quoted(date),
            (None, None) => String::new(),
        }
    }
}
