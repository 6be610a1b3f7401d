//! Words to whoever has called the command.

use std::fmt::Display;
use std::io::Write;

/// Writes a line to standard error. If that cannot be written to, there is nobody to tell.
pub(crate) fn tell(line: &dyn Display) {
    let _ = writeln!(anstream::stderr(), "{line}");
}
