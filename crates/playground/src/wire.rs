//! The JSON of the playground's routes.
//!
//! | file | |
//! |---|---|
//! | `setup` | what a link reproduces: the limiters of one to four sides, the speed, the seed |
//! | `command` | bodies of requests that change a session |
//! | `frame` | events of a session: decisions, totals, and the state of each limiter |
//! | `form` | descriptions of algorithms and their parameters, and of scenarios |
//! | `offer` | the limiters of a policy, as set-ups |
//! | `problem` | refusals, which name the field, the value and the allowed range |
//!
//! Times and durations are numbers in seconds of the session's clock. Permits are integers.

mod command;
mod form;
mod frame;
mod offer;
mod problem;
mod setup;

pub use self::command::{Play, Send, Spacing, SpeedChange, Stream, Streams};
pub use self::form::{Action, AlgorithmForm, ParameterForm, ParameterKind, Scenario};
pub use self::frame::{
    Decision, Fields, Frame, InLine, InUse, KeyState, LogEntry, Outcome, Progress, Shape,
    SideFrame, State, Totals, WindowState,
};
pub use self::offer::{Offer, OfferedLimiter};
pub use self::problem::{FieldProblem, Refusal};
pub use self::setup::{Created, Setup, SideSetup};
