//! Gzip and Zstandard. Reading recognises them by the first bytes, writing by the file name.
//!
//! Both formats allow several members or frames in sequence (`cat a.gz b.gz`, parallel
//! compressors); they are read as one stream. Zstandard frames without data are skipped, checksums
//! are verified, and the decoder limits the window size of a frame.

use std::cell::Cell;
use std::io::{self, Chain, Cursor, Read, Write};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, FrameCompressor};

use crate::flow::FlowReader;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Skippable frames (RFC 8878, 3.1.2) have 16 magic numbers that differ in the first byte's low half.
const SKIPPABLE_MAGIC: &[u8] = &[0x2a, 0x4d, 0x18];

/// Bytes per read of the source.
const BUFFER_SIZE: usize = 256 << 10;

type Reader = Box<dyn Read + Send>;

/// How the bytes of a file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
}

/// The decompressed bytes of a reader, or its bytes unchanged if they are not compressed.
///
/// # Errors
/// Errors of the reader.
pub fn decompress(reader: Reader) -> io::Result<Reader> {
    Ok(match Packed::recognise(reader)? {
        Packed::Not(reader) | Packed::In(reader) => reader,
    })
}

/// The same, but a thread decompresses while the caller works on the bytes before.
///
/// # Errors
/// Errors of the reader.
pub fn decompress_ahead(reader: Reader) -> io::Result<Reader> {
    Ok(match Packed::recognise(reader)? {
        Packed::Not(reader) => reader,
        Packed::In(reader) => Box::new(FlowReader::with_pieces(BUFFER_SIZE, reader).0),
    })
}

/// The bytes of a reader, decompressed if they need it.
enum Packed {
    Not(Reader),
    In(Reader),
}

impl Packed {
    fn recognise(mut reader: Reader) -> io::Result<Self> {
        let mut head = Vec::new();
        (&mut reader).take(4).read_to_end(&mut head)?;
        let (is_gzip, is_zstd) = (is_gzip(&head), is_zstd(&head));
        let whole = Cursor::new(head).chain(reader);
        if is_gzip {
            let buffered = io::BufReader::with_capacity(BUFFER_SIZE, whole);
            return Ok(Self::In(Box::new(GzipMembers(MultiGzDecoder::new(buffered)))));
        }
        if is_zstd {
            return Ok(Self::In(Box::new(ZstdFrames::new(whole))));
        }
        Ok(Self::Not(Box::new(whole)))
    }
}

fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(GZIP_MAGIC)
}

fn is_zstd(head: &[u8]) -> bool {
    let is_skippable = head.len() == 4 && head[0] & 0xf0 == 0x50 && &head[1..] == SKIPPABLE_MAGIC;
    head == ZSTD_MAGIC || is_skippable
}

/// Whether the first four bytes are those of a compressed file.
pub fn is_compressed(head: &[u8]) -> bool {
    is_gzip(head) || is_zstd(head)
}

/// Gzip members until the end of the source, with our error messages.
struct GzipMembers<R>(MultiGzDecoder<R>);

impl<R: io::BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            let what = match error.kind() {
                // Also when trailing bytes are too short for another member.
                io::ErrorKind::UnexpectedEof => "is truncated; fetch it again",
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                    "is damaged or truncated; fetch it again"
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
                "its zstd data is truncated; fetch it again",
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
            "its zstd data needs a window of {requested} bytes, but at most {max} are allowed; \
             decompress it with zstd first"
        ),
        _ => "its zstd data is damaged or truncated; fetch it again".to_owned(),
    };
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Compresses what is written to it.
pub enum Compressor<W: Write + Send + 'static> {
    /// Writes it as it is.
    None(W),
    /// One member.
    Gzip(GzEncoder<W>),
    /// One frame.
    Zstd(ZstdEncoder<W>),
}

impl<W: Write + Send + 'static> Compressor<W> {
    /// Writes to `out`.
    pub fn new(compression: Compression, out: W) -> Self {
        match compression {
            Compression::None => Self::None(out),
            Compression::Gzip => Self::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Compression::Zstd => Self::Zstd(ZstdEncoder::new(out)),
        }
    }

    /// Writes the rest, and returns the output.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::None(out) => Ok(out),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write + Send + 'static> Write for Compressor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::None(out) => out.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes one Zstandard frame. Many readers stop after the first frame of a file, so it is one
/// frame. The encoder pulls its input, so it runs on a thread that is fed through a channel.
pub struct ZstdEncoder<W: Write + Send + 'static> {
    buffer: Vec<u8>,
    /// `None` once the input has ended.
    pieces: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<io::Result<W>>>,
}

