//! Parts that tests of several subjects have in common, most of them with the tests of the engine.

#[path = "../../../tests/support/allocator.rs"]
pub(crate) mod allocator;
#[path = "../../../tests/support/cases.rs"]
pub(crate) mod cases;
#[path = "../../../tests/support/sleepers.rs"]
pub(crate) mod sleepers;
#[path = "../../../tests/conformance/vector_file.rs"]
pub(crate) mod vector_file;
