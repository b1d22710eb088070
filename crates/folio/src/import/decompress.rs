//! Gzip and Zstandard, told by their first bytes.
//!
//! Both formats allow several members or frames one after another (`cat a.gz
//! b.gz`, parallel compressors), which are read as one stream. Zstandard frames
//! that hold no data are passed over, checksums are verified, and the window a
//! frame may ask for is bounded by the decoder.

use std::io::{self, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Skippable frames (RFC 8878, 3.1.2) have 16 magic numbers that differ in the first byte's low half.
const SKIPPABLE_MAGIC: &[u8] = &[0x2a, 0x4d, 0x18];

/// Bytes asked of the source at once.
const BUFFER_SIZE: usize = 256 << 10;

type Reader = Box<dyn Read + Send>;

/// The decompressed bytes of a reader, or its bytes as they are.
///
/// # Errors
/// What the reader says.
pub(crate) fn decompress(mut reader: Reader) -> io::Result<Reader> {
    let mut head = Vec::new();
    (&mut reader).take(4).read_to_end(&mut head)?;
    let is_gzip = head.starts_with(GZIP_MAGIC);
    let is_skippable = head.len() == 4 && head[0] & 0xf0 == 0x50 && &head[1..] == SKIPPABLE_MAGIC;
    let is_zstd = head == ZSTD_MAGIC || is_skippable;
    let whole = Cursor::new(head).chain(reader);
    if is_gzip {
        let buffered = io::BufReader::with_capacity(BUFFER_SIZE, whole);
        return Ok(Box::new(GzipMembers(MultiGzDecoder::new(buffered))));
    }
    if is_zstd {
        return Ok(Box::new(ZstdFrames::new(whole)));
    }
    Ok(Box::new(whole))
}

/// Gzip members until the end of the source; their faults in our words.
struct GzipMembers<R>(MultiGzDecoder<R>);

impl<R: io::BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            let what = match error.kind() {
                // Also where something follows that is too short to be another member.
                io::ErrorKind::UnexpectedEof => "breaks off; fetch it again",
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                    "is damaged or cut off; fetch it again"
                }
                _ => return error,
            };
            io::Error::new(error.kind(), format!("its gzip data {what}"))
        })
    }
}

/// Zstandard frames until the end of the source.
struct ZstdFrames {
    source: io::BufReader<Chain<Cursor<Vec<u8>>, Reader>>,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl ZstdFrames {
    fn new(source: Chain<Cursor<Vec<u8>>, Reader>) -> Self {
        let source = io::BufReader::with_capacity(BUFFER_SIZE, source);
        Self { source, decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Begins the next frame; `false` at the end of the source.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if io::BufRead::fill_buf(&mut self.source)?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(u64::from(length))?,
                Err(error) => return Err(damaged(&error)),
            }
        }
    }

    fn skip(&mut self, size: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.source).take(size), &mut io::sink())?;
        if skipped < size {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "its zstd data breaks off; fetch it again",
            ));
        }
        Ok(())
    }

    fn check_sum(&self) -> io::Result<()> {
        let (written, computed) =
            (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if written.is_some() && written != computed {
            let text = "its zstd data is damaged: the checksum differs; fetch it again";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(())
    }
}

impl Read for ZstdFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.in_frame && self.decoder.is_finished() {
                self.check_sum()?;
                self.in_frame = false;
            }
            if !self.in_frame {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.in_frame = true;
            }
            let some = BlockDecodingStrategy::UptoBytes(buffer.len().max(1));
            self.decoder.decode_blocks(&mut self.source, some).map_err(|error| damaged(&error))?;
        }
    }
}

fn damaged(error: &FrameDecoderError) -> io::Error {
    let text = match error {
        FrameDecoderError::DictNotProvided { .. } => {
            "its zstd data needs a dictionary; decompress it with zstd first".to_owned()
        }
        FrameDecoderError::WindowSizeTooBig { requested, max } => format!(
            "its zstd data needs a window of {requested} bytes, and at most {max} are given; \
             decompress it with zstd first"
        ),
        _ => "its zstd data is damaged or cut off; fetch it again".to_owned(),
    };
    io::Error::new(io::ErrorKind::InvalidData, text)
}
