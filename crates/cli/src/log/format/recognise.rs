//! Finds the format of a log by its first lines.

use std::io;

use sluicegate_policy::client_address;

use super::error::HeaderError;
use super::prefix::PrefixId;
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
        if let ([candidate], Some(_)) = (&*self.candidates, self.prefix) {
            return Ok(Reader::new(self, candidate, self.prefix));
        }
        let lines: Vec<&[u8]> = head
            .split(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.trim_ascii().is_empty())
            .take(LINES)
            .collect();
        let prefixes: Vec<Option<PrefixId>> = if self.prefix.is_some() {
            vec![self.prefix]
        } else {
            let is_there = |prefix: &PrefixId| {
                let with = lines.iter().filter(|line| prefix.rest(line).is_some()).count();
                with * 2 > lines.len()
            };
            // A pattern with free fields may take a prefix for some of them.
            PrefixId::all().filter(is_there).map(Some).chain([None]).collect()
        };
        let are_objects = self.candidates.len() > 1
            && lines.iter().filter(|line| line.starts_with(b"{")).count() * 2 > lines.len();
        let mut best: Option<(Score, &Candidate, Option<PrefixId>)> = None;
        for prefix in prefixes {
            for candidate in &*self.candidates {
                // A pattern with free fields takes anything, an object too.
                if are_objects && prefix.is_none() && !matches!(candidate.kind, Kind::Json(_)) {
                    continue;
                }
                let score = self.score(candidate, prefix, &lines);
                if score.0 > 0 && best.is_none_or(|(other, ..)| other < score) {
                    best = Some((score, candidate, prefix));
                }
            }
        }
        if let Some((_, candidate, prefix)) = best {
            return Ok(Reader::new(self, candidate, prefix));
        }
        let of_none = self.by_first_byte(&lines).ok_or_else(|| {
            HeaderError(
                "its first lines are in none of the formats that it may have; `--format help` lists all"
                    .to_owned(),
            )
        })?;
        Ok(Reader::new(self, of_none, self.prefix))
    }

    fn score(&self, candidate: &Candidate, prefix: Option<PrefixId>, lines: &[&[u8]]) -> Score {
        let mut reader = Reader::to_try(self, candidate, prefix);
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

    /// Returns the format of which lines that no format reads look most, for the sake of the messages about them.
    fn by_first_byte(&self, lines: &[&[u8]]) -> Option<&Candidate> {
        let begins = |sign: u8| lines.first().is_some_and(|line| line.first() == Some(&sign));
        let of_kind =
            |is_kind: fn(&Kind) -> bool| self.candidates.iter().find(|one| is_kind(&one.kind));
        let found = match () {
            () if begins(b'{') => of_kind(|kind| matches!(kind, Kind::Json(_))),
            () if begins(b'#') => of_kind(|kind| matches!(kind, Kind::W3c(_))),
            () => None,
        };
        let alone = match &*self.candidates {
            [one] => Some(one),
            _ => of_kind(|kind| matches!(kind, Kind::Common)),
        };
        found.or(alone)
    }
}
