//! A file as it is written.

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Root {
    pub(super) domain: String,
    #[serde(default)]
    pub(super) descriptors: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the file")]
pub(super) struct Descriptor {
    pub(super) key: String,
    pub(super) value: Option<String>,
    pub(super) rate_limit: Option<RateLimit>,
    #[serde(default)]
    pub(super) descriptors: Vec<Descriptor>,
    #[serde(default)]
    pub(super) shadow_mode: bool,
    #[serde(default)]
    pub(super) quota_mode: bool,
    #[serde(default)]
    pub(super) share_threshold: bool,
    #[serde(default)]
    pub(super) metadata: Map<String, Value>,
    // They choose the names of statistics, of which this service has others.
    #[serde(default, rename = "detailed_metric")]
    _detailed_metric: bool,
    #[serde(default, rename = "value_to_metric")]
    _value_to_metric: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RateLimit {
    pub(super) requests_per_unit: Option<u32>,
    pub(super) unit: Option<String>,
    pub(super) unit_multiplier: Option<u32>,
    #[serde(default)]
    pub(super) unlimited: bool,
    /// Name of a limiter of the policy, in place of a number of requests.
    pub(super) limiter: Option<String>,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) replaces: Vec<Replaces>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replaces {
    pub(super) name: String,
}
