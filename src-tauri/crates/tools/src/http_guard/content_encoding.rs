//! Decoding of `Content-Encoding` within a bound.
//!
//! Owns the list of accepted encodings (gzip, deflate, br, zstd), shared by `http` and `web_fetch`. Never decodes more than the bound:
//! a small response can expand without end. Pitfall: `deflate` means zlib by the standard, and raw deflate on many servers.

use std::io::{self, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// The `Accept-Encoding` header.
pub(crate) const ACCEPTED_ENCODINGS: &str = "gzip, deflate, br, zstd";

/// Largest window of a zstd frame (RFC 8878, 3.1.1.1.2).
const MAX_ZSTD_WINDOW: u64 = 8 << 20;

/// Maximum number of stacked encodings.
const MAX_LAYERS: usize = 3;

/// Failure to decode a body, as the end of the caller's sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContentEncodingError {
    #[error("its encoding {0:?} was not requested")]
    Unknown(String),
    #[error("its encoding {encoding} could not be decoded: {source}")]
    Invalid { encoding: String, source: io::Error },
}

/// The bytes of a body, possibly truncated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_truncated: bool,
}

/// Decodes a body to at most `max_bytes`. A truncated body is decoded as far as possible.
pub(crate) fn decode_body(
    body: Body,
    encoding: Option<&str>,
    max_bytes: usize,
) -> Result<Body, ContentEncodingError> {
    let layers = encoding.unwrap_or_default().split(',').map(str::trim);
    let layers: Vec<String> =
        layers.filter(|layer| !layer.is_empty()).map(str::to_ascii_lowercase).collect();
    if layers.len() > MAX_LAYERS {
        return Err(ContentEncodingError::Unknown(crate::text::truncate(&layers.join(", "), 80)));
    }
    let mut decoded = body;
    for encoding in layers.iter().rev() {
        // The response to HEAD has no body.
        if !decoded.bytes.is_empty() {
            decoded = decode_layer(decoded, encoding, max_bytes)?;
        }
    }
    let is_longer = decoded.bytes.len() > max_bytes;
    decoded.bytes.truncate(max_bytes);
    Ok(Body { is_truncated: decoded.is_truncated || is_longer, ..decoded })
}

fn decode_layer(
    body: Body,
    encoding: &str,
    max_bytes: usize,
) -> Result<Body, ContentEncodingError> {
    let bytes = body.bytes.as_slice();
    let invalid = |source| ContentEncodingError::Invalid { encoding: encoding.to_owned(), source };
    let reader: Box<dyn Read + '_> = match encoding {
        "identity" => return Ok(body),
        "gzip" | "x-gzip" => Box::new(MultiGzDecoder::new(bytes)),
        "deflate" if is_zlib(bytes) => Box::new(ZlibDecoder::new(bytes)),
        "deflate" => Box::new(DeflateDecoder::new(bytes)),
        "br" => Box::new(brotli_decompressor::Decompressor::new(bytes, 4_096)),
        "zstd" => {
            let decoder = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(
                bytes,
                MAX_ZSTD_WINDOW,
            );
            Box::new(decoder.map_err(|error| invalid(io::Error::other(error.to_string())))?)
        }
        other => return Err(ContentEncodingError::Unknown(crate::text::truncate(other, 40))),
    };
    let mut decoded = Vec::new();
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    match reader.take(limit).read_to_end(&mut decoded) {
        Ok(_) => {}
        Err(_) if body.is_truncated => {}
        Err(source) => return Err(invalid(source)),
    }
    Ok(Body { bytes: decoded, is_truncated: body.is_truncated })
}

/// Checks the zlib header (RFC 1950, 2.2): method 8, and a multiple of 31.
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

    fn whole(bytes: &[u8]) -> Body {
        Body { bytes: bytes.to_vec(), is_truncated: false }
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
    fn each_encoding_decodes_to_the_same_text() {
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
            let decoded = decode_body(whole(&packed), Some(encoding), 1_000).expect(encoding);
            assert_eq!(decoded, whole(text), "{encoding}");
        }
    }

    #[test]
    fn decompression_bomb_stops_at_the_limit() {
        let bomb = vec![0; 4 << 20];
        for (encoding, packed) in
            [("gzip", gzip(&bomb)), ("deflate", zlib(&bomb)), ("zstd", zstd(&bomb))]
        {
            assert!(packed.len() < 1 << 16, "{encoding}: {}", packed.len());
            let decoded = decode_body(whole(&packed), Some(encoding), 4_096).expect(encoding);
            assert_eq!((decoded.bytes.len(), decoded.is_truncated), (4_096, true), "{encoding}");
        }
    }

    #[test]
    fn truncated_body_decodes_as_far_as_possible() {
        let text: String = (0..5_000).map(|line| format!("line {line}\n")).collect();
        let packed = gzip(text.as_bytes());
        let half = Body { bytes: packed[..packed.len() / 2].to_vec(), is_truncated: true };
        let decoded = decode_body(half, Some("gzip"), 1 << 20).expect("the beginning");
        assert!(decoded.is_truncated && text.as_bytes().starts_with(&decoded.bytes));
        assert!(decoded.bytes.len() > 1_000, "{}", decoded.bytes.len());
    }

    #[test]
    fn invalid_or_unknown_encoding_is_an_error() {
        for encoding in ["gzip", "br", "zstd", "compress", "gzip, gzip, gzip, gzip"] {
            assert!(
                decode_body(whole(b"no such thing"), Some(encoding), 100).is_err(),
                "{encoding}"
            );
        }
        assert_eq!(decode_body(whole(b""), Some("gzip"), 100).expect("empty"), whole(b""));
    }
}
