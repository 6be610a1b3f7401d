//! Makes a long log of the bundled one, for measurements, and prints it:
//!
//! ```text
//! cargo run --release -p sluicegate-cli --example long_log -- [--lines N] [--seed N] [--format FORMAT]
//! ```
//!
//! The bundled log is repeated, each time five minutes later. In each repetition, each of its clients is
//! one of 64 that the seed draws, so that there are some thousand of them in all. The same requests are printed in each
//! format: lines in combined format also fit the pattern of nginx that
//! has the same fields.

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, BufRead, BufWriter, Write};
use std::net::Ipv4Addr;

use clap::{Parser, ValueEnum};
use indicatif::ProgressBar;
use jiff::{Timestamp, ToSpan, tz::Offset};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use sluicegate_replay::log::{Line, Source};

#[derive(Parser)]
struct Args {
    /// Number of lines
    #[arg(long, default_value_t = 5_000_000)]
    lines: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, default_value = "combined")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Combined,
    Json,
    Csv,
    W3c,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let mut bundled = Vec::new();
    for line in Source::Sample.open(&ProgressBar::hidden())?.split(b'\n') {
        bundled.push(line?);
    }
    let mut random = SmallRng::seed_from_u64(args.seed);
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    args.format.write_header(&mut out)?;
    let mut clients = HashMap::new();
    for line in 0..args.lines {
        let (repetition, place) = (line / bundled.len(), line % bundled.len());
        if place == 0 {
            clients.clear();
        }
        let line = Line::parse(&bundled[place])?;
        let time = line.time + (5 * i64::try_from(repetition)?).minutes();
        let client = *clients.entry(line.client.to_vec()).or_insert_with_key(|bundled| {
            let host = bundled.rsplit(|byte| !byte.is_ascii_digit()).next().unwrap_or_default();
            let host = host
                .iter()
                .fold(0_u8, |host, digit| host.wrapping_mul(10).wrapping_add(digit - b'0'));
            Ipv4Addr::new(10, 0, random.random_range(0..64), host)
        });
        args.format.write(&mut out, &line, time, client, &bundled[place])?;
    }
    out.flush()?;
    Ok(())
}

impl Format {
    fn write_header(self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Format::Combined | Format::Json => Ok(()),
            Format::Csv => writeln!(out, "time,client,user,method,path,status,bytes,referer,agent"),
            Format::W3c => writeln!(
                out,
                "#Version: 1.0\n#Fields: date time c-ip cs-username cs-method cs-uri-stem sc-status \
                 sc-bytes cs(Referer) cs(User-Agent)"
            ),
        }
    }

    /// Writes a line of the bundled log in this format, with another time and another client.
    fn write(
        self,
        out: &mut impl Write,
        line: &Line<'_>,
        time: Timestamp,
        client: Ipv4Addr,
        bundled: &[u8],
    ) -> io::Result<()> {
        let Line { user, method, path, status, bytes, referer, agent, .. } = line;
        match self {
            Format::Combined => {
                let time = Offset::UTC.to_datetime(time).strftime("%d/%b/%Y:%H:%M:%S +0000");
                let rest = bundled.splitn(2, |byte| *byte == b' ').last().unwrap_or_default();
                let [user, rest] = between(rest, b'[', b']');
                write!(out, "{client} ")?;
                out.write_all(user)?;
                write!(out, "[{time}]")?;
                out.write_all(rest)?;
                writeln!(out)
            }
            Format::Json => {
                let [user, method, path, status, referer, agent] =
                    [user, method, path, status, referer, agent].map(ToString::to_string);
                let object = json!({
                    "time": time.to_string(), "client": client.to_string(), "user": user,
                    "method": method, "path": path, "status": status, "bytes": bytes,
                    "referer": referer, "agent": agent,
                });
                serde_json::to_writer(&mut *out, &object)?;
                writeln!(out)
            }
            Format::Csv => {
                let [path, referer, agent] =
                    [path, referer, agent].map(|text| text.to_string().replace('"', "\"\""));
                writeln!(
                    out,
                    "{time},{client},{user},{method},\"{path}\",{status},{bytes},\"{referer}\",\"{agent}\""
                )
            }
            Format::W3c => {
                let date = Offset::UTC.to_datetime(time).strftime("%Y-%m-%d %H:%M:%S");
                let word = |text: &[u8]| String::from_utf8_lossy(text).replace([' ', '"'], "+");
                let [user, method, path, referer, agent] =
                    [user, method, path, referer, agent].map(|text| word(text));
                writeln!(
                    out,
                    "{date} {client} {user} {method} {path} {status} {bytes} {referer} {agent}"
                )
            }
        }
    }
}

/// Returns what is before a bracket, and what is after the other.
fn between(text: &[u8], open: u8, close: u8) -> [&[u8]; 2] {
    let at = |byte| text.iter().position(|other| *other == byte).unwrap_or(text.len());
    [&text[..at(open)], text.get(at(close) + 1..).unwrap_or_default()]
}
