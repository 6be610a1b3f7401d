//! Decisions, without HTTP.
//!
//! | file | |
//! |---|---|
//! | `check`, `check_error` | the question: a limiter, a key, a cost |
//! | `key` | the key of a question |
//! | `ask` | a question whose limiter and key are known to be right |
//! | `look` | looks for several questions, of which nothing is taken |
//! | `levels` | a question to the levels of a hierarchy |
//! | `several` | questions that are answered together: all granted, or nothing taken |
//! | `side_by_side` | questions that are asked at once |
//! | `request` | a request of a client, put to all limiters whose policies judge it |
//! | `answer` | the answer |
//! | `seconds` | waits |
//! | `whole` | whole numbers |

mod answer;
mod ask;
mod check;
mod check_error;
mod key;
mod levels;
mod look;
mod request;
mod seconds;
mod several;
mod side_by_side;
pub(crate) mod whole;

pub use self::answer::{Answer, Decision, Reason, Share};
pub(crate) use self::ask::Ask;
pub use self::check::{Check, kept_key};
pub use self::check_error::CheckError;
pub use self::key::Key;
pub use self::levels::{LevelsAnswer, LevelsCheck};
pub(crate) use self::look::look_at_all;
pub use self::request::{Judged, judge};
pub use self::seconds::Seconds;
pub use self::several::AllOrNone;
pub(crate) use self::side_by_side::side_by_side;
pub use sluicegate_policy::MAX_KEY_BYTES;
