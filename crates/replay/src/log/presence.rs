//! The headers and columns that a policy names and that no line has.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use sluicegate_policy::{KeyField, Named};

use super::columns::{ABSENT, Asked};
use super::format::error::nearest;
use super::line::{Line, shown};

/// The most names of a log that are remembered, to find the one that was meant.
const MOST_NAMES: usize = 500;

/// The most bytes of such a name.
const MOST_BYTES: usize = 100;

/// A record of which of the headers and columns that a policy names lines have had.
#[derive(Debug, Default)]
pub(super) struct Presence {
    wanted: Vec<Wanted>,
    /// Names that the logs have.
    names: Mutex<BTreeSet<String>>,
    sought: Mutex<Sought>,
}

/// The names under which the client was looked for in the logs, in which it has no value if no line has a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sought {
    names: BTreeSet<String>,
    /// The one that `--fields` named.
    given: Option<String>,
}

#[derive(Debug)]
struct Wanted {
    named: Named,
    /// The names that logs give it.
    names: Vec<String>,
    found: OnceLock<()>,
}

/// A header or a column that a policy names and that no line has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Its name in the policy.
    pub named: Named,
    /// The name in the logs that is most like it, if one is.
    pub meant: Option<String>,
}

/// The fields of which some line has had a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Had(u8);

/// The fields that lines are looked at for.
const FIELDS: [KeyField; 7] = [
    KeyField::Client,
    KeyField::Path,
    KeyField::Method,
    KeyField::Status,
    KeyField::User,
    KeyField::Referer,
    KeyField::Agent,
];

impl Had {
    /// Adds the fields of a line.
    #[inline]
    pub(super) fn add(&mut self, line: &Line<'_>) {
        if self.0 != (1 << FIELDS.len()) - 1 {
            for (place, field) in FIELDS.into_iter().enumerate() {
                let value: &[u8] = line.field(field);
                self.0 |= u8::from(value != ABSENT && !value.is_empty()) << place;
            }
        }
    }

    /// Adds the fields that other lines had.
    pub(crate) fn extend(&mut self, other: Had) {
        self.0 |= other.0;
    }

    /// Returns true if some line had that field.
    pub(crate) fn has(self, field: KeyField) -> bool {
        let field = if field == KeyField::StatusClass { KeyField::Status } else { field };
        let place = FIELDS.into_iter().position(|other| other == field);
        place.is_none_or(|place| self.0 >> place & 1 == 1)
    }
}

/// Returns those of a log's names that may be the client's, the likeliest first, at most five. Those under which it was
/// looked for are left out, and the first is the one most like that which `--fields` named.
pub(crate) fn likely_clients<'a>(names: &'a [String], sought: &Sought) -> Vec<&'a str> {
    let others = || names.iter().filter(|name| !sought.has(name));
    let typed = sought.given.as_ref().and_then(|given| {
        nearest(given, others().map(String::as_str), given.chars().count().div_ceil(4))
    });
    let likely = likely(KeyField::Client, others());
    typed
        .into_iter()
        .chain(likely.into_iter().filter(|name| Some(*name) != typed))
        .take(5)
        .collect()
}

/// Returns the name of a header that proxies write the address of the client to, if the log has one: the client of the
/// log may be a proxy.
pub(crate) fn forwarded<'a>(names: &'a [String], sought: &Sought) -> Option<&'a str> {
    let is_one = |name: &&String| {
        let letters = name.chars().filter(char::is_ascii_alphabetic);
        let plain = letters.collect::<String>().to_ascii_lowercase();
        ["forwardedfor", "realip", "trueclientip"].iter().any(|part| plain.contains(part))
    };
    names.iter().filter(|name| !sought.has(name)).find(is_one).map(String::as_str)
}

/// Returns those of a log's names that may be the name of a field, the likeliest first, at most five.
pub(crate) fn likely_names(field: KeyField, names: &[String]) -> Vec<&str> {
    likely(field, names.iter())
}

