//! The fields of a response, as the layer for web servers writes them.

use std::time::SystemTime;

use http::HeaderMap;
use sluicegate_http::fields::{FieldVersion, FieldWriter};

use super::answer::Answer;
use crate::setup::CheckedSide;
use crate::wire::Fields;

/// Writes the fields of responses under some terms.
#[derive(Debug)]
pub(super) struct ResponseWriter {
    writer: Option<FieldWriter>,
    /// The status of refusals.
    refused: u16,
}

impl ResponseWriter {
    pub(super) fn new(side: &CheckedSide) -> ResponseWriter {
        let writer = FieldWriter::new(FieldVersion::Draft8, side.terms.policies()).ok();
        // If all clients together have too much in flight, it is the server's fault.
        let refused = if side.terms.holds() && !side.per_key { 503 } else { 429 };
        ResponseWriter { writer, refused }
    }

    /// Writes the fields of a response to a request with this answer.
    pub(super) fn write(&self, answer: &Answer) -> Fields {
        let mut headers = HeaderMap::new();
        if let Some(writer) = &self.writer {
            writer.write(&mut headers, &[answer.state], SystemTime::UNIX_EPOCH);
        }
        let told = headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let status = if answer.is_granted { 200 } else { self.refused };
        Fields { status, headers: told.collect() }
    }
}
