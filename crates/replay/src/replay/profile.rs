//! The user agents and paths of the requests that a key was denied, by which people tell what it is.

use std::collections::HashSet;

use bstr::{BStr, ByteSlice};
use serde::{Serialize, Serializer};

use crate::log::Line;

/// Values that are counted at a time: of more, those that are most frequent are likely to be among them.
const COUNTED: usize = 4;

/// The most distinct values that are told apart.
const MOST_DISTINCT: usize = 64;

/// The most bytes of a value that are kept.
const MOST_BYTES: usize = 160;

/// Paths from which on a program seems to try what there is.
const MANY_PATHS: usize = 30;

/// User agents from which on an address seems to be that of several people.
const MANY_AGENTS: usize = 4;

/// Texts in the user agents of tools that look for weak places.
const SCANNERS: [&str; 12] = [
    "nikto",
    "sqlmap",
    "nmap",
    "zgrab",
    "masscan",
    "gobuster",
    "dirbuster",
    "wpscan",
    "nuclei",
    "acunetix",
    "feroxbuster",
    "wfuzz",
];

/// Texts in the user agents of robots that say what they are.
const ROBOTS: [&str; 6] = ["bot", "crawl", "spider", "slurp", "facebookexternalhit", "feedfetcher"];

/// Texts in the user agents of programs and libraries.
const PROGRAMS: [&str; 16] = [
    "curl",
    "wget",
    "python",
    "go-http",
    "java/",
    "okhttp",
    "libwww",
    "axios",
    "node",
    "ruby",
    "perl",
    "scrapy",
    "httpclient",
    "postman",
    "k6/",
    "wrk",
];

/// The requests that a key was denied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    agents: Common,
    paths: Common,
    /// True if no line of the logs has a user agent.
    has_no_agents: bool,
    /// The name of the network that the key is in, if `--crawlers` has one.
    pub network: Option<String>,
}

/// The most frequent of some values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Common {
    counts: Vec<(Box<[u8]>, u64)>,
    /// Hashes of the values, as many as are told apart.
    distinct: HashSet<u64, foldhash::quality::FixedState>,
}

/// The kind of a caller, as far as its requests tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// It looks for weak places.
    Scanner,
    /// It says that it is a robot.
    Robot,
    /// It is a program.
    Program,
    /// It has many user agents.
    Many,
    /// It is a browser, or says that it is.
    Browser,
    /// It names no user agent.
    Nameless,
}

impl Profile {
    /// Adds a request that was denied.
    pub(crate) fn add(&mut self, line: &Line<'_>) {
        self.agents.add(line.agent);
        self.paths.add(line.path);
    }

    /// Returns the same requests, as those of logs that may have no user agents.
    #[must_use]
    pub fn of_logs(&self, has_no_agents: bool) -> Profile {
        Profile { has_no_agents, ..self.clone() }
    }

    /// Returns true if the logs have user agents.
    #[must_use]
    pub fn has_agents(&self) -> bool {
        !self.has_no_agents
    }

    /// Returns the most frequent user agent.
    #[must_use]
    pub fn agent(&self) -> &BStr {
        self.agents.top()
    }

    /// Returns the number of user agents, at most 64.
    #[must_use]
    pub fn agents(&self) -> usize {
        self.agents.distinct.len()
    }

    /// Returns the most frequent path.
    #[must_use]
    pub fn path(&self) -> &BStr {
        self.paths.top()
    }

    /// Returns the number of paths, at most 64.
    #[must_use]
    pub fn paths(&self) -> usize {
        self.paths.distinct.len()
    }

    /// Returns the kind of caller that its requests look like; `None` if the logs have no user agents.
    #[must_use]
    pub fn caller(&self) -> Option<Caller> {
        (!self.has_no_agents).then(|| self.caller_by_agent())
    }

    fn caller_by_agent(&self) -> Caller {
        let agent = self.agent().to_str_lossy().to_lowercase();
        let has = |texts: &[&str]| texts.iter().any(|text| agent.contains(text));
        if has(&SCANNERS) {
            return Caller::Scanner;
        }
        if self.agents() >= MANY_AGENTS {
            return Caller::Many;
        }
        if has(&ROBOTS) {
            return Caller::Robot;
        }
        if agent == "-" || agent.is_empty() || has(&PROGRAMS) {
            return match (self.paths() >= MANY_PATHS, agent.len() <= 1) {
                (true, _) => Caller::Scanner,
                (false, true) => Caller::Nameless,
                (false, false) => Caller::Program,
            };
        }
        if agent.starts_with("mozilla") || agent.starts_with("opera") {
            Caller::Browser
        } else {
            Caller::Program
        }
    }
}

impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told<'a> {
            agent: String,
            agents: usize,
            path: String,
            paths: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            looks: Option<Caller>,
            #[serde(skip_serializing_if = "Option::is_none")]
            network: Option<&'a str>,
        }
        let told = Told {
            agent: self.agent().to_string(),
            agents: self.agents(),
            path: self.path().to_string(),
            paths: self.paths(),
            looks: self.caller(),
            network: self.network.as_deref(),
        };
        told.serialize(serializer)
    }
}

impl Common {
    /// Adds a value. Of more than are counted, each new one is set against one of each (Misra and Gries, 1982).
    fn add(&mut self, value: &[u8]) {
        if self.distinct.len() < MOST_DISTINCT {
            self.distinct.insert(super::distinct::hash(value));
        }
        let kept = &value[..value.len().min(MOST_BYTES)];
        if let Some((_, count)) = self.counts.iter_mut().find(|(own, _)| **own == *kept) {
            *count += 1;
        } else if self.counts.len() < COUNTED {
            self.counts.push((kept.into(), 1));
        } else {
            self.counts.iter_mut().for_each(|(_, count)| *count -= 1);
            self.counts.retain(|(_, count)| *count > 0);
        }
    }

    fn top(&self) -> &BStr {
        // Of as many, the first.
        let top = self.counts.iter().rev().max_by_key(|(_, count)| *count);
        top.map_or(&b"-"[..], |(value, _)| value).as_bstr()
    }
}

impl Caller {
    /// Returns the callers in words, of which there are several or one.
    #[must_use]
    pub fn in_words(self, is_one: bool) -> &'static str {
        match (self, is_one) {
            (Caller::Scanner, true) => "looks like a scanner",
            (Caller::Scanner, false) => "look like scanners",
            (Caller::Robot, true) => "says that it is a robot",
            (Caller::Robot, false) => "say that they are robots",
            (Caller::Program, true) => "is a program",
            (Caller::Program, false) => "are programs",
            (Caller::Many, true) => "has many user agents, as people behind one address have",
            (Caller::Many, false) => "have many user agents, as people behind one address have",
            (Caller::Browser, true) => "is a browser, or says so",
            (Caller::Browser, false) => "are browsers, or say so",
            (Caller::Nameless, true) => "names no user agent",
            (Caller::Nameless, false) => "name no user agent",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile<'a>(requests: impl Iterator<Item = (&'a str, String)>) -> Profile {
        let mut profile = Profile::default();
        for (agent, path) in requests {
            profile.agents.add(agent.as_bytes());
            profile.paths.add(path.as_bytes());
        }
        profile
    }

    #[test]
    fn the_most_frequent_values_are_kept_and_the_others_counted() {
        let odd = (0..100).map(|n| {
            let path = if n % 2 == 0 { "/often".to_owned() } else { format!("/{n}") };
            ("curl/8.5", path)
        });
        let profile = profile(odd);
        assert_eq!((profile.path(), profile.paths()), ("/often".into(), 51));
        assert_eq!((profile.agent(), profile.agents()), ("curl/8.5".into(), 1));
        assert_eq!(profile.caller(), Some(Caller::Scanner));
        let profile = Profile { has_no_agents: true, ..profile };
        assert_eq!(profile.caller(), None);
        assert_eq!(Profile::default().agent(), "-");
    }

    #[test]
    fn callers_are_told_by_their_user_agents() {
        let of = |agents: &[&'static str]| {
            profile(agents.iter().map(|agent| (*agent, "/".to_owned()))).caller_by_agent()
        };
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
        assert_eq!(of(&[firefox]), Caller::Browser);
        assert_eq!(of(&["Mozilla/5.0 (compatible; Googlebot/2.1)"]), Caller::Robot);
        assert_eq!(of(&["python-requests/2.31"]), Caller::Program);
        assert_eq!(of(&["Mozilla/5.00 (Nikto/2.1.5)"]), Caller::Scanner);
        assert_eq!(of(&["-", "-"]), Caller::Nameless);
        assert_eq!(of(&[firefox, "a", "b", "c"]), Caller::Many);
    }
}
