//! `Content-Encoding`: how a server packed its answer, and the answer unpacked within a bound.
//!
//! Owns the encodings that are asked for (gzip, deflate, br, zstd), all of them read by Rust libraries, so that `http` and
//! `web_fetch` accept the same. Never writes more than the bound: a small answer can unpack without end. Pitfall: `deflate`
//! means zlib by the standard, and raw deflate on many servers.

use std::io::{self, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// What a request asks for.
pub(crate) const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// The largest window of a zstd frame (RFC 8878, 3.1.1.1.2).
const WINDOW: u64 = 8 << 20;

/// The most encodings on top of each other.
const MOST_LAYERS: usize = 3;

/// Why an answer was not unpacked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackingError {
    /// Not one of those that are asked for.
    #[error("it is packed as {0:?}, which was not asked for")]
    Unknown(String),
    /// Broken.
    #[error("it is packed as {encoding}, and cannot be unpacked: {source}")]
    Broken { encoding: String, source: io::Error },
}

/// Bytes, and whether there were more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unpacked {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_cut: bool,
}

/// Unpacks `packed` to at most `most` bytes. What is already cut unpacks as far as it goes.
pub(crate) fn unpack(
    packed: Unpacked,
    encoding: Option<&str>,
    most: usize,
) -> Result<Unpacked, PackingError> {
    let layers = encoding.unwrap_or_default().split(',').map(str::trim);
    let layers: Vec<String> =
        layers.filter(|layer| !layer.is_empty()).map(str::to_ascii_lowercase).collect();
    if layers.len() > MOST_LAYERS {
        return Err(PackingError::Unknown(crate::text::shortened(&layers.join(", "), 80)));
    }
    let mut unpacked = packed;
    for encoding in layers.iter().rev() {
        // The answer to HEAD has no body.
        if !unpacked.bytes.is_empty() {
            unpacked = layer(unpacked, encoding, most)?;
        }
    }
    let is_longer = unpacked.bytes.len() > most;
    unpacked.bytes.truncate(most);
    Ok(Unpacked { is_cut: unpacked.is_cut || is_longer, ..unpacked })
}

fn layer(packed: Unpacked, encoding: &str, most: usize) -> Result<Unpacked, PackingError> {
    let bytes = packed.bytes.as_slice();
    let broken = |source| PackingError::Broken { encoding: encoding.to_owned(), source };
    let reader: Box<dyn Read + '_> = match encoding {
        "identity" => return Ok(packed),
        "gzip" | "x-gzip" => Box::new(MultiGzDecoder::new(bytes)),
        "deflate" if is_zlib(bytes) => Box::new(ZlibDecoder::new(bytes)),
        "deflate" => Box::new(DeflateDecoder::new(bytes)),
        "br" => Box::new(brotli_decompressor::Decompressor::new(bytes, 4_096)),
        "zstd" => {
            let decoder =
                ruzstd::decoding::StreamingDecoder::new_with_max_window_size(bytes, WINDOW);
            Box::new(decoder.map_err(|error| broken(io::Error::other(error.to_string())))?)
        }
        other => return Err(PackingError::Unknown(crate::text::shortened(other, 40))),
    };
    let mut unpacked = Vec::new();
    let room = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let read = reader.take(room).read_to_end(&mut unpacked);
    match read {
        Ok(_) => {}
        Err(_) if packed.is_cut => {}
        Err(source) => return Err(broken(source)),
    }
    Ok(Unpacked { bytes: unpacked, is_cut: packed.is_cut })
}

/// RFC 1950, 2.2: the method is 8, and the first two bytes are a multiple of 31.
fn is_zlib(bytes: &[u8]) -> bool {
    let head = bytes.first_chunk().map_or(0, |head| u16::from_be_bytes(*head));
    head >> 8 & 0x0f == 8 && head.is_multiple_of(31)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    const TEXT: &str = "the quick brown fox jumps over the lazy dog";
    /// `printf '%s' TEXT | brotli -c`: a stored block of 43 bytes.
    const BROTLI: &[u8] = b"\x0b\x15\x80the quick brown fox jumps over the lazy dog\x03";

    fn whole(bytes: &[u8]) -> Unpacked {
        Unpacked { bytes: bytes.to_vec(), is_cut: false }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("packed");
        encoder.finish().expect("packed")
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("packed");
        encoder.finish().expect("packed")
    }

    fn deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("packed");
        encoder.finish().expect("packed")
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    #[test]
    fn each_encoding_unpacks_to_the_same_text() {
        let text = TEXT.as_bytes();
        let cases = [
            ("gzip", gzip(text)),
            ("X-GZIP", gzip(text)),
            ("deflate", zlib(text)),
            ("deflate", deflate(text)),
            ("br", BROTLI.to_vec()),
            ("zstd", zstd(text)),
            ("identity", text.to_vec()),
            ("gzip, zstd", zstd(&gzip(text))),
        ];
        for (encoding, packed) in cases {
            let unpacked = unpack(whole(&packed), Some(encoding), 1_000).expect(encoding);
            assert_eq!(unpacked, whole(text), "{encoding}");
        }
    }

    #[test]
    fn bomb_stops_at_the_bound() {
        let bomb = vec![0; 4 << 20];
        for (encoding, packed) in
            [("gzip", gzip(&bomb)), ("deflate", zlib(&bomb)), ("zstd", zstd(&bomb))]
        {
            assert!(packed.len() < 1 << 16, "{encoding}: {}", packed.len());
            let unpacked = unpack(whole(&packed), Some(encoding), 4_096).expect(encoding);
            assert_eq!((unpacked.bytes.len(), unpacked.is_cut), (4_096, true), "{encoding}");
        }
    }

    #[test]
    fn cut_answer_unpacks_as_far_as_it_goes() {
        let text: String = (0..5_000).map(|line| format!("line {line}\n")).collect();
        let packed = gzip(text.as_bytes());
        let half = Unpacked { bytes: packed[..packed.len() / 2].to_vec(), is_cut: true };
        let unpacked = unpack(half, Some("gzip"), 1 << 20).expect("the beginning");
        assert!(unpacked.is_cut && text.as_bytes().starts_with(&unpacked.bytes));
        assert!(unpacked.bytes.len() > 1_000, "{}", unpacked.bytes.len());
    }

    #[test]
    fn broken_or_unknown_encoding_is_an_error() {
        for encoding in ["gzip", "br", "zstd", "compress", "gzip, gzip, gzip, gzip"] {
            assert!(unpack(whole(b"no such thing"), Some(encoding), 100).is_err(), "{encoding}");
        }
        assert_eq!(unpack(whole(b""), Some("gzip"), 100).expect("empty"), whole(b""));
    }
}
