//! The batches of a log, which one thread reads or several.

use std::io::BufRead;

use super::batch::Batch;
use super::blocks::Blocks;
use super::format::Format;
use super::parser::{Item, Parser};
use super::shared::Shared;

/// The batches of a log, in its order.
pub(super) struct Batches<R> {
    from: From<R>,
    format: Format,
    /// The name of the log's own format, if it is not the usual one, and was not given.
    name: Option<String>,
    /// The most decimal places of a stamp so far: writers of numbers leave the last noughts of a fraction out.
    places: u8,
    ended: bool,
}

enum From<R> {
    /// The log, and the parser after the first block.
    Here(Blocks<R>, Option<Box<Parser>>),
    /// Threads that parse, and the caller with them.
    Threads(Box<Shared<R>>),
}

impl<R: BufRead> Batches<R> {
    pub(super) fn new(log: R, format: &Format) -> Batches<R> {
        let from = From::Here(Blocks::new(log), None);
        Batches { from, format: format.clone(), name: None, places: 0, ended: false }
    }

    /// Returns the name of the format that the first lines told, if it is not the usual one, and was not given.
    pub(super) fn format_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the next lines. `None` is the end of the log.
    ///
    /// An error comes with the lines before it, and nothing comes after it.
    pub(super) fn next(&mut self) -> Option<Item> {
        if self.ended {
            return None;
        }
        let item = match &mut self.from {
            From::Here(blocks, parser) => blocks.next().map(|block| {
                let parser = match parser {
                    Some(parser) => parser,
                    none => match self.format.reader(block.lines()) {
                        Ok(reader) => {
                            self.name = reader.name().map(str::to_owned);
                            none.insert(Box::new(Parser::new(reader)))
                        }
                        Err(error) => return (Batch::default(), Some(error)),
                    },
                };
                parser.parse(block)
            }),
            From::Threads(shared) => shared.next(),
        };
        self.ended = item.as_ref().is_none_or(|(_, error)| error.is_some());
        let (mut batch, error) = item?;
        self.places = self.places.max(batch.places);
        batch.places = self.places;
        Some((batch, error))
    }
}

