//! Finds the format of a log by its first lines.

use std::io;

use sluicegate_policy::client_address;

use super::csv::Header;
use super::error::HeaderError;
use super::prefix::{Before, PrefixId};
use super::reader::Reader;
use super::record::Scratch;
use super::{Candidate, Format, Kind};
use crate::log::columns::ABSENT;

/// The lines that are looked at, which are not blank.
const LINES: usize = 30;

/// The lines that a reader understands, those of them whose client is an address, and those with a client.
type Score = (usize, usize, usize);

impl Format {
    /// Returns the reader of a log that begins with these lines.
    ///
    /// # Errors
    ///
    /// If fields were named, and the lines are in no format that has any.
    pub(in crate::log) fn reader(&self, head: &[u8]) -> io::Result<Reader> {
        if let ([candidate], false) = (&*self.candidates, self.before.is_none()) {
            return Ok(Reader::new(self, candidate, self.before));
        }
        let lines: Vec<&[u8]> = head
            .split(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.trim_ascii().is_empty())
            .take(LINES)
            .collect();
        let prefixes = self.prefixes(&lines);
        let are_objects = self.candidates.len() > 1
            && lines.iter().filter(|line| line.starts_with(b"{")).count() * 2 > lines.len();
        let mut best: Option<(Score, &Candidate, Before)> = None;
        for before in &prefixes {
            for candidate in &*self.candidates {
                // A pattern with free fields takes anything, an object too.
                if are_objects && before.is_none() && !matches!(candidate.kind, Kind::Json(_)) {
                    continue;
                }
                let score = self.score(candidate, *before, &lines);
                if score.0 > 0
                    && self.is_likely(candidate, score)
                    && best.is_none_or(|(other, ..)| other < score)
                {
                    best = Some((score, candidate, *before));
                }
            }
        }
        if let Some((_, candidate, before)) = best {
            return Ok(Reader::new(self, candidate, before));
        }
        // The first of those that explain most of each line.
        let before = prefixes.into_iter().rev().max_by_key(|before| before.depth());
        let before = before.unwrap_or_default();
        let first = lines.first().map_or(&[][..], |line| before.strip(line));
        let of_none = self.by_first_byte(first).ok_or_else(|| {
            HeaderError(
                "its first lines are in none of the formats that it may have; `--format help` lists all"
                    .to_owned(),
            )
        })?;
        Ok(Reader::of_no_format(self, of_none, before))
    }

    /// Returns what may be before most of the lines. The last is what was named.
    fn prefixes(&self, lines: &[&[u8]]) -> Vec<Before> {
        let within = |outer: Before| {
            let is_there = move |before: &Before| {
                let with = lines.iter().filter(|line| before.rest(line).is_some()).count();
                with * 2 > lines.len()
            };
            PrefixId::all().filter_map(move |id| outer.with(id)).filter(is_there)
        };
        let mut prefixes = Vec::new();
        for outer in within(self.before) {
            prefixes.push(outer);
            prefixes.extend(within(outer));
        }
        // A pattern with free fields may take a prefix for some of them.
        prefixes.push(self.before);
        prefixes
    }

    /// Returns false for a pattern that takes lines of something else for those of an access log. The shape of common
    /// lines is proof enough; of a pattern with free fields it is that the clients are addresses.
    fn is_likely(&self, candidate: &Candidate, (_, with_address, with_client): Score) -> bool {
        let is_free = self.is_guessed && matches!(candidate.kind, Kind::Pattern(_));
        !is_free || with_address * 2 >= with_client
    }

    fn score(&self, candidate: &Candidate, before: Before, lines: &[&[u8]]) -> Score {
        let mut reader = Reader::to_try(self, candidate, before);
        let mut scratch = Scratch::default();
        let (mut read, mut with_address, mut with_client) = (0, 0, 0);
        for line in lines {
            let line = reader.without_prefix(line);
            if let Ok(Some(record)) = reader.record(line, &mut scratch) {
                read += 1;
                with_address += usize::from(client_address(record.line.client).is_some());
                with_client += usize::from(record.line.client != ABSENT);
            }
        }
        (read, with_address, with_client)
    }

    /// Returns true if a line names columns, of which one is a time.
    fn has_columns(&self, line: &[u8]) -> bool {
        self.candidates.iter().any(|candidate| match &candidate.kind {
            Kind::Csv(names) => Header::read(names, line, &mut Scratch::default()).is_ok(),
            _ => false,
        })
    }

    /// Returns the format of which a line that no format reads looks most, for the sake of the messages about it.
    fn by_first_byte(&self, first: &[u8]) -> Option<&Candidate> {
        let begins = |sign: u8| first.first() == Some(&sign);
        let of_kind =
            |is_kind: fn(&Kind) -> bool| self.candidates.iter().find(|one| is_kind(&one.kind));
        let found = match () {
            () if begins(b'{') => of_kind(|kind| matches!(kind, Kind::Json(_))),
            () if begins(b'#') => of_kind(|kind| matches!(kind, Kind::W3c(_))),
            () if self.has_columns(first) => of_kind(|kind| matches!(kind, Kind::Csv(_))),
            () => None,
        };
        let alone = match &*self.candidates {
            [one] => Some(one),
            _ => of_kind(|kind| matches!(kind, Kind::Common)),
        };
        found.or(alone)
    }
}
