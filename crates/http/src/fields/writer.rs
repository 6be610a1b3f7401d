//! The fields of a response, as a server writes them.

use std::sync::OnceLock;
use std::time::SystemTime;

use http::HeaderMap;

use super::named_items::{self, LIMIT, POLICY};
use super::policy::{FieldError, QuotaPolicy};
use super::retry_after::write_retry_after;
use super::single_limit::{self, DRAFT, LEGACY};
use super::stacked::Inner;
use super::state::PolicyState;
use super::values::{self, MAX_ITEMS};
use super::version::{FieldVersion, ResetAs};

/// Writes the fields of one version for the same policies, response after response.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use http::HeaderMap;
/// use sluicegate::{FixedWindow, rate};
/// use sluicegate_http::fields::{FieldVersion, FieldWriter, PolicyState, QuotaPolicy};
///
/// let policy = QuotaPolicy::new(5).per(Duration::from_secs(60));
/// let writer = FieldWriter::new(FieldVersion::Draft6, [policy])?;
/// let window = FixedWindow::new(rate!(5 / minute))?;
/// let mut headers = HeaderMap::new();
/// let state = PolicyState::granted(&window.try_acquire(1)?);
/// writer.write(&mut headers, &[state], SystemTime::now());
/// assert_eq!(headers["ratelimit-policy"], "5;w=60");
/// assert_eq!(headers["ratelimit-remaining"], "4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FieldWriter {
    version: FieldVersion,
    policies: Box<[QuotaPolicy]>,
    /// `RateLimit-Policy`, which is the same for most responses. It is text and not a value, because the
    /// clones of a value are counted on one cache line, by all threads that respond.
    policy_text: String,
    /// The text before what remains in an item of `RateLimit`, for each policy; of drafts 8 to 10 only.
    item_openings: Box<[String]>,
    /// The limit that was told first in place of the quota of the only policy, and that field with it.
    first_limit: OnceLock<(u64, String)>,
}

impl FieldWriter {
    /// Creates a writer. Allocates.
    ///
    /// # Errors
    ///
    /// [`FieldError::TooManyPolicies`] for more than [`MAX_ITEMS`], and [`FieldError::SameName`] if
    /// clients could not tell two of them apart.
    pub fn new(
        version: FieldVersion,
        policies: impl IntoIterator<Item = QuotaPolicy>,
    ) -> Result<FieldWriter, FieldError> {
        let policies: Box<[QuotaPolicy]> = policies.into_iter().collect();
        if policies.len() > MAX_ITEMS {
            return Err(FieldError::TooManyPolicies { policies: policies.len() });
        }
        for (which, policy) in policies.iter().enumerate() {
            let name = policy.name_or_default();
            let is_same = |other: &QuotaPolicy| other.is_told() && other.name_or_default() == name;
            if policy.is_told() && policies[..which].iter().any(is_same) {
                return Err(FieldError::SameName { name: name.to_owned() });
            }
        }
        Ok(FieldWriter::of(version, policies))
    }

    /// Creates a writer for one policy.
    pub(crate) fn single(version: FieldVersion, policy: QuotaPolicy) -> FieldWriter {
        FieldWriter::of(version, Box::new([policy]))
    }

    /// Returns a writer of another version for the same policies. Allocates.
    #[must_use]
    pub fn with_version(&self, version: FieldVersion) -> FieldWriter {
        FieldWriter::of(version, self.policies.clone())
    }

    fn of(version: FieldVersion, policies: Box<[QuotaPolicy]>) -> FieldWriter {
        let policy_text = match version {
            FieldVersion::Draft8 => named_items::policies(&policies, |_| None),
            FieldVersion::Draft6 | FieldVersion::Draft7 => single_limit::policies(&policies),
            FieldVersion::Draft3 | FieldVersion::Legacy(_) => String::new(),
        };
        let item_openings = match version {
            FieldVersion::Draft8 => policies.iter().map(named_items::opening).collect(),
            _ => Box::default(),
        };
        let first_limit = OnceLock::new();
        FieldWriter { version, policies, policy_text, item_openings, first_limit }
    }

    /// Returns the version.
    #[must_use]
    pub fn version(&self) -> FieldVersion {
        self.version
    }

    /// Returns the policies.
    #[must_use]
    pub fn policies(&self) -> &[QuotaPolicy] {
        &self.policies
    }

