//! Access logs: where their bytes come from and what a line says.

mod input;
mod line;

pub use self::input::Source;
pub(crate) use self::line::printable;
pub use self::line::{BadLine, Field, Line};
