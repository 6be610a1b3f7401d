//! The configuration of envoyproxy/ratelimit: a YAML file for each domain.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use super::domains::{Domains, Level, Limit};
use super::unit::Unit;

/// Deepest nesting of descriptors.
const MAX_DEPTH: usize = 32;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    domain: String,
    #[serde(default)]
    descriptors: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the file")]
struct Descriptor {
    key: String,
    value: Option<String>,
    rate_limit: Option<RateLimit>,
    #[serde(default)]
    descriptors: Vec<Descriptor>,
    #[serde(default)]
    shadow_mode: bool,
    #[serde(default)]
    share_threshold: bool,
    // They choose the names of statistics, of which this service has others.
    #[serde(default, rename = "detailed_metric")]
    _detailed_metric: bool,
    #[serde(default, rename = "value_to_metric")]
    _value_to_metric: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateLimit {
    requests_per_unit: Option<u32>,
    unit: Option<String>,
    #[serde(default)]
    unlimited: bool,
    #[serde(default)]
    name: String,
    #[serde(default)]
    replaces: Vec<Replaces>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Replaces {
    name: String,
}

/// A reason why there are no limits.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EnvoyError {
    /// A file or a folder cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A folder has no file whose name ends with `.yaml` or `.yml`.
    #[error("{}: there is no file whose name ends with .yaml or .yml", path.display())]
    Empty {
        /// Its path.
        path: PathBuf,
    },
    /// There cannot be so many counts.
    #[error("the most descriptors: {0}")]
    Room(sluicegate::ConfigError),
    /// Files have mistakes: all that were found.
    #[error("{}", list(mistakes))]
    Mistakes {
        /// The mistakes.
        mistakes: Vec<EnvoyMistake>,
    },
}

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvoyMistake {
    /// The file.
    pub file: String,
    /// The place in it, such as `descriptors[1].rate_limit.unit`. Empty if the text of `what` says it.
    pub place: String,
    /// The mistake, and what is right.
    pub what: String,
}

impl fmt::Display for EnvoyMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EnvoyMistake { file, place, what } = self;
        if place.is_empty() {
            write!(f, "{file}: {what}")
        } else {
            write!(f, "{file}: {place}: {what}")
        }
    }
}

fn list(mistakes: &[EnvoyMistake]) -> String {
    mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Reads a file, or all YAML files of a folder.
pub(super) fn read(path: &Path) -> Result<Domains, EnvoyError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| EnvoyError::Io { path, error }
    };
    let mut files = Vec::new();
    if fs::metadata(path).map_err(io(path))?.is_dir() {
        for entry in fs::read_dir(path).map_err(io(path))? {
            let file = entry.map_err(io(path))?.path();
            let end = file.extension().map(std::ffi::OsStr::to_ascii_lowercase);
            if end.is_some_and(|end| end == "yaml" || end == "yml") {
                files.push(file);
            }
        }
        // Mistakes, and the first of two domains of a name, do not depend on the file system.
        files.sort();
        if files.is_empty() {
            return Err(EnvoyError::Empty { path: path.to_owned() });
        }
    } else {
        files.push(path.to_owned());
    }
    let mut texts = Vec::with_capacity(files.len());
    for file in files {
        let text = fs::read_to_string(&file).map_err(io(&file))?;
        texts.push((file.display().to_string(), text));
    }
    parse(&texts)
}

/// Reads the texts of files, each with its name.
pub(super) fn parse(files: &[(String, String)]) -> Result<Domains, EnvoyError> {
    let mut domains = Domains::default();
    let mut mistakes = Vec::new();
    for (file, text) in files {
        let mut reader = Reader { file, mistakes: &mut mistakes };
        match serde_saphyr::from_str::<Root>(text) {
            Ok(root) => reader.domain(root, &mut domains),
            Err(error) => reader.mistake("", error.to_string()),
        }
    }
    if mistakes.is_empty() { Ok(domains) } else { Err(EnvoyError::Mistakes { mistakes }) }
}

struct Reader<'f> {
    file: &'f str,
    mistakes: &'f mut Vec<EnvoyMistake>,
}