    /// Sets the fields of a response, and `Retry-After` if a policy has refused the request. Fields of
    /// the same name that are already there are replaced. `now` is the time of the response; only
    /// [`ResetAs::UnixTime`] reads it.
    ///
    /// Each state belongs to the policy at its index, and a state without a policy is left out. If no state is
    /// a denial or tells what remains, nothing is set. All
    /// waits are rounded up to whole seconds. `Retry-After` is the longest wait of those that refuse, and
    /// at least 1; if one of them will never grant the request, there is none. Versions that tell one
    /// limit tell that of the policy that refuses, or else of the one with least left.
    ///
    /// Allocates for the values of fields. Never panics.
    pub fn write(&self, headers: &mut HeaderMap, states: &[PolicyState<'_>], now: SystemTime) {
        self.write_limits(headers, states, now);
        let denied = states.iter().filter(|state| state.is_denied);
        let longest =
            denied.map(|state| state.retry_after).reduce(|one, other| Some(one?.max(other?)));
        if let Some(wait) = longest {
            write_retry_after(headers, wait);
        }
    }

    /// Does the same as [`write`](FieldWriter::write) for a response that may have fields of the same version
    /// already, from a server or a layer further inside: adds to those, and replaces none that is stricter.
    ///
    /// In drafts 8 to 10 the response then has the policies and the limits of both; of two with the same name,
    /// those with less left. In the older versions, which tell one limit, it has that with less left, and the
    /// policies of both. The limit of a response with a `Retry-After`, which was refused further inside, is
    /// kept. What is malformed, or written in another version that has the same names, is replaced.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use http::HeaderMap;
    /// use sluicegate::{FixedWindow, rate};
    /// use sluicegate_http::fields::{FieldVersion, FieldWriter, PolicyState, QuotaPolicy};
    ///
    /// let writer = |name, quota| {
    ///     FieldWriter::new(FieldVersion::Draft8, [QuotaPolicy::new(quota).named(name)?])
    /// };
    /// let (user, all) = (FixedWindow::new(rate!(5 / minute))?, FixedWindow::new(rate!(100 / minute))?);
    /// let mut headers = HeaderMap::new();
    /// let state = PolicyState::granted(&user.try_acquire(1)?);
    /// writer("user", 5)?.write(&mut headers, &[state], SystemTime::now());
    /// let state = PolicyState { next_permit_after: None, reset_after: None, ..PolicyState::granted(&all.try_acquire(1)?) };
    /// writer("all", 100)?.add(&mut headers, &[state], SystemTime::now());
    /// assert_eq!(headers["ratelimit-policy"], r#""user";q=5, "all";q=100"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add(&self, headers: &mut HeaderMap, states: &[PolicyState<'_>], now: SystemTime) {
        let inner = Inner::take(self.version, headers);
        self.write(headers, states, now);
        if let Some(inner) = inner {
            inner.add_to(self.version, headers, now);
        }
    }

    fn write_limits(&self, headers: &mut HeaderMap, states: &[PolicyState<'_>], now: SystemTime) {
        let is_told = |which: usize| self.policies.get(which).is_some_and(QuotaPolicy::is_told);
        let known = || states.iter().filter(|state| is_told(state.which));
        let telling = known().filter(|state| state.is_denied || state.remaining.is_some());
        let tightest = telling.min_by_key(|state| state.tightness());
        let Some((state, policy)) = tightest.map(|state| (state, &self.policies[state.which]))
        else {
            return;
        };
        match self.version {
            FieldVersion::Legacy(ResetAs::SecondsLeft) => {
                single_limit::write(headers, &LEGACY, policy, state, None);
            }
            FieldVersion::Legacy(ResetAs::UnixTime) => {
                single_limit::write(headers, &LEGACY, policy, state, Some(now));
            }
            FieldVersion::Draft3 => {
                single_limit::write_draft3(headers, &self.policies, policy, state);
            }
            FieldVersion::Draft6 => {
                self.write_policies(headers);
                single_limit::write(headers, &DRAFT, policy, state, None);
            }
            FieldVersion::Draft7 => {
                self.write_policies(headers);
                values::set_text(headers, LIMIT, &single_limit::dictionary(policy, state));
            }
            FieldVersion::Draft8 => {
                if known().any(|state| state.limit.is_some()) {
                    let limit = |which| known().find(|state| state.which == which)?.limit;
                    self.write_policies_with(headers, limit);
                } else {
                    self.write_policies(headers);
                }
                values::set_text(headers, LIMIT, &named_items::limits(&self.item_openings, states));
            }
        }
    }

    fn write_policies(&self, headers: &mut HeaderMap) {
        if !self.policy_text.is_empty() {
            values::set_text(headers, POLICY, &self.policy_text);
        }
    }

    /// Writes the policies of drafts 8 to 10, with the limits that states tell in place of their quotas.
    fn write_policies_with(&self, headers: &mut HeaderMap, limit: impl Fn(usize) -> Option<u64>) {
        if let ([_], Some(told)) = (&*self.policies, limit(0)) {
            let text = || named_items::policies(&self.policies, |_| Some(told));
            let (first, text) = self.first_limit.get_or_init(|| (told, text()));
            if *first == told {
                return values::set_text(headers, POLICY, text);
            }
        }
        values::set_text(headers, POLICY, &named_items::policies(&self.policies, limit));
    }
}
