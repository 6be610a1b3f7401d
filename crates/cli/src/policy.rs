//! Policy files as the command is given them, and the commands that look at no log.

pub mod commands;
pub mod input;
mod levels;
