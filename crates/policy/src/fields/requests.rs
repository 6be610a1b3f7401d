//! The fields that look at requests: keys, filters and costs.

use super::{Field, Form, field, needed};

/// The longest of other texts, such as a path.
pub(super) const MAX_TEXT: usize = 4096;

pub(super) static TEXT: Form = Form::Text(MAX_TEXT);

static STATUS_CLASSES: Form = Form::Word(&["1xx", "2xx", "3xx", "4xx", "5xx"]);
static STATUS: Form = Form::Within(100, 999);
static VALUES: Form = Form::OneOrMany(&TEXT);

/// The fields of `match` and of `except`.
static FILTER: [Field; 9] = [
    field("method", Form::OneOrMany(&TEXT), "Methods, in upper case."),
    field("path_prefix", Form::OneOrMany(&TEXT), "Beginnings of paths, which have no query."),
    field("path", Form::OneOrMany(&TEXT), "Templates of paths, such as /users/{id}."),
    field("status_class", Form::OneOrMany(&STATUS_CLASSES), "Classes of statuses."),
    field("status", Form::OneOrMany(&STATUS), "Statuses, such as 429."),
    field("client", Form::OneOrMany(&TEXT), "Networks and addresses, such as 10.0.0.0/8."),
    field(
        "agent_contains",
        Form::OneOrMany(&TEXT),
        "Texts in the user agent, in upper or lower case.",
    ),
    field("header", Form::Named(&VALUES), "Headers, and the values that each may have."),
    field("column", Form::Named(&VALUES), "Columns of the log, and the values that each may have."),
];

pub(super) const FILTER_FORM: Form = Form::Table(&FILTER, "{ method = \"POST\" }");
static FILTER_TABLE: Form = FILTER_FORM;
static OFFENCES: Form = Form::Either(&Form::Word(&["refusals"]), &FILTER_TABLE);
pub(super) const OFFENCES_FORM: Form = Form::OneOrMany(&OFFENCES);
pub(super) const EXCEPT_FORM: Form = Form::OneOrMany(&FILTER_TABLE);

static FIELD_NAMES: [&str; 9] =
    ["client", "path", "method", "status", "status_class", "user", "referer", "agent", "all"];

const MISSING: Field = field(
    "missing",
    Form::Word(&["deny", "admit", "shared"]),
    "The treatment of requests that lack it: `deny` (default), `admit` without a limit, or one `shared` \
     limiter.",
);

static PREFIX: [Field; 2] = [
    field("ipv4", Form::Within(1, 32), "Bits of IPv4 addresses, from 1 to 32; 32 if left out."),
    field("ipv6", Form::Within(1, 128), "Bits of IPv6 addresses, from 1 to 128; 64 if left out."),
];

static SEGMENTS: [Field; 1] =
    [needed("segments", Form::Within(1, 1000), "So many segments of the path: from 1 to 1000.")];

static OF_CLIENT: [Field; 1] = [field(
    "client",
    Form::Table(&PREFIX, "{ ipv4 = 24, ipv6 = 64 }"),
    "The network of the client's address.",
)];
static OF_HEADER: [Field; 2] =
    [field("header", Form::Text(MAX_TEXT), "The name of a header, such as x-api-key."), MISSING];
static OF_COLUMN: [Field; 2] = [
    field("column", Form::Text(MAX_TEXT), "The name of a column of the log, such as org.id."),
    MISSING,
];
static OF_FIELD: [Field; 2] = [
    field(
        "field",
        Form::Word(&[
            "client",
            "path",
            "method",
            "status",
            "status_class",
            "user",
            "referer",
            "agent",
        ]),
        "A field, with an answer for requests that lack it.",
    ),
    MISSING,
];
static OF_PATH: [Field; 2] = [
    field(
        "path",
        Form::Either(&VALUES, &Form::Table(&SEGMENTS, "{ segments = 2 }")),
        "Templates such as /users/{id}, of which the most specific counts, or the first segments of the \
         path.",
    ),
    field(
        "otherwise",
        Form::Word(&["itself", "shared", "admit"]),
        "The key of a path that matches no template: the path `itself` (default), one that all `shared`, \
         or `admit` without a limit.",
    ),
];

static KEY_PART: Form = Form::Either(
    &Form::Word(&FIELD_NAMES),
    &Form::Choice(
        &[&OF_CLIENT, &OF_HEADER, &OF_COLUMN, &OF_FIELD, &OF_PATH],
        "{ header = \"x-api-key\" }",
    ),
);

pub(super) const KEY_FORM: Form = Form::OneOrMany(&KEY_PART);

const TIMES: Field = field("times", Form::Within(1, u64::MAX), "A factor: 1 if left out.");
const PER: Field =
    field("per", Form::Within(1, u64::MAX), "A divisor: 1 if left out. Permits are rounded up.");
const MISSING_PERMITS: Field = field(
    "missing",
    Form::Within(0, u64::MAX),
    "The permits of a request that lacks it, or has no number there: 1 if left out.",
);

static COST_OF_COLUMN: [Field; 4] = [
    field("column", Form::Text(MAX_TEXT), "A column of the log with a number, such as tokens."),
    TIMES,
    PER,
    MISSING_PERMITS,
];
static COST_OF_HEADER: [Field; 4] =
    [field("header", Form::Text(MAX_TEXT), "A header with a number."), TIMES, PER, MISSING_PERMITS];

static COST_RULE: [Field; 2] = [
    field("match", FILTER_FORM, "The requests that cost this; all if left out."),
    needed("permits", Form::Within(1, u64::MAX), "The permits of each: 1 or more."),
];

// In items of their own, because older compilers do not keep a temporary that refers to a static.
static COST_CHOICES: [&[Field]; 2] = [&COST_OF_COLUMN, &COST_OF_HEADER];
static COST_CHOICE: Form = Form::Choice(&COST_CHOICES, "{ column = \"tokens\" }");
static COST_TABLE: Form = Form::Table(&COST_RULE, "{ match = { method = \"POST\" }, permits = 5 }");
static COST_RULES: Form = Form::List(&COST_TABLE);
static COST_BY_REQUEST: Form = Form::Either(&COST_CHOICE, &COST_RULES);

pub(super) const COST_FORM: Form = Form::Either(
    &Form::Either(&Form::Whole(1, u64::MAX), &Form::Word(&["bytes"])),
    &COST_BY_REQUEST,
);
