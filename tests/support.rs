//! Parts that tests of several subjects have in common.

pub(crate) mod allocator;
pub(crate) mod any;
pub(crate) mod cases;
pub(crate) mod counted;
pub(crate) mod decode;
pub(crate) mod explained;
pub(crate) mod faults;
pub(crate) mod held_up;
pub(crate) mod history;
pub(crate) mod ideal;
pub(crate) mod limiters;
pub(crate) mod observer;
// Other programs include these by their paths: then their parts are beside them.
#[path = "support/ops.rs"]
pub(crate) mod ops;
#[path = "support/reference.rs"]
pub(crate) mod reference;
pub(crate) mod setups;
pub(crate) mod sleepers;
