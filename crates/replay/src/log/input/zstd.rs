//! Decompresses zstd, as many frames as there are, in bounded memory.

use std::io::{self, Cursor, Read};

use indicatif::HumanBytes;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Bytes that are decompressed at a time.
const STEP_BYTES: usize = 1 << 17;

/// The largest window of a frame, as the `zstd` command has it unless it is told otherwise. A window is
/// kept in memory, twice at most.
const MAX_WINDOW_BYTES: u64 = 128 << 20;

/// The most bytes of a frame's header.
const HEADER_BYTES: usize = 18;

/// A last block that is empty, and space for the checksum after it.
const LAST_BLOCK: &[u8] = b"\x01\0\0\0\0\0\0";

/// The frames of a zstd file, one after the other.
pub(super) struct ZstdFrames<R> {
    source: Ahead<R>,
    decoder: FrameDecoder,
    is_in_frame: bool,
    /// The reason why the rest of the frame cannot be read, once what was read of it has been given out.
    failed: Option<io::Error>,
}

/// A source of which some bytes were read ahead.
struct Ahead<R> {
    bytes: Cursor<Vec<u8>>,
    source: R,
}

impl<R: Read> ZstdFrames<R> {
    pub(super) fn new(source: R) -> ZstdFrames<R> {
        let source = Ahead { bytes: Cursor::default(), source };
        ZstdFrames { source, decoder: FrameDecoder::new(), is_in_frame: false, failed: None }
    }

    /// Begins the next frame. Returns false at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        let header = self.source.look_ahead(HEADER_BYTES)?;
        if header.is_empty() {
            return Ok(false);
        }
        if let Some(window_bytes) = window_bytes(header).filter(|bytes| *bytes > MAX_WINDOW_BYTES) {
            let (window, most) = (HumanBytes(window_bytes), HumanBytes(MAX_WINDOW_BYTES));
            let message = format!(
                "its zstd has a window of {window}, and at most {most} are kept in memory; compress it \
                 again without --long or --ultra"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        // A decoder that is used again has another bound on windows.
        self.decoder = FrameDecoder::new();
        match self.decoder.reset(&mut self.source) {
            Ok(()) => self.is_in_frame = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                io::copy(&mut self.source.by_ref().take(u64::from(length)), &mut io::sink())?;
            }
            Err(error) => return Err(invalid(&error)),
        }
        Ok(true)
    }
}

impl<R: Read> Read for ZstdFrames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_in_frame {
                if !self.begin()? {
                    return Ok(0);
                }
                continue;
            }
            let read = self.decoder.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if self.decoder.is_finished() {
                self.is_in_frame = false;
                continue;
            }
            let step = BlockDecodingStrategy::UptoBytes(STEP_BYTES);
            if let Err(error) = self.decoder.decode_blocks(&mut self.source, step) {
                self.failed = Some(invalid(&error));
                // The decoder keeps a window back until the last block. If it does not take this one
                // for it, the window is lost.
                let _ = self.decoder.decode_blocks(LAST_BLOCK, BlockDecodingStrategy::All);
            }
        }
    }
}

impl<R: Read> Ahead<R> {
    /// Returns the next bytes without taking them: so many, unless the source ends.
    fn look_ahead(&mut self, most: usize) -> io::Result<&[u8]> {
        let mut bytes = Vec::with_capacity(most);
        self.by_ref().take(most as u64).read_to_end(&mut bytes)?;
        // What was left of the bytes before is among them.
        self.bytes = Cursor::new(bytes);
        Ok(self.bytes.get_ref())
    }
}

impl<R: Read> Read for Ahead<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.bytes.read(out)? {
            0 => self.source.read(out),
            read => Ok(read),
        }
    }
}

/// Returns the window of a frame with this header: that which it names, or all that it contains. `None`
/// if it is no header of a frame, or not all of it.
fn window_bytes(header: &[u8]) -> Option<u64> {
    let header = header.strip_prefix(b"\x28\xb5\x2f\xfd")?;
    let (descriptor, header) = header.split_first()?;
    let is_whole = descriptor & 0x20 != 0;
    if !is_whole {
        let window = header.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let length = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let mut content = [0; 8];
    content[..length].copy_from_slice(header.get(dictionary..dictionary + length)?);
    // Two bytes begin where one ends.
    Some(u64::from_le_bytes(content).saturating_add(if length == 2 { 256 } else { 0 }))
}

fn invalid(error: &FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("corrupt or truncated zstd: {error}"))
}
