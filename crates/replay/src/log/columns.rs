//! Headers and columns of a log that a policy asks for, beside the usual fields.

use std::sync::Arc;

use sluicegate_policy::Named;

/// The text of a field that is absent.
pub(super) const ABSENT: &[u8] = b"-";

/// A part of a text, or a field that is absent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) start: u32,
    pub(super) len: u32,
}

pub(super) const NOWHERE: Place = Place { start: u32::MAX, len: 0 };

impl Place {
    /// Returns the part of a text; `None` for what is absent.
    pub(super) fn of(self, text: &[u8]) -> Option<&[u8]> {
        let start = self.start as usize;
        text.get(start..start + self.len as usize)
    }

    /// Returns the place of a part of a text, or that of an absent field if it is not one.
    pub(super) fn within(text: &[u8], part: &[u8]) -> Place {
        match part.as_ptr().addr().checked_sub(text.as_ptr().addr()) {
            // A text is no longer than a block and a line.
            Some(start) if start + part.len() <= text.len() => {
                Place { start: start as u32, len: part.len() as u32 }
            }
            _ => NOWHERE,
        }
    }

    /// Does the same, but copies what is not a part of the text to `extra`, which will follow it.
    pub(super) fn within_or_copied(text: &[u8], part: &[u8], extra: &mut Vec<u8>) -> Place {
        let place = Place::within(text, part);
        if place.start != NOWHERE.start || part == ABSENT {
            return place;
        }
        let start = (text.len() + extra.len()) as u32;
        extra.extend_from_slice(part);
        Place { start, len: part.len() as u32 }
    }

    /// Copies the part of a text to the end of another, and returns its place there.
    pub(super) fn copied(self, from: &[u8], to: &mut Vec<u8>) -> Place {
        let Some(part) = self.of(from) else { return NOWHERE };
        let start = to.len() as u32;
        to.extend_from_slice(part);
        Place { start, len: self.len }
    }
}

/// The headers and columns that are read of each line.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked(pub(super) Arc<[AskedColumn]>);

/// A header or a column, and the names that logs give it, the preferred first.
#[derive(Clone, Debug)]
pub(super) struct AskedColumn {
    pub(super) named: Named,
    pub(super) names: Vec<String>,
}

/// The values of these columns in a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Columns<'a> {
    pub(super) asked: &'a [AskedColumn],
    pub(super) places: &'a [Place],
    pub(super) text: &'a [u8],
}

impl Asked {
    pub(super) fn new(named: &[Named]) -> Asked {
        let asked = |named: &Named| AskedColumn { named: named.clone(), names: names(named) };
        Asked(named.iter().map(asked).collect())
    }
}

/// Returns the names that logs of servers give a header or a column.
fn names(named: &Named) -> Vec<String> {
    match named {
        Named::Column(name) => vec![name.trim_start_matches('$').to_owned()],
        Named::Header(name) => {
            let variable = name.replace('-', "_");
            vec![
                name.clone(),
                // nginx, Apache, the W3C's format, Caddy.
                format!("http_{variable}"),
                format!("%{{{name}}}i"),
                format!("cs({name})"),
                format!("request.headers.{name}"),
                format!("headers.{name}"),
                variable,
            ]
        }
    }
}

impl Asked {
    /// Returns true if a name is one of those of the columns, or that of an object around one.
    pub(super) fn lead_to(&self, path: &str) -> bool {
        self.0.iter().any(|asked| asked.is_on_the_way(path))
    }
}

impl AskedColumn {
    fn is_equal(&self, one: &str, other: &str) -> bool {
        match self.named {
            Named::Header(_) => one.eq_ignore_ascii_case(other),
            Named::Column(_) => one == other,
        }
    }

    /// Returns how good a name is, if it is one of those of the column: 0 is the best.
    pub(super) fn rank(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|own| self.is_equal(own, name))
    }

    /// Returns true if the name is one of the column's, or that of an object around one.
    fn is_on_the_way(&self, path: &str) -> bool {
        self.names.iter().any(|name| {
            name.get(..path.len()).is_some_and(|start| {
                self.is_equal(start, path)
                    && matches!(name.as_bytes().get(path.len()), None | Some(b'.'))
            })
        })
    }
}

impl<'a> Columns<'a> {
    fn at(&self, is_it: impl Fn(&Named) -> bool) -> Option<&'a [u8]> {
        let place = self.asked.iter().position(|asked| is_it(&asked.named))?;
        self.places.get(place)?.of(self.text)
    }

    /// Returns the value of a header, whatever the case of its name.
    pub(crate) fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.at(|named| matches!(named, Named::Header(own) if own.eq_ignore_ascii_case(name)))
    }

    /// Returns the value of a column.
    pub(crate) fn column(&self, name: &str) -> Option<&'a [u8]> {
        self.at(|named| matches!(named, Named::Column(own) if own == name))
    }
}

/// Two lines are equal if they have the same values.
impl PartialEq for Columns<'_> {
    fn eq(&self, other: &Self) -> bool {
        let values = |columns: &Self| -> Vec<Option<Vec<u8>>> {
            columns.places.iter().map(|place| place.of(columns.text).map(<[u8]>::to_vec)).collect()
        };
        values(self) == values(other)
    }
}

impl Eq for Columns<'_> {}
