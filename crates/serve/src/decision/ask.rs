//! A question whose limiter and key are known to be right.

use std::borrow::Cow;
use std::time::Duration;

use sluicegate::penalty::Offence;
use sluicegate::settle::Receipt;
use sluicegate::wait::AcquireError;
use sluicegate::{Denied, Grant, KeyedLimiter, Limiter};
use sluicegate_policy::{
    KeyOutcome, Kind, OffenceError, Pass, RemoteFailure, RemotePass, RemoteRefusal, WaitError,
};

use super::answer::{Answer, Decision, Reason, Share};
use super::check_error::CheckError;
use crate::bounded_key::bound;
use crate::limiters::{Handle, NamedLimiter};

/// A refusal that a look has told, which can be [noted](Ask::note_refusal).
pub(crate) enum RefusedLook {
    /// By a limiter in memory.
    Here(Denied),
    /// By a limiter on a server, or for lack of an answer.
    OnServer(RemoteRefusal),
}

/// A limiter, a key and a number of permits.
pub(crate) struct Ask<'l> {
    limiter: &'l NamedLimiter,
    /// Empty for a limiter without keys.
    key: Vec<u8>,
    /// The answer of the policy to a key that lacks a value, which no limiter is asked for.
    lacking: Option<Decision>,
    permits: u64,
}

impl<'l> Ask<'l> {
    /// Returns a question for `cost` permits, or for as many as the policy says. Long keys are [shortened](bound).
    pub(crate) fn new(limiter: &'l NamedLimiter, mut key: Vec<u8>, cost: Option<u64>) -> Ask<'l> {
        let of_policy = || limiter.policy().cost.fixed().unwrap_or(1);
        bound(&mut key);
        Ask { limiter, key, lacking: None, permits: cost.unwrap_or_else(of_policy) }
    }

    /// Notes what the policy makes of the key.
    pub(super) fn with(self, outcome: KeyOutcome) -> Ask<'l> {
        let lacking = match outcome {
            KeyOutcome::Limited => None,
            KeyOutcome::Admitted => Some(Decision::Granted),
            KeyOutcome::Denied => Some(Decision::Denied),
        };
        Ask { lacking, ..self }
    }

