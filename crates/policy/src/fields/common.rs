//! The fields of limiters that all keys have in common: shares and classes.

use super::bucket::{BUCKET, MAX_PERMITS};
use super::requests::TEXT;
use super::{Field, Form, MAX_NAME, field, needed};

const BUCKET_FORM: Form =
    Form::Table(&BUCKET, "{ limit = 50, rate = { amount = 10, interval = \"1 second\" } }");

static NAMES: Form = Form::OneOrMany(&TEXT);

const TENANTS: Field = needed(
    "tenants",
    Form::Either(&Form::Within(1, 1 << 32), &NAMES),
    "The keys of the tenants, each of which has a place of its own; or a number of places, for all tenants that no group \
     names.",
);

const CEILING: Field = field(
    "ceiling",
    BUCKET_FORM,
    "The most that each tenant gets, assured and borrowed; all that is idle if left out.",
);

static ASSURED: [Field; 3] =
    [field("assured", BUCKET_FORM, "The part that each tenant can rely on."), TENANTS, CEILING];

static WEIGHTED: [Field; 3] = [
    field(
        "weight",
        Form::Within(1, u32::MAX as u64),
        "The weight of each tenant, by which all of the rate and half of the limit are assured.",
    ),
    TENANTS,
    CEILING,
];

static SHARE_FORM: Form = Form::Choice(
    &[&ASSURED, &WEIGHTED],
    "{ tenants = [\"acme\"], assured = { limit = 50, rate = { amount = 10, interval = \"1 second\" } } }",
);

pub(super) const SHARES_FORM: Form = Form::List(&SHARE_FORM);

static CLASS: [Field; 4] = [
    needed("name", Form::Text(MAX_NAME), "The name, which answers tell."),
    field(
        "values",
        Form::OneOrMany(&TEXT),
        "The keys of its requests; the name alone if left out.",
    ),
    field(
        "reserve",
        Form::Whole(0, MAX_PERMITS),
        "The permits that it leaves to other classes; 0 if left out.",
    ),
    field(
        "reserve_percent",
        Form::Within(0, 99),
        "The same in percent of the limit, rounded up to whole permits.",
    ),
];

static CLASS_FORM: Form = Form::Table(&CLASS, "{ name = \"batch\", reserve_percent = 50 }");

pub(super) const CLASSES_FORM: Form = Form::List(&CLASS_FORM);