impl Reader<'_> {
    fn mistake(&mut self, place: &str, what: impl Into<String>) {
        let (file, place) = (self.file.to_owned(), place.to_owned());
        self.mistakes.push(EnvoyMistake { file, place, what: what.into() });
    }

    fn domain(&mut self, root: Root, domains: &mut Domains) {
        if root.domain.is_empty() {
            self.mistake("domain", "is empty: must be the name that Envoy sends");
        }
        let mut level = Level::default();
        self.level(root.descriptors, "descriptors", &mut level, 1);
        if !domains.add(root.domain.clone(), level) {
            let what = format!("another file has the domain {:?} too", root.domain);
            self.mistake("domain", what);
        }
    }

    fn level(
        &mut self,
        descriptors: Vec<Descriptor>,
        place: &str,
        level: &mut Level,
        depth: usize,
    ) {
        if depth > MAX_DEPTH {
            return self.mistake(place, format!("is more than {MAX_DEPTH} levels deep"));
        }
        for (index, descriptor) in descriptors.into_iter().enumerate() {
            let place = format!("{place}[{index}]");
            if descriptor.key.is_empty() {
                self.mistake(&format!("{place}.key"), "is empty");
            }
            let limit = match descriptor.rate_limit {
                Some(limit) => self.limit(
                    limit,
                    &format!("{place}.rate_limit"),
                    descriptor.shadow_mode,
                    descriptor.share_threshold,
                ),
                None => None,
            };
            let value = descriptor.value.filter(|value| !value.is_empty());
            if descriptor.share_threshold
                && !value.as_deref().is_some_and(|value| value.ends_with('*'))
            {
                let what = "is for a `value` that ends with *, whose counts it makes one";
                self.mistake(&format!("{place}.share_threshold"), what);
            }
            let mut below = Level::of_limit(limit);
            self.level(
                descriptor.descriptors,
                &format!("{place}.descriptors"),
                &mut below,
                depth + 1,
            );
            if !level.add(&descriptor.key, value.as_deref(), below) {
                self.mistake(&place, "has the same key and value as another descriptor before it");
            }
        }
    }

    fn limit(
        &mut self,
        limit: RateLimit,
        place: &str,
        is_shadow: bool,
        is_shared: bool,
    ) -> Option<Limit> {
        let before = self.mistakes.len();
        let unit = limit.unit.as_deref().and_then(Unit::from_name);
        match (&limit.unit, unit, limit.unlimited) {
            (Some(_), _, true) => {
                self.mistake(
                    &format!("{place}.unit"),
                    "is of no use with `unlimited`: leave it out",
                );
            }
            (None, _, false) => {
                self.mistake(
                    &format!("{place}.unit"),
                    format!("is missing: must be {}", Unit::NAMES),
                );
            }
            (Some(name), None, false) => {
                let what = format!("is {name:?}: must be {}", Unit::NAMES);
                self.mistake(&format!("{place}.unit"), what);
            }
            (None, _, true) | (Some(_), Some(_), false) => {}
        }
        if limit.requests_per_unit.is_none() && !limit.unlimited {
            self.mistake(&format!("{place}.requests_per_unit"), "is missing");
        }
        if let (Some(requests), Some(unit)) = (limit.requests_per_unit, unit)
            && requests > unit.max_requests()
        {
            let what = format!("is {requests}: must be at most {}", unit.max_requests());
            self.mistake(&format!("{place}.requests_per_unit"), what);
        }
        for (index, other) in limit.replaces.iter().enumerate() {
            let place = format!("{place}.replaces[{index}].name");
            if other.name.is_empty() {
                self.mistake(&place, "is empty");
            } else if other.name == limit.name {
                self.mistake(&place, "is that of the limit itself");
            }
        }
        if self.mistakes.len() > before {
            return None;
        }
        Some(Limit {
            rate: unit.map(|unit| (limit.requests_per_unit.unwrap_or_default(), unit)),
            is_shadow,
            is_shared,
            name: limit.name,
            replaces: limit.replaces.into_iter().map(|other| other.name).collect(),
        })
    }
}
