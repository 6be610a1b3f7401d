//! The decision on a request's descriptors.

use std::time::Duration;

use sluicegate::Denied;
use sluicegate::settle::{AllOrNone, Estimate, Receipt, Revocable};
use tonic::Status;

use super::counters::{Counters, Reported};
use super::domains::Mode;
use super::parts::{By, Counted, Hits, Part};
use super::unit::Span;
use super::verdict::{Told, Verdict};
use crate::decision::{Answer, look_at_all, side_by_side};

/// Decides on the descriptors of a request, and returns their verdicts and whether it is refused: because one of
/// them is over its limit, or all of those in quota mode are.
///
/// Hits that the request names are counted in any case. A request that names none takes its hit of each limit, or
/// of none. Limits in shadow mode are asked by themselves, once each.
///
/// # Errors
///
/// `UNAVAILABLE` if there is no space for the count of a descriptor, or if the server of a limiter gives no answer and its
/// policy refuses then.
pub(super) async fn decide(
    counters: &Counters,
    parts: &[Part<'_>],
) -> Result<(Vec<Verdict>, bool), Status> {
    let answers = Answers { counters };
    let verdicts = side_by_side(parts.iter().map(async |part| match part {
        Part::Free { remaining } => Ok(Verdict::free(*remaining)),
        // Until it is asked.
        Part::Counted(counted) if counted.is_asked() => Ok(Verdict::free(0)),
        Part::Counted(counted) => answers.count(counted).await,
    }));
    let mut verdicts = verdicts.await.into_iter().collect::<Result<Vec<_>, _>>()?;
    let asked = parts.iter().enumerate().filter_map(|(index, part)| match part {
        Part::Counted(counted) if counted.is_asked() => Some((index, counted)),
        _ => None,
    });
    let mut asked: Vec<_> = asked.collect();
    // A single question is answered in one step.
    if asked.len() > 1 || is_refused(parts, &verdicts) {
        answers.look(&asked, &mut verdicts).await?;
        asked.retain(|(index, _)| !verdicts[*index].is_over);
    }
    if !is_refused(parts, &verdicts) {
        answers.take_all(parts, &asked, &mut verdicts).await?;
    }
    let is_refused = is_refused(parts, &verdicts);
    if is_refused {
        asked.retain(|(index, _)| !verdicts[*index].is_over);
        let untaken = side_by_side(asked.iter().map(|(_, counted)| answers.untaken(counted)));
        for ((index, _), verdict) in asked.iter().zip(untaken.await) {
            verdicts[*index] = verdict?;
        }
    }
    Ok((verdicts, is_refused))
}

fn is_refused(parts: &[Part<'_>], verdicts: &[Verdict]) -> bool {
    let (mut has_quotas, mut has_room) = (false, false);
    for (part, verdict) in parts.iter().zip(verdicts) {
        let Part::Counted(counted) = part else { continue };
        match counted.mode() {
            Mode::Enforced if verdict.is_over => return true,
            Mode::Enforced | Mode::Shadow => {}
            Mode::Quota => {
                has_quotas = true;
                has_room |= !verdict.is_over;
            }
        }
    }
    has_quotas && !has_room
}

/// A hit that was taken, and can be given back.
enum Taken<'c> {
    Window(Estimate<'static>),
    Limiter(Receipt<'c>),
}

impl Revocable for Taken<'_> {
    fn revoke(self) -> bool {
        match self {
            Taken::Window(estimate) => estimate.revoke(),
            Taken::Limiter(receipt) => receipt.revoke(),
        }
    }
}

struct Answers<'a> {
    counters: &'a Counters,
}

impl Answers<'_> {
    /// Takes the hits of all, or of none if the request is refused after all: another one was faster, or this one
    /// has a descriptor twice.
    async fn take_all(
        &self,
        parts: &[Part<'_>],
        asked: &[(usize, &Counted<'_>)],
        verdicts: &mut [Verdict],
    ) -> Result<(), Status> {
        let mut taken = AllOrNone::with_capacity(asked.len());
        self.take_each(asked, verdicts, &mut taken).await?;
        if !is_refused(parts, verdicts) {
            taken.keep();
            return Ok(());
        }
        taken.give_back();
        Ok(())
    }

    /// Takes the hits of one after the other, up to one that refuses the request: those first that can be given back.
    async fn take_each<'c>(
        &self,
        asked: &[(usize, &'c Counted<'_>)],
        verdicts: &mut [Verdict],
        taken: &mut AllOrNone<Taken<'c>>,
    ) -> Result<(), Status> {
        for is_revocable in [true, false] {
            for (index, counted) in asked {
                if counted.is_revocable() != is_revocable {
                    continue;
                }
                let (verdict, own) = self.take(counted).await?;
                let is_over = verdict.is_over;
                verdicts[*index] = verdict;
                if let Some(own) = own {
                    taken.push(own);
                }
                if is_over && counted.mode() == Mode::Enforced {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Takes the hit of a descriptor.
    async fn take<'c>(
        &self,
        counted: &'c Counted<'_>,
    ) -> Result<(Verdict, Option<Taken<'c>>), Status> {
        let ask = match &counted.by {
            By::KeyMissing => return Ok((Verdict::of(counted, None, true), None)),
            By::Limiter(ask) => ask,
            By::Window { key, requests, span } => {
                let told = self.told(*requests, *span);
                if *requests == 0 {
                    return Ok((Verdict::of(counted, Some(told(0)), true), None));
                }
                return match self.counters.take(key, *requests) {
                    Ok(estimate) => {
                        let told = told(estimate.grant().remaining());
                        let verdict = Verdict::of(counted, Some(told), false);
                        Ok((verdict, Some(Taken::Window(estimate))))
                    }
                    Err(denied) => {
                        check_space(counted, &denied)?;
                        Ok((Verdict::of(counted, Some(told(0)), true), None))
                    }
                };
            }
        };
        if counted.is_revocable()
            && let Some(answer) = ask.take_revocable()
        {
            return Ok(match answer {
                Ok(receipt) => {
                    let answer = ask.granted(&receipt.grant());
                    let verdict = Verdict::of_limiter(counted, &answer);
                    (verdict, Some(Taken::Limiter(receipt)))
                }
                Err(denied) => (Verdict::of_limiter(counted, &ask.denied(&denied)), None),
            });
        }
        Ok((of_limiter(counted, &ask.take().await)?, None))
    }

    /// Looks at descriptors, of which nothing is taken. A denial counts as one, in the statistics and the penalties of its
    /// limiter.
    async fn look(
        &self,
        asked: &[(usize, &Counted<'_>)],
        verdicts: &mut [Verdict],
    ) -> Result<(), Status> {
        let by_limiter = asked.iter().filter_map(|(index, counted)| match &counted.by {
            By::Limiter(ask) => Some((*index, *counted, ask)),
            _ => None,
        });
        let looks = look_at_all(by_limiter.clone().map(|(_, _, ask)| ask)).await;
        for ((index, counted, ask), (answer, refused)) in by_limiter.zip(looks) {
            let answer = match refused {
                Some(refused) => ask.note_refusal(answer, &refused),
                None => answer,
            };
            verdicts[index] = of_limiter(counted, &answer)?;
        }
        for (index, counted) in asked {
            match &counted.by {
                By::Limiter(_) => {}
                By::KeyMissing => verdicts[*index] = Verdict::of(counted, None, true),
                By::Window { key, requests, span } => {
                    verdicts[*index] = self.look_at_window(counted, key, (*requests, *span))?;
                }
            }
        }
        Ok(())
    }

    fn look_at_window(
        &self,
        counted: &Counted<'_>,
        key: &[u8],
        (requests, span): (u32, Span),
    ) -> Result<Verdict, Status> {
        let told = self.told(requests, span);
        if requests == 0 {
            return Ok(Verdict::of(counted, Some(told(0)), true));
        }
        match self.counters.peek(key, requests) {
            Ok(grant) => {
                // Without the hit that was looked for.
                let told = told(grant.remaining().saturating_add(1));
                Ok(Verdict::of(counted, Some(told), false))
            }
            Err(denied) => {
                check_space(counted, &denied)?;
                Ok(Verdict::of(counted, Some(told(0)), true))
            }
        }
    }

    /// Tells the state of a descriptor that has room, of a request that is refused for another.
    async fn untaken(&self, counted: &Counted<'_>) -> Result<Verdict, Status> {
        let verdict = match &counted.by {
            By::KeyMissing => Verdict::of(counted, None, true),
            By::Limiter(ask) => of_limiter(counted, &ask.peek_for(0).await)?,
            By::Window { key, requests, span } => {
                self.look_at_window(counted, key, (*requests, *span))?
            }
        };
        // It may be over by now.
        Ok(Verdict { is_over: false, ..verdict })
    }

    /// Counts the hits of a descriptor by itself, whatever the others do.
    async fn count(&self, counted: &Counted<'_>) -> Result<Verdict, Status> {
        match (&counted.by, counted.hits) {
            (_, Hits::Ask) | (By::KeyMissing, _) => Ok(self.take(counted).await?.0),
            (By::Window { key, requests, span }, Hits::Report(hits)) => {
                let told = self.told(*requests, *span);
                match self.counters.report(key, *requests, hits) {
                    Ok(Reported { count, is_within }) => {
                        let told = told(u64::from(*requests).saturating_sub(count));
                        Ok(Verdict::of(counted, Some(told), !is_within))
                    }
                    Err(denied) => {
                        check_space(counted, &denied)?;
                        Ok(Verdict::of(counted, Some(told(0)), true))
                    }
                }
            }
            (By::Window { key, requests, span }, Hits::GiveBack(hits)) => {
                // A descriptor for which there is no space has no hits.
                let count = self.counters.give_back(key, *requests, hits).unwrap_or_default();
                let left = u64::from(*requests).saturating_sub(count);
                Ok(Verdict::of(counted, Some(self.told(*requests, *span)(left)), false))
            }
            // It is over when nothing is left: a limiter counts nothing beyond that.
            (By::Limiter(ask), Hits::Report(0)) => of_limiter(counted, &ask.peek_for(1).await),
            (By::Limiter(ask), _) => of_limiter(counted, &ask.take_or_drain().await),
        }
    }

    /// Returns what a window tells, for so many hits that it has left.
    fn told(&self, requests: u32, span: Span) -> impl Fn(u64) -> Told {
        let length = span.length().as_nanos() as u64;
        let until_reset = Duration::from_nanos(length - self.counters.clock().now_nanos() % length);
        move |remaining| Told {
            requests,
            unit: span.unit().number(),
            remaining: u32::try_from(remaining).unwrap_or(u32::MAX),
            until_reset,
        }
    }
}

/// Returns the status that a limiter of the policy gives. Fails if its server gave no answer, unless the limit only counts: so
/// Envoy does what its `failure_mode_deny` says.
fn of_limiter(counted: &Counted<'_>, answer: &Answer<'_>) -> Result<Verdict, Status> {
    if answer.is_unavailable() && !counted.is_shadow() {
        let name = answer.limiter;
        return Err(Status::unavailable(format!(
            "the server of the limiter {name} gives no answer"
        )));
    }
    Ok(Verdict::of_limiter(counted, answer))
}

/// Fails if there is no space for a count, unless the limit only counts.
fn check_space(counted: &Counted<'_>, denied: &Denied) -> Result<(), Status> {
    if counted.is_shadow() || !matches!(denied, Denied::Full { .. }) {
        return Ok(());
    }
    // Envoy then does what its `failure_mode_deny` says.
    Err(Status::unavailable("there is no space for the count of another descriptor"))
}
