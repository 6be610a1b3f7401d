//! The tables of fields.

use super::bucket::{BUCKET, MAX_PERMITS, RATE_FORM};
use super::common::{CLASSES_FORM, SHARES_FORM};
use super::penalty::PENALTY;
use super::redis::REDIS;
use super::requests::{COST_FORM, EXCEPT_FORM, FILTER_FORM, KEY_FORM, MAX_TEXT, TEXT};
use super::{Field, Form, MAX_NAME, MAX_SIZE, field, needed};

/// The most permits of a day or a longer window of a calendar.
const MAX_COUNT: u64 = (1 << 47) - 1;

/// The fields of the file.
pub(crate) static TOP: [Field; 5] = [
    field("limiter", Form::List(&Form::Limiter), "Limiters, each with its name in it."),
    field("limiters", Form::Limiters, "Limiters by their names."),
    field(
        "hierarchy",
        Form::List(&Form::Level),
        "Levels, such as organisation, team and user: a request passes all of them or none.",
    ),
    field(
        "framework",
        Form::Any,
        "A configuration of Symfony, whose `rate_limiter` has limiters by their names.",
    ),
    field("$schema", Form::Any, "The JSON Schema, for editors."),
];

static WINDOW: [Field; 2] = [
    needed("limit", Form::Whole(1, MAX_PERMITS), "The most permits in the window."),
    needed("interval", Form::Time, "The length of the window."),
];

static DAYS: [Field; 7] = [
    field("monday", Form::Whole(0, MAX_COUNT), "The amount of Mondays."),
    field("tuesday", Form::Whole(0, MAX_COUNT), "The amount of Tuesdays."),
    field("wednesday", Form::Whole(0, MAX_COUNT), "The amount of Wednesdays."),
    field("thursday", Form::Whole(0, MAX_COUNT), "The amount of Thursdays."),
    field("friday", Form::Whole(0, MAX_COUNT), "The amount of Fridays."),
    field("saturday", Form::Whole(0, MAX_COUNT), "The amount of Saturdays."),
    field("sunday", Form::Whole(0, MAX_COUNT), "The amount of Sundays."),
];

