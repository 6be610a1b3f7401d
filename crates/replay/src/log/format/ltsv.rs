//! Lines of labels and values, `label:value`, separated by tabs.

use super::found::Found;
use super::names::Names;
use super::record::{Record, Scratch};
use crate::log::columns::ABSENT;
use crate::log::line::BadLine;
use crate::log::presence::Presence;

/// Reads one line. Each field is where its best label is.
pub(super) fn record<'a>(
    names: &Names,
    line: &'a [u8],
    scratch: &mut Scratch,
    presence: &Presence,
) -> Result<Option<Record<'a>>, BadLine> {
    let mut found = Found::default();
    let learns = scratch.learns();
    let mut at = 0;
    for pair in line.split(|byte| *byte == b'\t') {
        let place = at..at + pair.len();
        at = place.end + 1;
        let Some(colon) = memchr::memchr(b':', pair) else { continue };
        let value = place.start + colon + 1..place.end;
        let Ok(label) = str::from_utf8(&pair[..colon]) else { continue };
        if learns {
            presence.learn([label]);
        }
        if value.is_empty() || &line[value.clone()] == ABSENT {
            continue;
        }
        found.put_named(names, (label, names.get(label)), &value);
    }
    found.named_record(line, names)
}
