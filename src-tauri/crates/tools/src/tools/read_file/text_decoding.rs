//! Decoding of a part of a file into text.

use std::ops::Range;

use encoding_rs::{Encoding, UTF_8};

/// A part of a file.
pub(super) struct FilePart<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether the part begins at the file's start.
    pub(super) is_first: bool,
    /// Whether the part ends at the file's end.
    pub(super) is_last: bool,
}

/// The text of a part.
pub(super) struct DecodedPart {
    pub(super) text: String,
    /// Decoded bytes: fewer than all if a character continues in the next part.
    pub(super) used: usize,
}

/// Failure to decode a part.
pub(super) enum DecodeError {
    Binary,
    Invalid(&'static Encoding),
}

/// Finds an encoding by label; UTF-8 without a label.
pub(super) fn find_encoding(label: Option<&str>) -> Option<&'static Encoding> {
    match label {
        Some(label) => Encoding::for_label(label.as_bytes()),
        None => Some(UTF_8),
    }
}

/// Decodes a part. A byte order mark at the file's start overrides `encoding`.
pub(super) fn decode_part(
    part: &FilePart<'_>,
    encoding: &'static Encoding,
) -> Result<DecodedPart, DecodeError> {
    let marked = Encoding::for_bom(part.bytes).filter(|_| part.is_first);
    let encoding = marked.map_or(encoding, |(marked, _)| marked);
    let whole = if encoding == UTF_8 { whole_characters(part) } else { 0..part.bytes.len() };
    let used = whole.end;
    let bytes = &part.bytes[whole];
    if encoding.is_ascii_compatible() && bytes.contains(&0) {
        return Err(DecodeError::Binary);
    }
    let (text, is_garbled) = if part.is_first {
        encoding.decode_with_bom_removal(bytes)
    } else {
        encoding.decode_without_bom_handling(bytes)
    };
    // A part in another encoding may split a character at either end, which is no error.
    let is_whole_file = part.is_first && part.is_last;
    if is_garbled && (encoding == UTF_8 || is_whole_file) {
        return Err(DecodeError::Invalid(encoding));
    }
    Ok(DecodedPart { text: text.into_owned(), used })
}

/// The range of whole UTF-8 characters, without characters split at an inner boundary.
fn whole_characters(part: &FilePart<'_>) -> Range<usize> {
    let is_continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let split = part.bytes.iter().take(3).take_while(is_continuation).count();
    let start = if part.is_first { 0 } else { split };
    let end = match std::str::from_utf8(&part.bytes[start..]) {
        Err(error) if !part.is_last && error.error_len().is_none() => start + error.valid_up_to(),
        _ => part.bytes.len(),
    };
    start..end
}