    /// Returns the same question, if a limiter can be asked.
    ///
    /// # Errors
    ///
    /// [`CheckError::KeyEmpty`] if the key lacks a value.
    pub(crate) fn with_whole_key(self) -> Result<Ask<'l>, CheckError> {
        match self.lacking {
            None => Ok(self),
            Some(_) => Err(CheckError::KeyEmpty { limiter: self.limiter.name().to_owned() }),
        }
    }

    /// Returns the answer of the policy to a key that lacks a value.
    fn of_policy(&self) -> Option<Answer<'l>> {
        let (name, shadow) = (self.limiter.name(), self.limiter.policy().shadow);
        Some(match self.lacking? {
            Decision::Granted => Answer::unlimited(name, self.permits),
            Decision::Denied if shadow => Answer::without_key(name).overruled(),
            Decision::Denied => Answer::without_key(name),
        })
    }

    /// Takes the permits, or none. Waits for nothing but the server of a limiter that is on one.
    pub(crate) async fn take(&self) -> Answer<'l> {
        if let Some(answer) = self.of_policy() {
            self.note_missing_key();
            return answer;
        }
        let pass = match self.limiter.handle() {
            Handle::Single(handle) => handle.try_pass_with(self.permits),
            Handle::Keyed(handle) => handle.try_pass_with(&self.key, self.permits),
            Handle::Remote(handle) => {
                let answer = handle.try_pass_with(&self.text(), self.permits).await;
                return self.of_server(&answer);
            }
        };
        match pass {
            Ok(pass) => self.passed(&pass),
            Err(denied) => self.denied(&denied),
        }
    }

    /// Takes the permits once they are there, in the line of the limiter, or none: at once, if they come later than
    /// after `longest`, or than the policy allows.
    ///
    /// **Cancel safety.** Dropping it leaves the line, and takes nothing, unless the permits were granted since it
    /// was last polled.
    pub(crate) async fn wait(&self, longest: Duration) -> Answer<'l> {
        if let Some(answer) = self.of_policy() {
            self.note_missing_key();
            return answer;
        }
        let pass = match self.limiter.handle() {
            Handle::Single(handle) => handle.acquire_within(self.permits, longest).await,
            Handle::Keyed(handle) => handle.acquire_within(&self.key, self.permits, longest).await,
            // There is no line before a server.
            Handle::Remote(_) => return self.take().await,
        };
        match pass {
            Ok(pass) => self.passed(&pass),
            Err(WaitError::Denied(denied)) => self.denied(&denied),
            Err(error) => {
                let reason = match error {
                    WaitError::Line(AcquireError::TooLarge { .. }) => Reason::TooLarge,
                    WaitError::Line(AcquireError::TimedOut { .. }) => Reason::TimedOut,
                    WaitError::Line(AcquireError::LineFull { .. }) => Reason::LineFull,
                    WaitError::Removed { .. } => Reason::Closed,
                    _ => Reason::Rate,
                };
                self.peek_for(0).await.refused(self.permits, reason, error.retry_after())
            }
        }
    }

    /// Returns the answer that [`take`](Ask::take) would give, and takes nothing.
    pub(crate) async fn peek(&self) -> Answer<'l> {
        self.peek_for(self.permits).await
    }

    /// Returns the answer to this question for another number of permits, and takes nothing.
    pub(crate) async fn peek_for(&self, permits: u64) -> Answer<'l> {
        self.look_for(permits).await.0
    }

    /// Does the same as [`peek_for`](Ask::peek_for), with the refusal that can be [noted](Ask::note_refusal).
    pub(crate) async fn look_for(&self, permits: u64) -> (Answer<'l>, Option<RefusedLook>) {
        if let Some(answer) = self.of_policy() {
            return (answer, None);
        }
        let answer = match self.limiter.handle() {
            Handle::Single(handle) => handle.peek_pass(permits),
            Handle::Keyed(handle) => handle.peek_pass(&self.key, permits),
            Handle::Remote(handle) => {
                let key = self.text();
                let looked = handle.peek(&key, permits).await;
                let answer = Answer { held: handle.held(&key), ..self.of_server(&looked) };
                return (answer, looked.err().map(RefusedLook::OnServer));
            }
        };
        match answer {
            Ok(pass) => (self.passed(&pass), None),
            Err(denied) => (self.denied(&denied), Some(RefusedLook::Here(denied))),
        }
    }

    /// Returns the permits that the limiter can lend now to all tenants together, if it is one of shares in memory.
    pub(super) fn lendable(&self) -> Option<u64> {
        match self.limiter.handle() {
            Handle::Keyed(handle) => handle.lendable(),
            Handle::Single(_) | Handle::Remote(_) => None,
        }
    }

    /// Returns the answer of a look that is denied, with the refusal that can be [noted](Ask::note_refusal).
    pub(super) fn refused_look(&self, denied: Denied) -> (Answer<'l>, Option<RefusedLook>) {
        let answer = self.denied(&denied);
        if self.limiter.policy().shadow {
            return (answer.overruled(), None);
        }
        let refused = match self.limiter.handle() {
            Handle::Single(_) | Handle::Keyed(_) => RefusedLook::Here(denied),
            Handle::Remote(_) => {
                RefusedLook::OnServer(RemoteRefusal::Denied { denied, is_fallback: false })
            }
        };
        (answer, Some(refused))
    }

    /// Counts a refusal that a look has told, as if the permits had been asked for. Returns the `answer` of the look, or that of
    /// a penalty if the refusal was the last offence before one.
    pub(crate) fn note_refusal(&self, answer: Answer<'l>, refused: &RefusedLook) -> Answer<'l> {
        match (self.limiter.handle(), refused) {
            (Handle::Single(handle), RefusedLook::Here(denied)) => {
                handle.note_denial(self.permits, denied);
                self.denied(denied)
            }
            (Handle::Keyed(handle), RefusedLook::Here(denied)) => {
                handle.note_denial(&self.key, self.permits, denied);
                self.denied(denied)
            }
            (Handle::Remote(handle), RefusedLook::OnServer(refused)) => {
                handle.note_refusal(&self.text(), self.permits, refused);
                answer
            }
            // A look is by the handle of the question.
            _ => answer,
        }
    }

    /// Counts a denial of a key that lacks a value, if the policy makes it one.
    pub(crate) fn note_missing_key(&self) {
        if self.lacking == Some(Decision::Denied) && !self.limiter.policy().shadow {
            self.limiter.count_missing_key(self.permits);
        }
    }

    /// Returns the name of the limiter, and the key: requests for the same ones take of one balance. All classes do.
    pub(crate) fn limiter_and_key(&self) -> (&'l str, &[u8]) {
        let has_classes = matches!(self.limiter.policy().kind, Kind::Priorities { .. });
        (self.limiter.name(), if has_classes { &[] } else { &self.key })
    }

    pub(crate) fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns true if the limiter can give back permits that were taken: none takes any for a key that lacks a value.
    pub(crate) fn is_revocable(&self) -> bool {
        let policy = self.limiter.policy();
        !policy.shadow
            && !policy.kind.is_common()
            && !matches!(self.limiter.handle(), Handle::Remote(_))
            && self.lacking.is_none()
    }

    /// Takes the permits, or else all that are left, since they were used already.
    pub(crate) async fn take_or_drain(&self) -> Answer<'l> {
        let answer = self.take().await;
        if !answer.is_granted() && self.lacking.is_none() {
            match self.limiter.handle() {
                Handle::Single(handle) => _ = handle.try_acquire_up_to(self.permits),
                Handle::Keyed(handle) => _ = handle.try_acquire_up_to(&self.key, self.permits),
                // A server takes all or nothing.
                Handle::Remote(_) => {}
            }
        }
        answer
    }

    /// Takes the permits so that they can be given back; `None` for a limiter that gives nothing back: one on a server,
    /// one with `shadow`, one that all keys have in common, and for a key that lacks a value.
    pub(crate) fn take_revocable(&self) -> Option<Result<Receipt<'_>, Denied>> {
        if !self.is_revocable() {
            return None;
        }
        Some(match self.limiter.handle() {
            Handle::Single(handle) => handle.try_acquire_revocable(self.permits),
            Handle::Keyed(handle) => handle.try_acquire_revocable(&self.key[..], self.permits),
            Handle::Remote(_) => return None,
        })
    }

    /// Returns false if a reset would do nothing: the share of a tenant in memory is never made full, since others rely on
    /// theirs.
    pub(crate) fn can_be_reset(&self) -> bool {
        let policy = self.limiter.policy();
        let is_remote = matches!(self.limiter.handle(), Handle::Remote(_));
        is_remote || policy.penalty.is_some() || !matches!(policy.kind, Kind::Shares { .. })
    }

    /// Makes the limiter, or that of the key, full again, and ends its penalty. The share of a tenant in memory stays as it
    /// is.
    ///
    /// # Errors
    ///
    /// [`RemoteFailure`] if its server gives no answer.
    pub(crate) async fn reset(&self) -> Result<(), RemoteFailure> {
        match self.limiter.handle() {
            Handle::Single(handle) => handle.reset(),
            Handle::Keyed(handle) => handle.reset(&self.key[..]),
            Handle::Remote(handle) => handle.reset(&self.text()).await?,
        }
        Ok(())
    }

    /// Reports offences.
    ///
    /// # Errors
    ///
    /// [`OffenceError`] if the policy has no penalty, or there is no space for the key.
    pub(crate) fn offend(&self, offences: u64) -> Result<Offence, OffenceError> {
        match self.limiter.handle() {
            Handle::Single(handle) => handle.offend(offences),
            Handle::Keyed(handle) => handle.offend(&self.key, offences),
            // A policy on a server has no penalty.
            Handle::Remote(handle) => {
                Err(OffenceError::NoPenalty { name: handle.name().to_owned() })
            }
        }
    }

    /// Returns the limiter.
    pub(crate) fn limiter(&self) -> &'l NamedLimiter {
        self.limiter
    }

    pub(crate) fn granted(&self, grant: &Grant) -> Answer<'l> {
        let answer = Answer::granted(self.limiter.name(), self.permits, grant);
        Answer { class: self.class(), ..answer }
    }

    pub(crate) fn denied(&self, denied: &Denied) -> Answer<'l> {
        let left = match self.limiter.handle() {
            Handle::Single(handle) => handle.penalty_left(),
            Handle::Keyed(handle) => handle.penalty_left(&self.key),
            Handle::Remote(_) => None,
        };
        if let Some(left) = left {
            return Answer::penalized(self.limiter.name(), self.permits, left);
        }
        let answer = Answer::denied(self.limiter.name(), self.permits, denied);
        Answer { class: self.class(), ..answer }
    }

    /// Returns the name of the class of the key, if the limiter has classes.
    fn class(&self) -> Option<&'l str> {
        let class = self.limiter.policy().kind.class_of(&self.key);
        class.map(|class| class.name.as_str())
    }

    fn passed(&self, pass: &Pass) -> Answer<'l> {
        match pass.denied() {
            // A limiter with `shadow`: the state that is told is that of the denial.
            Some(denied) => self.denied(&denied).overruled(),
            None => Answer { share: pass.source().map(Share::from), ..self.granted(&pass.grant()) },
        }
    }

    fn of_server(&self, answer: &Result<RemotePass, RemoteRefusal>) -> Answer<'l> {
        match answer {
            Ok(RemotePass { pass, is_fallback }) => self.passed(pass).fallen_back(*is_fallback),
            Err(RemoteRefusal::Denied { denied, is_fallback }) => {
                self.denied(denied).fallen_back(*is_fallback)
            }
            Err(_) => Answer::unavailable(self.limiter.name(), self.permits),
        }
    }

    /// Returns the key as text, as servers have it. Bytes that are no text become U+FFFD.
    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.key)
    }
}