fn likely<'a>(field: KeyField, names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    // Parts of names, the likeliest first.
    let parts: &[&str] = match field {
        KeyField::Client => &[
            "clientip",
            "remoteip",
            "clientaddr",
            "remoteaddr",
            "clienthost",
            "client",
            "remote",
            "realip",
            "forwardedfor",
            "sourceip",
            "srcip",
            "peer",
            "addr",
            "ip",
        ],
        KeyField::Path => &["requesturi", "uri", "path", "url", "target", "request"],
        KeyField::Method => &["requestmethod", "method", "verb"],
        KeyField::Status | KeyField::StatusClass => {
            &["statuscode", "status", "responsecode", "code"]
        }
        KeyField::User => &["username", "userid", "user"],
        KeyField::Referer => &["refer"],
        KeyField::Agent => &["useragent", "agent"],
        KeyField::All => &[],
    };
    let rank = |name: &&String| {
        let plain: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase();
        let last = name.rsplit(['.', '_', '-']).next().unwrap_or_default().to_ascii_lowercase();
        parts
            .iter()
            .position(|part| if part.len() < 4 { last == *part } else { plain.contains(part) })
    };
    // A user agent is no user, and a server's address is no client's.
    let others: &[&str] = match field {
        KeyField::Client => &["server", "upstream", "user", "port", "local", "origin"],
        KeyField::User => &["agent"],
        _ => &[],
    };
    let is_other = |name: &&String| {
        let name = name.to_ascii_lowercase();
        // In the W3C's names, `s-` is the server.
        let is_servers =
            field == KeyField::Client && (name.starts_with("s-") || name.starts_with("s_"));
        is_servers || others.iter().any(|other| name.contains(other))
    };
    let mut likely: Vec<(usize, &str)> = names
        .filter(|name| !is_other(name))
        .filter_map(|name| Some((rank(&name)?, name.as_str())))
        .collect();
    likely.sort_by_key(|(rank, _)| *rank);
    likely.into_iter().take(5).map(|(_, name)| name).collect()
}

impl Sought {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

impl Presence {
    /// Starts with nothing found.
    pub(super) fn of(asked: &Asked) -> Presence {
        let wanted = asked.0.iter().map(|asked| Wanted {
            named: asked.named.clone(),
            names: asked.names.clone(),
            found: OnceLock::new(),
        });
        Presence { wanted: wanted.collect(), ..Presence::default() }
    }

    /// Says that a line has a value of the header or column at that place.
    pub(super) fn found(&self, place: usize) {
        if let Some(wanted) = self.wanted.get(place) {
            wanted.found.get_or_init(|| ());
        }
    }

    /// Remembers names that a log has, the first few hundred of them.
    pub(super) fn learn<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names {
            if known.len() < MOST_NAMES && name.len() <= MOST_BYTES && !known.contains(name) {
                known.insert(name.to_owned());
            }
        }
    }

    /// Remembers names under which the client is looked for. `is_given` is one that `--fields` named.
    pub(super) fn seek<'a>(&self, names: impl IntoIterator<Item = &'a str>, is_given: bool) {
        let mut sought = self.sought.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names {
            sought.names.insert(name.to_owned());
            if is_given {
                sought.given = Some(name.to_owned());
            }
        }
    }

    /// Returns the names under which the client was looked for.
    pub(super) fn sought(&self) -> Sought {
        self.sought.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the names that are remembered.
    pub(super) fn names(&self) -> Vec<String> {
        let known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().cloned().collect()
    }

    /// Returns what no line has had so far.
    pub(super) fn absent(&self) -> Vec<Absent> {
        let known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let absent = self.wanted.iter().filter(|wanted| wanted.found.get().is_none());
        absent
            .map(|Wanted { named, names, .. }| {
                let like = |name: &String| {
                    // A name that is the same was there, and had no value in any line.
                    let others = known.iter().filter(|known| !known.eq_ignore_ascii_case(name));
                    let most = name.chars().count().div_ceil(4);
                    nearest(name, others.map(String::as_str), most)
                };
                let meant = names.iter().find_map(like).map(|name| shown(name.as_bytes()));
                Absent { named: named.clone(), meant }
            })
            .collect()
    }
}
