//! Requests that pass without a limit.

use std::sync::Arc;

use http::request::Parts;
use http::{Method, header};

type Rule = Arc<dyn Fn(&Parts) -> bool + Send + Sync>;

/// The rules by which requests pass without a limit.
#[derive(Clone, Default)]
pub(super) struct SkipRules {
    rules: Vec<Rule>,
    skips_preflight: bool,
}

impl SkipRules {
    pub(super) fn add(&mut self, rule: impl Fn(&Parts) -> bool + Send + Sync + 'static) {
        self.rules.push(Arc::new(rule));
    }

    pub(super) fn add_preflight(&mut self) {
        self.skips_preflight = true;
    }

    /// Returns true if no request is skipped but preflight requests, whose method is `OPTIONS`.
    pub(super) fn are_only_of_preflight(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns true if a request passes without a limit.
    pub(super) fn apply_to(&self, request: &Parts) -> bool {
        (self.skips_preflight && is_preflight(request))
            || self.rules.iter().any(|rule| rule(request))
    }
}

/// Returns true if a request is one by which a browser asks whether it may send another.
fn is_preflight(request: &Parts) -> bool {
    request.method == Method::OPTIONS
        && request.headers.contains_key(header::ORIGIN)
        && request.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}
