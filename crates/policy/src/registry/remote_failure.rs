//! A server that gives no decision.

/// The reason for which there is no decision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteFailure {
    /// The server gave no answer, and the policy grants nothing then.
    #[error("the server of the limit gives no answer: {0}")]
    Unavailable(String),
    /// The key cannot be one on the server.
    #[error("{0}")]
    Key(String),
}
