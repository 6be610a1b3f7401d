//! Access logs: the sources of their bytes, and the fields of a line.

mod input;
mod line;

pub use self::input::Source;
pub(crate) use self::line::printable;
pub use self::line::{BadLine, Field, Line};