impl<W: Write + Send + 'static> ZstdEncoder<W> {
    fn new(out: W) -> Self {
        let (pieces, input) = sync_channel(4);
        let thread = thread::spawn(move || encode_frame(input, out));
        Self { buffer: Vec::new(), pieces: Some(pieces), thread: Some(thread) }
    }

    fn finish(mut self) -> io::Result<W> {
        self.send()?;
        self.join()
    }

    fn send(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.buffer);
        match self.pieces.as_ref().map(|pieces| pieces.send(piece)) {
            Some(Ok(())) => Ok(()),
            // The thread ends early when the output fails.
            _ => Err(self.join().err().unwrap_or_else(stopped)),
        }
    }

    fn join(&mut self) -> io::Result<W> {
        self.pieces = None;
        let thread = self.thread.take().ok_or_else(stopped)?;
        thread.join().unwrap_or_else(|_| Err(stopped()))
    }
}

fn stopped() -> io::Error {
    io::Error::other("the zstd encoder has stopped")
}

impl<W: Write + Send + 'static> Write for ZstdEncoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_SIZE {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write + Send + 'static> Drop for ZstdEncoder<W> {
    fn drop(&mut self) {
        // Wait for the thread, which owns the output: an unfinished file is gone on return.
        let _ = self.join();
    }
}

/// The encoder panics if its output fails, so the output here never fails: an error is noted, ends
/// the input, and is returned at the end.
fn encode_frame<W: Write>(input: Receiver<Vec<u8>>, mut out: W) -> io::Result<W> {
    let failure = Rc::new(Cell::new(None));
    let mut encoder = FrameCompressor::new(CompressionLevel::Fastest);
    let failed = Rc::clone(&failure);
    encoder.set_source(Pieces { input, piece: Vec::new(), at: 0, failed });
    encoder.set_drain(Drain { out: &mut out, failure: Rc::clone(&failure) });
    encoder.compress();
    drop(encoder);
    match failure.take() {
        None => Ok(out),
        Some(error) => Err(error),
    }
}

type Failure = Rc<Cell<Option<io::Error>>>;

fn has_failed(failure: &Failure) -> bool {
    let error = failure.take();
    let has_failed = error.is_some();
    failure.set(error);
    has_failed
}

struct Pieces {
    input: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
    failed: Failure,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            match self.input.recv() {
                Ok(piece) if !has_failed(&self.failed) => (self.piece, self.at) = (piece, 0),
                _ => return Ok(0),
            }
        }
        let size = buffer.len().min(self.piece.len() - self.at);
        buffer[..size].copy_from_slice(&self.piece[self.at..self.at + size]);
        self.at += size;
        Ok(size)
    }
}

struct Drain<'o, W> {
    out: &'o mut W,
    failure: Failure,
}

impl<W: Write> Write for Drain<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !has_failed(&self.failure)
            && let Err(error) = self.out.write_all(bytes)
        {
            self.failure.set(Some(error));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts this many bytes, then fails.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn text() -> Vec<u8> {
        let mut text = Vec::new();
        for n in 0..60_000_u64 {
            let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            writeln!(text, "{{\"_id\":\"{mixed:x}\",\"n\":{n}}}").unwrap();
        }
        text
    }

    fn unpacked(packed: Vec<u8>) -> io::Result<Vec<u8>> {
        let (mut bytes, mut ahead) = (Vec::new(), Vec::new());
        let reader = decompress_ahead(Box::new(Cursor::new(packed.clone())));
        let read_ahead = reader?.read_to_end(&mut ahead);
        let read = decompress(Box::new(Cursor::new(packed)))?.read_to_end(&mut bytes);
        let message = |error: io::Error| error.to_string();
        assert_eq!(read_ahead.map_err(message), read.as_ref().copied().map_err(|e| e.to_string()));
        read?;
        assert_eq!(ahead, bytes);
        Ok(bytes)
    }

    #[test]
    fn what_is_packed_is_unpacked_and_nothing_less() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            for text in [Vec::new(), b"x".to_vec(), text()] {
                let mut packer = Compressor::new(compression, Vec::new());
                for piece in text.chunks(7_001) {
                    packer.write_all(piece).unwrap();
                }
                let packed = packer.finish().unwrap();
                assert!(text.len() < 100 || packed.len() < text.len() * 2 / 3);
                for size in [packed.len() - 1, packed.len() / 2, 5] {
                    let cut = unpacked(packed[..size].to_vec());
                    assert!(cut.is_err(), "{compression:?}: {size} of {}", packed.len());
                }
                assert_eq!(unpacked(packed).unwrap(), text, "{compression:?}");
            }
        }
    }

    #[test]
    fn an_output_that_fails_is_an_error() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let mut packer = Compressor::new(compression, Full(100_000));
            let written = packer.write_all(&text()).and_then(|()| packer.write_all(&text()));
            let error = written.and_then(|()| packer.finish().map(|_| ())).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{compression:?}");
        }
    }
}
