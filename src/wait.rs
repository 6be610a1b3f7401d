//! Callers that wait for permits, in one fair line for threads and tasks.
//!
//! | item | for |
//! |---|---|
//! | [`Wait`] | `acquire` on most buckets and windows |
//! | [`Queued`] | a line before a limiter that has none |
//! | [`LineWeights`], [`Tenant`], [`LinePriority`] | a line of a `Queued` that is divided among tenants |
//! | [`Reserve`], [`Reservation`] | permits taken now for a later instant |
//! | [`Waiting`] | the future: add a time-out, jitter or a timer before awaiting it |
//! | [`Caller`] | a caller that keeps its limiter, for types that are polled themselves |
//! | [`ResourceLine`], [`ResourceCaller`] | a line before a [`Resource`] of your own, whose permits come back at any time |
//! | [`thread_waker()`] | the waker of a thread that waits for such a line |
//! | [`LineLimits`] | how many may wait, and who is refused beyond that |
//! | [`Timer`] | wakes tasks: [`ClockTimer`] unless you name [`ThreadTimer`], `TokioTimer` or your own |

// Waiting: one fair line before a limiter, for threads and tasks alike.
//
// Callers that are not granted permits at once stand in line, and the limiter's word says so by
// its **gate**, one bit. While the gate is closed no other caller's CAS succeeds: so nobody
// overtakes the line, whatever the clocks say. The first in line is charged when it is granted,
// and not before: so a caller that gives up, is refused, or is dropped has never taken anything.
//
// A word has one sense here:
//
// | word | sense |
// |---|---|
// | line | all that stand before a limiter, and what happens to them |
// | order | which of them is the first, and which is behind which |
// | place | where one of them stands; it keeps that until it is told its outcome |
// | demand | what the one at a place wants, as those behind it depend on it |
// | request | a caller's side: from its first asking to its answer, in line or not |
// | pass | one run of *serve*, below: under the lock, for whoever is the first, until nobody is due |
// | turn | the instant from which the first in line can be charged, and the charge |
// | last turn | that of the last in line, as far as it can be foreseen |
// | lane | the callers of one tenant and one priority, in a line that is divided |
// | arrival | when a caller came to stand, for lines that bound the wait |
//
// | file | |
// |---|---|
// | [`line`] | what happens under the lock: serve, stand, leave, close |
// | [`line_lock`] | the lock, as a part of the limiter, and hints for callers that try |
// | [`line_handle`] | the line as its users ask about it, bound it and close it |
// | [`limits`] | the bounds of a line |
// | [`order`] | the callers and reservations in line, in order; no atomics |
// | [`place`], [`arrival`] | a place, and its demand; an arrival |
// | [`request`] | one caller, from its first request to its grant |
// | [`way_to_line`] | by which a request finds its limiter |
// | [`turn`], [`last_turn`] | what a line asks of the limiter behind it |
// | [`lane`], [`line_weights`] | lanes of tenants, and the weights of a divided line; `order/by_tenant.rs` has the proof |
// | [`no_overtaking`] | the proof that nobody overtakes |
// | [`outside`] | a line with a gate of its own, for limiters without one in their words |
// | [`queued`] | any limiter with such a line |
// | [`resource`] | a line before a resource of the user's own, without a clock |
// | [`acquire`], [`caller`] | the future, and the waiting thread; a caller that keeps its limiter |
// | [`reservation`] | permits taken for a later instant; in line if others wait |
// | [`charged`] | the charge of a grant, and of a reservation |
// | [`error`] | the refusals |
// | [`jitter`], [`timer`], [`until`] | a delay after a grant, what wakes a task, a sleep until an instant |
// | [`wakers`], [`thread_waker`] | those to be woken when the lock is free; the waker of a thread that parks |
//
// # Protocol
//
// ```text
// serve     under the lock, at a reading of the clock:
//             a reservation is at the front, or the instant has come that one was told
//                                   one CAS charges it as of that instant; again
//             nobody in line        open the gate
//             the first is due      one CAS charges it as of its own turn, and leaves the gate
//                                   closed if others wait; again with the next one
//             the first is not due  close the gate; if its turn is after its deadline, refuse it, and
//                                   again with the next one
// stand     lock, read the clock, go to the end of the line, serve, arm a timer, unlock
// wake up   lock, read the clock, serve; granted, or refused, or arm the timer again
// leave     lock, unlink, serve
// give back lock if the gate is closed, lower the level, let `since` be noted anew, wake the first
// reserve   finds the gate closed: lock, serve; if somebody is left, foresee the turn behind all,
//           take a place with that instant, unlock
// try       finds the gate closed: serves the others if the lock is free, then is denied
// change    (of the terms) keeps the gate; then locks, and serves under the new terms
// ```
//
// The protocol is the same for each kind of limiter; what a turn is, is the limiter's:
// `bucket/turns.rs`, `window/counter/turns.rs`, `window/ring/turns.rs`; and for limiters whose words
// have no gate, `wait/outside.rs`.
//
// Every change of the line ends with a pass, and only a pass moves the gate. So, when the
// lock is free, **the gate is closed exactly if somebody stands in line**. (A clock that panics
// may leave it closed for nobody; the next call that tries, or arrives, opens it.)
//
// The line notes `since`: the reading of the first pass since its first has been first and nothing
// was given back. That one is charged as of its own turn, and not as of the moment at which somebody
// came to serve: the level then is `max(level, A(since) - capacity) + cost`, and a timer that is late
// loses nothing. A window has no `since`: it counts a grant when somebody comes to serve. Nor has a
// [line outside](outside): its limiter charges at the reading of the pass.
//
// A reservation has neither a waker nor a timer, and its instant does not move: so a pass always charges
// it, whatever the limiter holds, and what the limiter cannot hold is not charged. See `line/reserve.rs`;
// and `bucket/foreseen.rs` and `window/counter/reserve_in_line.rs` for the bounds.
//
// # Why the bound holds
//
// A window's bound holds because a grant to a caller in line is a CAS as any other.
//
// **Theorem.** The bound of [`bucket`](crate::bucket) holds with waiting: in any span (s, t] of the
// clock, where a waiter's grant counts at the instant of its turn. The turn is no earlier than the
// caller's arrival, nor than the last instant before the grant at which permits were given back, and no
// later than the grant.
//
// *Proof.* Let a waiter's cost be `n`, and the level before its grant `Z`. It counts at the
// first instant `i` at which `A(i) >= max(base + n, A(since))`, where `base = max(Z, A(since) -
// capacity)`; that is no later than the reading of the caller that serves. Then `base >= A(i - 1 ns) - capacity`: if
// `A(i) = A(since)` by definition, and otherwise because `A(i - 1 ns) - capacity < base + n - capacity
// <= base`. And the level afterwards, `base + n`, is at most `A(i)`. These are the two facts that the
// proof for other callers uses of an admission: the beginning as of the instant just before `i`, the end
// as of `i`.
//
// `since` is the reading of a pass, which is under the lock. The caller was the first then, so it had
// come. Whatever is given back while the gate is closed is given back under the lock too, and makes the
// next pass note `since` anew: so nothing was given back between that and the grant. (With the gate
// open nobody was in line.) ∎
//
// So of an accrual in steps the first in line takes its permits from the step itself, of which those
// behind it have no more than the capacity then: at the instant of a step, `n` and a full bucket may pass.
//
// That nobody overtakes is proved in [`no_overtaking`].

