//! Sentences in the columns of a terminal.

use comfy_table::Table;

/// Returns the columns of the terminal, or else of the variable `COLUMNS`. Some terminals say that they have none.
pub(crate) fn columns() -> Option<u16> {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    Table::new().width().or_else(said).filter(|columns| *columns > 0)
}

/// Breaks `text` between words into lines of `width` columns, of which the first begins at `column`, and the others are
/// indented by `indent`.
pub(crate) fn folded(text: &str, column: usize, indent: usize, width: u16) -> String {
    let mut lines = String::new();
    let mut at = column;
    for (place, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if place > 0 && at + 1 + length > usize::from(width) {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent));
            at = indent;
        } else if place > 0 {
            lines.push(' ');
            at += 1;
        }
        lines.push_str(word);
        at += length;
    }
    lines
}