impl<R: BufRead + Send + 'static> Batches<R> {
    /// Has the rest of the log parsed by so many threads, the caller's among them.
    pub(super) fn spread(self, threads: usize) -> Batches<R> {
        let From::Here(blocks, Some(parser)) = self.from else { return self };
        let from = if self.ended || threads < 2 {
            From::Here(blocks, Some(parser))
        } else {
            From::Threads(Box::new(Shared::new(blocks, *parser, threads)))
        };
        Batches { from, ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::{BufReader, Cursor, Read};

    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    /// Returns what is read of a log, by one thread or by several: the fields of each line, and all counts.
    fn read(log: &[u8], format: &str, threads: Option<usize>, breaks_off: bool) -> String {
        let log = Cursor::new(log.to_vec());
        let end = Broken(breaks_off);
        let log: Box<dyn BufRead + Send> = Box::new(BufReader::new(log.chain(end)));
        let format = Format::parse(format, None)
            .unwrap()
            .with_columns(&[sluicegate_policy::Named::Column("org".to_owned())]);
        let mut batches = Batches::new(log, &format);
        let mut all = String::new();
        let mut show = |item: Item| {
            let (batch, error) = item;
            for entry in batch.entries() {
                let line = batch.line(entry);
                let org = line.columns.column("org").map(bstr::BStr::new);
                let fields = (line.client, line.time, line.path, line.status, line.bytes);
                writeln!(all, "{} {fields:?} {org:?}", entry.number).unwrap();
            }
            let skipped = (&batch.skipped, &batch.first_skipped);
            writeln!(all, "{skipped:?} {:?} {error:?}", batch.resolution()).unwrap();
        };
        show(batches.next().unwrap());
        if let Some(threads) = threads {
            batches = batches.spread(threads);
        }
        while let Some(item) = batches.next() {
            show(item);
        }
        assert!(batches.next().is_none());
        all + &format!("{:?}{:?}", format.names(), format.absent())
    }

    /// Ends a log, or breaks it off.
    struct Broken(bool);

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            if self.0 { Err(std::io::Error::other("it breaks off")) } else { Ok(0) }
        }
    }

    fn random_line(rng: &mut SmallRng, format: &str) -> String {
        let (client, second) = (rng.random_range(0..9), rng.random_range(10..60));
        let path = "/x".repeat(rng.random_range(1..300));
        match (rng.random_range(0..200), format) {
            (0, _) => "junk".to_owned(),
            (1, _) => String::new(),
            (2, _) => "y".repeat(rng.random_range(60_000..200_000)),
            (3, "w3c") => {
                "#Fields: time cs-uri-stem c-ip org\n#Date: 2015-05-18 00:00:00".to_owned()
            }
            (4, "w3c") => "#Fields: date time c-ip cs-uri-stem org".to_owned(),
            (_, "w3c") if client % 2 == 0 => format!("10:05:{second} {path} c{client} o{client}"),
            (_, "w3c") => format!("2015-05-17 10:05:{second} c{client} {path} -"),
            (_, "csv") => format!("2015-05-17T10:05:{second}Z,\"c\"\"{client}\",{path},o{client}"),
            (at, "json") => format!(
                "{{\"time\":\"2015-05-17T10:05:{second}.{at}Z\",\"client\":\"\\u00e9{client}\",\"path\":\"{path}\",\
                 \"org\":{client},\"k{at}\":1}}"
            ),
            _ => format!(
                "c{client} - - [17/May/2015:10:05:{second} +0000] \"GET {path} HTTP/1.1\" 200 {second}"
            ),
        }
    }

    #[test]
    fn several_threads_read_what_one_reads() {
        let mut rng = SmallRng::seed_from_u64(20_261_128);
        for format in [
            "combined",
            "auto",
            "json",
            "csv",
            "w3c",
            "cri w3c",
            "$remote_addr - $rest [$time_local] $org",
        ] {
            for _ in 0..2 {
                let mut log = String::new();
                match format {
                    "csv" => log.push_str("time,client,path,org\n"),
                    "w3c" => log.push_str("#Fields: date time c-ip cs-uri-stem org\n"),
                    _ => {}
                }
                for _ in 0..rng.random_range(1..1500) {
                    log += &random_line(&mut rng, format);
                    log.push('\n');
                }
                log.truncate(log.len() - rng.random_range(0..2));
                let breaks_off = rng.random_range(0..3) == 0;
                let one = read(log.as_bytes(), format, None, breaks_off);
                for threads in [1, 2, 5] {
                    let more = read(log.as_bytes(), format, Some(threads), breaks_off);
                    let differ = one.lines().zip(more.lines()).find(|(one, more)| one != more);
                    assert_eq!(differ, None, "{format}, {threads} threads, {} bytes", log.len());
                    assert_eq!(one.len(), more.len());
                }
            }
        }
    }

    /// The end of a log, which panics.
    struct Panics;

    impl Read for Panics {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            panic!("as a decompressor with a fault may")
        }
    }

    #[test]
    fn a_helper_that_panics_ends_the_log_by_an_error_or_the_caller() {
        let mut rng = SmallRng::seed_from_u64(1);
        for _ in 0..20 {
            let lines: String =
                (0..3_000).map(|_| random_line(&mut rng, "combined") + "\n").collect();
            let log = BufReader::new(Cursor::new(lines.into_bytes()).chain(Panics));
            let mut batches = Batches::new(log, &Format::parse("combined", None).unwrap());
            let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                let first = batches.next();
                let mut batches = batches.spread(3);
                first.into_iter().chain(std::iter::from_fn(|| batches.next())).last()
            }));
            // The caller itself has read it, or a helper has left an error.
            assert!(read.is_err() || read.unwrap().is_some_and(|(_, error)| error.is_some()));
        }
    }
}
