//! A line of a log as a request that policies look at.

use bstr::BString;
use sluicegate_policy::{
    Charge, Filter as Requests, KeyField, KeyPart, Missing, RequestFields, Written, write_key,
};

use super::{Policy, Rule};
use crate::log::Line;

/// The text of a field that is absent.
const ABSENT: &[u8] = b"-";

/// The lines that a limiter judges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    only: Requests,
    except: Vec<Requests>,
    /// True if it lets all lines through.
    is_open: bool,
}

/// The fields of lines that a policy asks for, beside headers and columns.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// The fields of its keys and filters, each once.
    pub fields: Vec<KeyField>,
    /// True if a cost depends on the size of responses.
    pub bytes: bool,
}

/// The number of permits that a line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost(pub sluicegate_policy::Cost);

impl RequestFields for Line<'_> {
    fn field(&self, field: KeyField) -> Option<&[u8]> {
        let text: &[u8] = Line::field(self, field);
        (text != ABSENT).then_some(text)
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        let usual = match name {
            name if name.eq_ignore_ascii_case("user-agent") => self.agent,
            name if name.eq_ignore_ascii_case("referer") => self.referer,
            _ => return self.columns.header(name),
        };
        (*usual != *ABSENT).then_some(usual)
    }

    fn column(&self, name: &str) -> Option<&[u8]> {
        self.columns.column(name)
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.bytes)
    }
}

impl Filter {
    pub(super) fn new(only: Requests, except: Vec<Requests>) -> Filter {
        Filter { is_open: only.is_everything() && except.is_empty(), only, except }
    }

    /// Returns whether the limiter judges this line.
    #[must_use]
    #[inline]
    pub fn lets_through(&self, line: &Line<'_>) -> bool {
        self.is_open || self.has(line)
    }

    #[inline(never)]
    fn has(&self, line: &Line<'_>) -> bool {
        self.only.matches(line) && !self.except.iter().any(|except| except.matches(line))
    }

    /// Returns the set of lines that `match` says, and those of `except`.
    #[must_use]
    pub fn sets(&self) -> (&Requests, &[Requests]) {
        (&self.only, &self.except)
    }
}

impl Cost {
    /// Returns what this line costs.
    #[must_use]
    #[inline]
    pub fn of(&self, line: &Line<'_>) -> Charge {
        match &self.0 {
            sluicegate_policy::Cost::Permits(permits) => Charge::exactly(*permits),
            sluicegate_policy::Cost::Bytes => Charge::exactly(line.bytes),
            other => other.of(line),
        }
    }
}

impl Rule {
    /// Writes the key of a line in place of what is there.
    #[inline]
    pub(crate) fn write_key(&self, line: &Line<'_>, key: &mut BString) -> Written {
        // Clients and paths have several spellings.
        if let [KeyPart::Field(field, Missing::Shared)] = *self.key
            && !matches!(field, KeyField::Client | KeyField::Path)
        {
            key.clear();
            let text: &[u8] = line.field(field);
            let text = if text.is_empty() { ABSENT } else { text };
            key.extend_from_slice(text);
            return Written { lacks: text == ABSENT, ..Written::WHOLE };
        }
        write_key(&self.key, line, key)
    }
}

impl Needs {
    fn add(&mut self, field: KeyField) {
        if field != KeyField::All && !self.fields.contains(&field) {
            self.fields.push(field);
        }
    }

    fn add_key(&mut self, part: &KeyPart) {
        match part {
            KeyPart::Field(field, _) => self.add(*field),
            KeyPart::Client(_) => self.add(KeyField::Client),
            KeyPart::Templates(..) | KeyPart::Segments(_) => self.add(KeyField::Path),
            KeyPart::Named(..) => {}
        }
    }

    fn add_filter(&mut self, filter: &Requests) {
        for field in [
            KeyField::Method,
            KeyField::Path,
            KeyField::Status,
            KeyField::StatusClass,
            KeyField::Client,
            KeyField::Agent,
        ] {
            if filter.depends_on(field) {
                self.add(field);
            }
        }
    }

    /// Returns true if a status is asked for, or its class.
    #[must_use]
    pub fn status(&self) -> bool {
        self.fields.iter().any(|field| matches!(field, KeyField::Status | KeyField::StatusClass))
    }
}

impl Policy {
    /// Returns the fields that its limiters and levels ask for.
    #[must_use]
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for rule in &self.rules {
            rule.key.iter().for_each(|part| needs.add_key(part));
            needs.add_filter(&rule.filter.only);
            rule.filter.except.iter().for_each(|filter| needs.add_filter(filter));
            let penalty = rule.penalty.iter().flat_map(|own| &own.of_answers);
            penalty.for_each(|filter| needs.add_filter(filter));
            match &rule.cost.0 {
                sluicegate_policy::Cost::Bytes => needs.bytes = true,
                sluicegate_policy::Cost::Rules(rules) => {
                    for rule in rules {
                        needs.add_filter(&rule.filter);
                    }
                }
                _ => {}
            }
        }
        for level in &self.hierarchy {
            needs.bytes |= level.counts.iter().any(|name| name == "bytes");
            level
                .key
                .iter()
                .filter_map(|name| KeyField::from_name(name))
                .for_each(|field| needs.add(field));
        }
        needs
    }

    /// Returns the headers and columns that its limiters need, each once.
    #[must_use]
    pub fn named(&self) -> Vec<sluicegate_policy::Named> {
        let mut all: Vec<_> = self.rules.iter().flat_map(|rule| rule.named.clone()).collect();
        all.extend(crate::replay::levels::columns(&self.hierarchy));
        all.sort();
        all.dedup();
        all
    }
}
