//! Parts that tests of several subjects have in common.

pub(crate) mod random_policies;
pub(crate) mod reference;
