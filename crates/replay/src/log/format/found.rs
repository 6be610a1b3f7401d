//! The fields that were found in a line.

use std::ops::Range;

use bstr::ByteSlice;
use sluicegate_policy::path_of_target;

use super::super::columns::ABSENT;
use super::super::columns::Columns;
use super::super::line::{
    BadLine, Line, client_of_list, is_no_answer, is_status, request, shown, size,
};
use super::names::{Names, SLOTS, Slot, Wanted};
use super::time::{self, Stamp};
use super::{Record, Used};

/// Places of fields in a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    places: [Option<Range<usize>>; SLOTS],
    /// Rank of the name of each field that was found by several.
    ranks: [usize; SLOTS],
    /// The places of the columns that a policy asks for, and how good their names are.
    columns: Vec<Option<(usize, Range<usize>)>>,
    /// The date of a time of day that comes without one.
    day: Option<Day>,
}

/// A date such as `2015-05-17`.
pub(super) type Day = [u8; 10];

impl Found {
    /// Starts with nothing found. A time of day without a date is one of that day.
    pub(super) fn on_day(day: Option<Day>) -> Found {
        Found { day, ..Found::default() }
    }

    /// Keeps the place of a column, unless one with a better name was found.
    pub(super) fn put_column(&mut self, column: usize, rank: usize, place: Range<usize>) {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, None);
        }
        let own = &mut self.columns[column];
        if own.as_ref().is_none_or(|(other, _)| rank <= *other) {
            *own = Some((rank, place));
        }
    }

    /// Returns the values of so many columns.
    fn columns<'a>(&self, text: &'a [u8], count: usize) -> Vec<Option<&'a [u8]>> {
        let value = |column: usize| {
            let (_, place) = self.columns.get(column)?.clone()?;
            text.get(place)
        };
        (0..count).map(value).collect()
    }

    /// Returns the fields as a record with so many columns: see [`line`](Found::line).
    pub(super) fn record<'a>(
        &self,
        text: &'a [u8],
        format: Option<&str>,
        columns: usize,
        used: Used,
    ) -> Result<Option<Record<'a>>, BadLine> {
        let columns = self.columns(text, columns);
        let line = self.line(text, format, used)?;
        Ok(line.map(|(line, places)| Record { line, places, columns }))
    }

    /// Returns the fields of a line in which they have names: one without a time is bad.
    pub(super) fn named_record<'a>(
        &self,
        text: &'a [u8],
        names: &Names,
    ) -> Result<Option<Record<'a>>, BadLine> {
        let record = self.record(text, None, names.asked.0.len(), names.used)?;
        record.map(Some).ok_or_else(|| BadLine::NoTime(names.of_time()))
    }

    /// Keeps the place of a value for all fields and columns of its name.
    pub(super) fn put_named(
        &mut self,
        names: &Names,
        (name, wanted): (&str, Option<&Wanted>),
        place: &Range<usize>,
    ) {
        for (slot, rank) in wanted.map_or(&[][..], |wanted| &wanted.slots) {
            self.put_ranked(*slot, *rank, place.clone());
        }
        for (column, asked) in names.asked.0.iter().enumerate() {
            if let Some(rank) = asked.rank(name) {
                self.put_column(column, rank, place.clone());
            }
        }
    }

    pub(super) fn put(&mut self, slot: Slot, place: Range<usize>) {
        self.places[slot as usize] = Some(place);
    }

    /// Keeps the place of a field, unless one with a better name was found. The best rank is 0.
    pub(super) fn put_ranked(&mut self, slot: Slot, rank: usize, place: Range<usize>) {
        let at = slot as usize;
        if self.places[at].is_none() || rank <= self.ranks[at] {
            self.ranks[at] = rank;
            self.places[at] = Some(place);
        }
    }

    pub(super) fn get<'a>(&self, text: &'a [u8], slot: Slot) -> Option<&'a [u8]> {
        self.places[slot as usize].clone().map(|place| &text[place])
    }

    /// Returns the fields as a line, with the decimal places of its stamp. `format` is that of its time,
    /// if it has one of its own.
    fn line<'a>(
        &self,
        text: &'a [u8],
        format: Option<&str>,
        used: Used,
    ) -> Result<Option<(Line<'a>, u8)>, BadLine> {
        let get = |slot| self.get(text, slot);
        let or_absent = |slot| get(slot).unwrap_or(ABSENT).as_bstr();
        let Some((time, places)) = self.stamp(text, format)? else { return Ok(None) };
        let (mut method, mut target) =
            get(Slot::Request).and_then(request).unwrap_or((ABSENT.as_bstr(), ABSENT.as_bstr()));
        if let Some(given) = get(Slot::Method) {
            method = given.as_bstr();
        }
        if let Some(given) = get(Slot::Path) {
            target = given.as_bstr();
        }
        let status = match or_absent(Slot::Status) {
            status if is_status(status) => status,
            status if used.status && !is_no_answer(status) => {
                return Err(BadLine::Status(shown(status)));
            }
            _ => ABSENT.as_bstr(),
        };
        let bytes = match get(Slot::Bytes).unwrap_or(ABSENT) {
            bytes if is_no_answer(bytes) => Ok(0),
            bytes if bytes.is_empty() || !bytes.iter().all(u8::is_ascii_digit) => {
                Err(BadLine::NoSize(shown(bytes)))
            }
            bytes => size(bytes),
        };
        let line = Line {
            client: client_of_list(or_absent(Slot::Client), used.proxies).as_bstr(),
            user: or_absent(Slot::User),
            time,
            method,
            path: path_of_target(target).as_bstr(),
            status,
            bytes: if used.bytes { bytes? } else { bytes.unwrap_or(0) },
            referer: or_absent(Slot::Referer),
            agent: or_absent(Slot::Agent),
            columns: Columns::default(),
        };
        Ok(Some((line, places)))
    }

    fn stamp(&self, text: &[u8], format: Option<&str>) -> Result<Option<Stamp>, BadLine> {
        let get = |slot| self.get(text, slot);
        let date = get(Slot::Date).or(self.day.as_ref().map(|day| &day[..]));
        let stamp = match (date, get(Slot::TimeOfDay), get(Slot::Time)) {
            (Some(date), Some(time), _) => time::of_parts(date, time),
            (_, _, Some(time)) => match format {
                Some(format) => time::by_format(format, time),
                None => time::parse(time),
            },
            _ => return Ok(None),
        };
        let stamp = match get(Slot::Fraction) {
            Some(digits) => stamp.and_then(|stamp| time::with_fraction(stamp, digits)),
            None => stamp,
        };
        let given = || match (get(Slot::Date), get(Slot::TimeOfDay), get(Slot::Time)) {
            (Some(date), Some(time), _) => shown(&[date, time].join(&b' ')),
            (_, _, time) => shown(time.unwrap_or(ABSENT)),
        };
        stamp.map(Some).ok_or_else(|| BadLine::OtherTime(given()))
    }
}
