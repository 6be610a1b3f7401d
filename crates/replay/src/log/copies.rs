//! Logs that look like copies of each other, such as `access.log` and `access.log.gz`: their requests would count twice.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use indicatif::ProgressBar;
use ruzstd::decoding::FrameDecoder;

use super::input::Source;

/// The bytes at the beginning of two logs that are compared.
const HEAD_BYTES: u64 = 4096;

/// Returns pairs of logs whose contents begin alike and are equally long.
///
/// Only files are looked at, since a pipe can be read once: gzip says at its end how long the content is, and most files of
/// zstd at their beginning.
pub(super) fn copies(sources: &[Source]) -> Vec<(String, String)> {
    let mut by_length: HashMap<u64, Vec<&Source>> = HashMap::new();
    for source in sources {
        if let Ok(Some(length @ 1..)) = length(source) {
            by_length.entry(length).or_default().push(source);
        }
    }
    let mut pairs = Vec::new();
    for alike in by_length.into_values().filter(|alike| alike.len() > 1) {
        let mut heads: HashMap<Vec<u8>, &Source> = HashMap::new();
        for source in alike {
            let Ok(head) = head(source) else { continue };
            match heads.get(&head) {
                Some(first) => pairs.push((first.to_string(), source.to_string())),
                None => drop(heads.insert(head, source)),
            }
        }
    }
    pairs.sort();
    pairs
}

/// Returns the bytes of the content, if that is cheap to know.
fn length(source: &Source) -> io::Result<Option<u64>> {
    let Source::File(path) = source else { return Ok(None) };
    if !path.metadata()?.is_file() {
        return Ok(None);
    }
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    file.by_ref().take(4).read_to_end(&mut magic)?;
    if magic.starts_with(b"\x1f\x8b") {
        // RFC 1952: the last bytes are the length, modulo 2^32, of the last member.
        let mut length = [0; 4];
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut length)?;
        return Ok(Some(u32::from_le_bytes(length).into()));
    }
    if magic == *b"\x28\xb5\x2f\xfd" {
        file.rewind()?;
        let mut frame = FrameDecoder::new();
        // 0 if it does not say.
        return Ok(frame.init(file).ok().map(|()| frame.content_size()));
    }
    Ok(Some(file.metadata()?.len()))
}

fn head(source: &Source) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    source.open(&ProgressBar::hidden())?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}
