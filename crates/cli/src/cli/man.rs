//! `sluicegate man`.

use std::fs;
use std::io;
use std::path::PathBuf;

use bstr::ByteSlice;
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::{Cli, Failure};

pub(super) const AFTER_HELP: &str = "\
Examples:
  sluicegate man | man -l -
      Read the page of the command.
  sluicegate man replay | man -l -
      Read the page of `replay`.
  sluicegate man --dir ~/.local/share/man/man1
      Install all pages, so that `man sluicegate-replay` finds them.";

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// The command to print the page of; without it, the page of `sluicegate` itself
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    command: Option<String>,
    /// Write all pages to this directory, which is created, instead of printing one
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl ManArgs {
    /// Writes all pages to the directory, or returns the one to print.
    pub(super) fn page(&self) -> Result<Vec<u8>, Failure> {
        let mut whole = Cli::command().disable_help_subcommand(true);
        whole.build();
        if let Some(dir) = &self.dir {
            fs::create_dir_all(dir).map_err(Failure::io(dir.display()))?;
            for command in std::iter::once(&whole).chain(whole.get_subcommands()) {
                let path = dir.join(Man::new(command.clone()).get_filename());
                let page = page(command).map_err(Failure::io(path.display()))?;
                fs::write(&path, page).map_err(Failure::io(path.display()))?;
            }
            return Ok(Vec::new());
        }
        let command = match &self.command {
            None => &whole,
            Some(name) => whole.find_subcommand(name).ok_or_else(|| {
                let names: Vec<_> = whole.get_subcommands().map(Command::get_name).collect();
                Failure::Use(format!(
                    "`{name}` is not a command; the commands are {}",
                    names.join(", ")
                ))
            })?,
        };
        page(command).map_err(Failure::io("the page"))
    }
}

/// Returns the page of a command in roff.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = title(command.get_display_name().unwrap_or(command.get_name())).into_bytes();
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    // The library separates the possible values of an option by line ends that no page needs.
    let mut page = page.replace(b"\n.br\n\n.br\n", b"\n.sp\n");
    if let Some(help) = command.get_after_long_help().or(command.get_after_help()) {
        let mut roff = Roff::new();
        sections(&mut roff, &help.to_string());
        roff.to_writer(&mut page)?;
    }
    Ok(page)
}

/// Returns the line that opens a page, without a date, which would be that of a build. Commands can be
/// copied from the page: none of its lines is stretched, and no word is divided.
fn title(name: &str) -> String {
    let (name, version) = (name.to_uppercase(), env!("CARGO_PKG_VERSION"));
    format!(".TH {name} 1 \"\" \"sluicegate {version}\" \"User Commands\"\n.ad l\n.nh\n")
}

/// Adds the text that ends a command's help.
///
/// A line of one or two words and a colon is a heading, and other lines without indentation are
/// paragraphs. Terms are indented by two places, and what they mean by six, or it follows a number on
/// the same line. Other indented lines are shown as they are.
fn sections(roff: &mut Roff, help: &str) {
    let mut lines = help.lines().peekable();
    let mut is_after_heading = lines.peek().is_some_and(|line| heading(line).is_none());
    if is_after_heading {
        roff.control("SH", ["NOTES"]);
    }
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        let opens_section = std::mem::replace(&mut is_after_heading, heading(line).is_some());
        if let Some(heading) = heading(line) {
            roff.control("SH", [heading.to_uppercase().as_str()]);
        } else if let Some((number, meaning)) = numbered(line) {
            define(roff, number, meaning);
        } else if indentation(line) == 2 && indentation(next) == 6 {
            define(roff, line.trim(), next.trim());
            lines.next();
        } else if indentation(line) > 0 {
            roff.control("PP", []);
            roff.control("nf", []);
            roff.text([roman(line)]);
            while let Some(line) = lines.next_if(|line| indentation(line) > 0) {
                roff.text([roman(line)]);
            }
            roff.control("fi", []);
        } else if !line.is_empty() {
            if !opens_section {
                roff.control("PP", []);
            }
            roff.text([roman(line)]);
        }
    }
}

fn define(roff: &mut Roff, term: &str, meaning: &str) {
    roff.control("TP", []);
    roff.text([roman(term)]);
    roff.text([roman(meaning)]);
}

fn heading(line: &str) -> Option<&str> {
    let words = line.strip_suffix(':').filter(|_| indentation(line) == 0)?;
    (words.split(' ').count() <= 2).then_some(words)
}

fn numbered(line: &str) -> Option<(&str, &str)> {
    let (number, meaning) = line.strip_prefix("  ")?.split_once("  ")?;
    number.parse::<u8>().is_ok().then_some((number, meaning))
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
