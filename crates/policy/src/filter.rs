//! The requests that a limiter judges.

use std::fmt;
use std::net::IpAddr;

use aho_corasick::AhoCorasick;
use ipnet::IpNet;

use crate::key::{client_address, network};
use crate::key_field::KeyField;
use crate::paths::PathTemplates;
use crate::request::{self, Named, RequestFields};

/// A set of requests: those that have one of the values in each list that is not empty. An empty
/// filter has every request.
///
/// A request that lacks a value is in no set that asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Methods, in upper case.
    pub method: Vec<String>,
    /// Beginnings of paths in [their one spelling](crate::normal_path).
    pub path_prefix: Vec<String>,
    /// Templates of paths.
    pub path: PathTemplates,
    /// Classes of statuses, such as `4xx`.
    pub status_class: Vec<String>,
    /// Statuses, such as 429.
    pub status: Vec<u16>,
    /// Networks and addresses of clients.
    pub client: Networks,
    /// Texts in the user agent, in any case.
    pub agent_contains: Texts,
    /// Values of headers and columns. A request has one of the values of each.
    pub named: Vec<(Named, Vec<String>)>,
}

/// Networks of addresses. IPv6 addresses that stand for an IPv4 address are that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

/// Texts that are looked for without regard to the case of letters of ASCII.
#[derive(Clone, Default)]
pub struct Texts {
    texts: Vec<String>,
    searcher: Option<AhoCorasick>,
}

impl Filter {
    /// Returns true if the set has all requests.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Filter::default()
    }

    /// Returns true if it depends on that field whether the set has a request.
    #[must_use]
    pub fn depends_on(&self, field: KeyField) -> bool {
        match field {
            KeyField::Method => !self.method.is_empty(),
            KeyField::Path => !self.path_prefix.is_empty() || !self.path.is_empty(),
            KeyField::StatusClass => !self.status_class.is_empty(),
            KeyField::Status => !self.status.is_empty(),
            KeyField::Client => !self.client.0.is_empty(),
            KeyField::Agent => !self.agent_contains.texts.is_empty(),
            KeyField::User | KeyField::Referer | KeyField::All => false,
        }
    }

    /// Returns true if the set has the request. Does not allocate, but for path templates with more
    /// than four parameters.
    #[must_use]
    pub fn matches(&self, request: &impl RequestFields) -> bool {
        self.holds(request, false)
    }

    /// Returns true if the set has the request, or may have it: values that the request lacks are not known.
    pub(crate) fn may_match(&self, request: &impl RequestFields) -> bool {
        self.holds(request, true)
    }

    #[inline]
    fn holds(&self, request: &impl RequestFields, if_missing: bool) -> bool {
        let field = |field| request::field(request, field);
        let is_one_of = |value: Option<&[u8]>, wanted: &[String]| {
            wanted.is_empty()
                || value
                    .map_or(if_missing, |value| wanted.iter().any(|one| one.as_bytes() == value))
        };
        let path = || request::path(request);
        is_one_of(field(KeyField::Method), &self.method)
            && (self.path_prefix.is_empty()
                || path().map_or(if_missing, |path| {
                    self.path_prefix.iter().any(|prefix| path.starts_with(prefix.as_bytes()))
                }))
            && (self.path.is_empty()
                || path().map_or(if_missing, |path| self.path.of(&path).is_some()))
            && (self.status_class.is_empty()
                || is_one_of(field(KeyField::StatusClass), &self.status_class))
            && (self.status.is_empty()
                || field(KeyField::Status).map_or(if_missing, |text| {
                    status(text).is_some_and(|status| self.status.contains(&status))
                }))
            && (self.client.0.is_empty()
                || field(KeyField::Client).map_or(if_missing, |client| self.client.contain(client)))
            && self.agent_contains.are_in(if_missing, || field(KeyField::Agent))
            && self.named.iter().all(|(named, values)| is_one_of(named.of(request), values))
    }
}

fn status(text: &[u8]) -> Option<u16> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

impl Networks {
    /// Reads networks such as `10.0.0.0/8` and addresses.
    ///
    /// # Errors
    ///
    /// The first text that is neither.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Networks, &'t str> {
        let networks = texts.into_iter().map(|text| network(text).ok_or(text));
        Ok(Networks(networks.collect::<Result<_, _>>()?))
    }

    /// Returns the networks: the first address of each, and the number of bits that its addresses agree
    /// in.
    pub fn iter(&self) -> impl Iterator<Item = (IpAddr, u8)> {
        self.0.iter().map(|net| (net.addr(), net.prefix_len()))
    }

    /// Returns true if there is no network.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if one of the networks has a client. One that is not an address is in none.
    #[must_use]
    pub fn contain(&self, client: &[u8]) -> bool {
        client_address(client)
            .is_some_and(|address| self.0.iter().any(|net| net.contains(&address)))
    }
}

impl Texts {
    /// Makes a search for texts.
    ///
    /// # Errors
    ///
    /// The reason why there is none: the texts are too long.
    pub fn new(texts: Vec<String>) -> Result<Texts, String> {
        if texts.is_empty() {
            return Ok(Texts::default());
        }
        let searcher = AhoCorasick::builder().ascii_case_insensitive(true).build(&texts);
        Ok(Texts { searcher: Some(searcher.map_err(|error| error.to_string())?), texts })
    }

    /// Returns the texts.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Returns true if one of the texts is in the value, or if there is no text.
    fn are_in<'v>(&self, if_missing: bool, value: impl FnOnce() -> Option<&'v [u8]>) -> bool {
        let Some(searcher) = &self.searcher else { return true };
        value().map_or(if_missing, |value| searcher.is_match(value))
    }
}

impl PartialEq for Texts {
    fn eq(&self, other: &Texts) -> bool {
        self.texts == other.texts
    }
}

impl Eq for Texts {}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Texts").field(&self.texts).finish()
    }
}
