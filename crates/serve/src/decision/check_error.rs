//! A question that cannot be asked.

use sluicegate_policy::RegistryError;
use thiserror::Error;

/// A question that cannot be asked. Nothing was charged.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// No limiter has this name, or it is none of the kind that was asked for.
    #[error("`limiter`: {0}")]
    Unknown(RegistryError),
    /// The limiter has keys, each with a limit of its own, or a share or a class.
    #[error(
        "`key` is missing: limiter {limiter:?} decides by the key of a caller, and its key is {parts}"
    )]
    KeyMissing {
        /// Name of the limiter.
        limiter: String,
        /// The parts of its key, in words.
        parts: String,
    },
    /// The limiter has no keys.
    #[error(
        "`key` is given, but limiter {limiter:?} is one for all callers (`key = \"all\"`): leave it out"
    )]
    KeyNotWanted {
        /// Name of the limiter.
        limiter: String,
    },
    /// The key has the wrong number of parts.
    #[error("`key` has {given} parts, but that of limiter {limiter:?} has {wanted}: {parts}")]
    KeyParts {
        /// Name of the limiter.
        limiter: String,
        /// Number of parts that were given.
        given: usize,
        /// Number of parts that it has.
        wanted: usize,
        /// Its parts, in words.
        parts: String,
    },
    /// The question is one that cannot wait.
    #[error("`wait` is for POST /v1/check alone: leave it out")]
    WaitNotWanted,
    /// The key lacks a value.
    #[error("`key` has an empty part, and the policy of limiter {limiter:?} denies such requests")]
    KeyEmpty {
        /// Name of the limiter.
        limiter: String,
    },
}