/// The fields of a limiter.
pub(crate) static LIMITER: [Field; 35] = [
    field("name", Form::Text(MAX_NAME), "The name that reports call it by; no two have the same."),
    field("key", KEY_FORM, "Requests that agree in this share one limiter; `client` if left out."),
    field("policy", Form::Policy, "The kind of limiter."),
    field("mode", Form::Word(&["meter", "min_interval"]), "The kind of leaky bucket."),
    field(
        "limit",
        Form::Whole(1, MAX_COUNT),
        "The most permits at once, in a bucket, or in one window: from 1 to 2^32.",
    ),
    field("rate", RATE_FORM, "The permits that come back in each interval."),
    field(
        "refill",
        Form::Word(&["smooth", "interval"]),
        "`smooth` (default): continuously; `interval`: all at the end of each interval.",
    ),
    field(
        "initial",
        Form::Whole(0, MAX_PERMITS),
        "The tokens of a new bucket; the limit if left out.",
    ),
    field(
        "max_debt",
        Form::Whole(0, MAX_PERMITS - 1),
        "The tokens that may be taken on credit, by force, reservations and settlements; the limit if \
         left out.",
    ),
    field("interval", Form::Time, "The length of the window, or the distance of requests."),
    field("tolerance", Form::Time, "The most that a request may come early."),
    field(
        "start",
        Form::Word(&["epoch", "first"]),
        "`first` (default): starting at the first request; `epoch`: aligned to the clock.",
    ),
    field(
        "slots",
        Form::Whole(1, 65_536),
        "The number of slots of a window: from 1 to 65536, 60 if left out.",
    ),
    field(
        "capacity",
        Form::Whole(1, (1 << 24) - 2),
        "The requests that the log remembers; the limit if left out.",
    ),
    field(
        "limits",
        Form::List(&Form::Table(&WINDOW, "{ limit = 10, interval = \"1 second\" }")),
        "Several windows, at most 64; all must have room.",
    ),
    field(
        "every",
        Form::Word(&["minute", "hour", "day", "week", "month"]),
        "The window of the calendar; weeks begin on Mondays.",
    ),
    field("amount", Form::Whole(0, MAX_COUNT), "The permits of each day."),
    field(
        "on",
        Form::Table(&DAYS, "{ saturday = 100, sunday = 0 }"),
        "Other amounts of some days of the week.",
    ),
    field("zone", Form::Text(MAX_TEXT), "A time zone of the IANA database; UTC if left out."),
    field("of", Form::List(&Form::Part), "Limiters, at most 64; all must admit a request."),
    field("shares", SHARES_FORM, "Groups of tenants, at most 64, and the share of each tenant."),
    field(
        "classes",
        CLASSES_FORM,
        "Classes of keys, at most 64, the most important one first. The last one is also that of all keys that no class \
         names.",
    ),
    field("match", FILTER_FORM, "Only these requests are judged; all if left out."),
    field("except", EXCEPT_FORM, "These requests are not judged, such as health checks."),
    field(
        "cost",
        COST_FORM,
        "The permits of a request, its response's bytes, a number that it has, or a list of rules of \
         which the first that matches counts; 1 if left out.",
    ),
    field(
        "penalty",
        Form::Table(&PENALTY, "{ offences = 5, within = \"10 minutes\", refuse_for = \"1 hour\" }"),
        "Refuses a key for a time after a number of offences; no penalty if left out.",
    ),
    field(
        "store",
        Form::Either(
            &Form::Word(&["exact", "table"]),
            &Form::Table(&REDIS, "{ redis = \"redis://127.0.0.1:6379/\" }"),
        ),
        "The store of the keys; exact if left out. A table names the server that several machines share.",
    ),
    field(
        "max_keys",
        Form::Whole(1, MAX_SIZE),
        "The most keys of an exact store; no bound if left out.",
    ),
    field("memory", Form::Memory, "The memory of a table."),
    field("keys", Form::Whole(1, MAX_SIZE), "The keys that a table has space for."),
    field(
        "when_full",
        Form::Either(
            &Form::Word(&["deny", "admit"]),
            &Form::Table(
                &BUCKET,
                "{ limit = 100, rate = { amount = 50, interval = \"1 second\" } }",
            ),
        ),
        "The treatment of a key for which there is no space: a bucket is one that all such share.",
    ),
    field(
        "wait",
        Form::Either(&Form::Word(&["refuse"]), &Form::Time),
        "The longest that a request waits for its permits; refused at once if left out.",
    ),
    field("shadow", Form::Flag, "Only counts what it would deny."),
    field(
        "reset",
        Form::Flag,
        "Lets keys on a server start full when a reload changes the kind or the window; it is refused otherwise.",
    ),
    field(
        "overrides",
        Form::Overrides,
        "Keys with numbers of their own: fields of the limiter that are different for this key. If keys are \
         clients, a network such as \"10.0.0.0/8\" stands for each client in it, and the most specific counts.",
    ),
];

/// The fields of a level of a hierarchy, besides those of its kind of limiter.
pub(crate) static LEVEL: [Field; 5] = [
    field("name", Form::Text(MAX_NAME), "The name that refusals call it by; no two have the same."),
    field(
        "key",
        Form::OneOrMany(&TEXT),
        "Fields of a request, as the program names them; requests that agree in them share a budget.",
    ),
    field(
        "counts",
        Form::OneOrMany(&TEXT),
        "Amounts of a request, as the program names them, of which it counts the sum; 1 for each \
         request if left out.",
    ),
    field("max_keys", Form::Whole(1, MAX_SIZE), "The most keys; no bound if left out."),
    field(
        "overrides",
        Form::Overrides,
        "Numbers of their own for keys that match a pattern, such as \"acme/*\": fields of the level \
         that are different for these. The most specific pattern counts.",
    ),
];