pub(crate) mod acquire;
pub(crate) mod arrival;
pub(crate) mod caller;
pub(crate) mod charged;
pub(crate) mod error;
pub(crate) mod jitter;
pub(crate) mod lane;
pub(crate) mod last_turn;
pub(crate) mod limits;
pub(crate) mod line;
pub(crate) mod line_handle;
pub(crate) mod line_lock;
pub(crate) mod line_weights;
mod no_overtaking;
pub(crate) mod order;
pub(crate) mod outside;
pub(crate) mod place;
pub(crate) mod queued;
pub(crate) mod request;
pub(crate) mod reservation;
pub(crate) mod resource;
pub(crate) mod thread_waker;
pub(crate) mod timer;
pub(crate) mod traits;
pub(crate) mod turn;
pub(crate) mod until;
pub(crate) mod wakers;
pub(crate) mod way_to_line;

pub use self::acquire::Waiting;
pub use self::caller::Caller;
pub use self::error::AcquireError;
pub use self::jitter::Jitter;
pub use self::lane::LinePriority;
pub use self::limits::{LineLimits, WhenLineFull};
pub use self::line_handle::Line;
pub use self::line_weights::LineWeights;
pub use self::queued::Queued;
pub use self::queued::estimates::{SettleInLine, WaitingForEstimate};
pub use self::queued::tenant::Tenant;
pub use self::reservation::Reservation;
pub use self::resource::caller::ResourceCaller;
pub use self::resource::{Resource, ResourceLine, ResourceTurn};
pub use self::thread_waker::thread_waker;
pub use self::timer::Timer;
pub use self::timer::clock::{ClockSleep, ClockTimer};
pub use self::timer::thread::{ThreadSleep, ThreadTimer};
#[cfg(feature = "tokio")]
pub use self::timer::tokio::{TokioSleep, TokioTimer};
pub use self::traits::{Reserve, Wait};
