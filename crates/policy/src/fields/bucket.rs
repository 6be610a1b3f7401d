//! The fields of a rate, and of a bucket beside others.

use super::{Field, Form, needed};

/// The most permits of a rate, and of a bucket.
pub(super) const MAX_PERMITS: u64 = 1 << 32;

static RATE: [Field; 2] = [
    needed("amount", Form::Whole(1, MAX_PERMITS), "Permits in each interval: from 1 to 2^32."),
    needed("interval", Form::Time, "The interval: from 1 ns to 100 years."),
];

pub(super) const RATE_FORM: Form = Form::Table(&RATE, "{ amount = 5, interval = \"1 minute\" }");

pub(super) static BUCKET: [Field; 2] = [
    needed("limit", Form::Whole(1, MAX_PERMITS), "The most permits at once."),
    needed("rate", RATE_FORM, "The permits that it earns."),
];
