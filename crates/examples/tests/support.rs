//! Parts that tests of several pages have in common.

pub(crate) mod page;
