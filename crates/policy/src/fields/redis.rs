//! The fields of a store on a server.

use super::requests::MAX_TEXT;
use super::{Field, Form, MAX_SIZE, field, needed};
use crate::RedisStore;

static LEASE: [Field; 5] = [
    needed(
        "nodes",
        Form::Within(1, 10_000),
        "The greatest number of processes that hold leases at a time: from 1 to 10000.",
    ),
    field(
        "share",
        Form::Within(1, 90),
        "The part of the limit that all leases of a key may be together, in percent: 25 if left out.",
    ),
    field(
        "size",
        Form::Within(1, MAX_SIZE),
        "The largest lease, in permits; if left out, as the share allows.",
    ),
    field(
        "expiry",
        Form::Time,
        "The time without a request after which a lease is given back: 1 s if left out.",
    ),
    field("max_keys", Form::Within(1, 1 << 24), "The most keys with a lease: 10000 if left out."),
];

static SHARE_OF_MACHINES: [Field; 1] = [needed(
    "share",
    Form::Within(1, u32::MAX as u64),
    "The number of machines, of which each grants an equal share of the limit.",
)];

pub(super) static REDIS: [Field; 9] = [
    needed(
        "redis",
        Form::Text(MAX_TEXT),
        "The URL of a Redis or Valkey server, such as redis://127.0.0.1:6379/; of a cluster, redis+cluster://NODE,NODE; of a \
         primary that sentinels name, redis+sentinel://SENTINEL,SENTINEL/NAME.",
    ),
    field(
        "password_file",
        Form::Text(MAX_TEXT),
        "The file with the server's password, which is read again for each connection.",
    ),
    field(
        "password_env",
        Form::Text(MAX_TEXT),
        "The variable of the environment with the server's password.",
    ),
    field(
        "prefix",
        Form::Text(RedisStore::MAX_PREFIX),
        "The beginning of names on the server: sluicegate if left out.",
    ),
    field(
        "time_limit",
        Form::Time,
        "The longest that a decision waits for the server: 250 ms if left out.",
    ),
    field(
        "failures",
        Form::Within(1, 1_000),
        "Failures in a row after which the server is left alone: 1 if left out.",
    ),
    field(
        "pause",
        Form::Time,
        "The time for which the server is left alone after failures: 1 s if left out.",
    ),
    field(
        "on_failure",
        Form::Either(
            &Form::Word(&["closed", "open"]),
            &Form::Table(&SHARE_OF_MACHINES, "{ share = 4 }"),
        ),
        "The answer while the server gives none: `closed` (default), `open`, or each machine's share of the \
         limit.",
    ),
    field(
        "lease",
        Form::Table(&LEASE, "{ nodes = 8 }"),
        "Leases of keys that are asked for often; none if left out.",
    ),
];
