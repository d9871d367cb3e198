//! From the bytes of a part of a file to text, or to a reason why not.

use std::ops::Range;

use encoding_rs::{Encoding, UTF_8};

use super::ReadError;
use crate::workspace::RelativePath;

/// A part of a file.
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether it begins where the file begins.
    pub(super) is_first: bool,
    /// Whether it ends where the file ends.
    pub(super) is_last: bool,
}

/// The text of a part.
pub(super) struct Decoded {
    pub(super) text: String,
    /// How many of the bytes it covers: fewer than all when a character goes on in the next part.
    pub(super) used: usize,
}

/// Why a part has no text.
pub(super) enum Problem {
    Binary,
    NotIn(&'static Encoding),
}

impl Problem {
    pub(super) fn of(self, path: RelativePath, size: u64) -> ReadError {
        match self {
            Self::Binary => ReadError::Binary { path, size },
            Self::NotIn(encoding) => ReadError::NotInEncoding { path, encoding: encoding.name() },
        }
    }
}

/// The encoding of that name; UTF-8 when none is given.
pub(super) fn named(label: Option<&str>) -> Result<&'static Encoding, ReadError> {
    let Some(label) = label else { return Ok(UTF_8) };
    Encoding::for_label(label.as_bytes())
        .ok_or_else(|| ReadError::UnknownEncoding(label.to_owned()))
}

/// The text of `piece`. A byte order mark at the beginning of a file overrules `encoding`.
pub(super) fn decoded(piece: &Piece<'_>, encoding: &'static Encoding) -> Result<Decoded, Problem> {
    let marked = Encoding::for_bom(piece.bytes).filter(|_| piece.is_first);
    let encoding = marked.map_or(encoding, |(marked, _)| marked);
    let whole = if encoding == UTF_8 { whole_characters(piece) } else { 0..piece.bytes.len() };
    let used = whole.end;
    let bytes = &piece.bytes[whole];
    if encoding.is_ascii_compatible() && bytes.contains(&0) {
        return Err(Problem::Binary);
    }
    let (text, is_garbled) = if piece.is_first {
        encoding.decode_with_bom_removal(bytes)
    } else {
        encoding.decode_without_bom_handling(bytes)
    };
    // A part in another encoding may begin or end inside a character; that alone must not make it unreadable.
    let is_part = !(piece.is_first && piece.is_last);
    if is_garbled && (encoding == UTF_8 || !is_part) {
        return Err(Problem::NotIn(encoding));
    }
    Ok(Decoded { text: text.into_owned(), used })
}

/// Where the whole characters of a part in UTF-8 are: without what is cut off at either end, where the file goes on.
fn whole_characters(piece: &Piece<'_>) -> Range<usize> {
    let goes_on = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let is_first = piece.is_first;
    let start = if is_first { 0 } else { piece.bytes.iter().take(3).take_while(goes_on).count() };
    let end = match std::str::from_utf8(&piece.bytes[start..]) {
        Err(error) if !piece.is_last && error.error_len().is_none() => start + error.valid_up_to(),
        _ => piece.bytes.len(),
    };
    start..end
}
