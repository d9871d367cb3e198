//! Images and PDFs that a tool attaches to its output.
//!
//! Owns the checks that keep damaged and oversized files from a provider, which would reject the whole request. Never decodes an
//! image: only the header is read.

use rouse_core::attachment::{Attachment, MAX_ATTACHMENT_BYTES, MediaKind};

/// Longest side of an image in pixels (Anthropic's limit).
const MAX_SIDE: usize = 8_000;

/// Rejection of an attachment. The message follows the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MediaError {
    #[error(
        "is a {kind} of {} kB; the limit is {} kB. Make a smaller copy first.",
        size.div_ceil(1_000),
        MAX_ATTACHMENT_BYTES / 1_000
    )]
    TooLarge { kind: MediaKind, size: usize },
    #[error(
        "is a {kind} of {width} × {height} pixels; the limit is {MAX_SIDE} on each side. Make a smaller copy first."
    )]
    TooManyPixels { kind: MediaKind, width: usize, height: usize },
    #[error("begins like a {kind} but is damaged.")]
    Damaged { kind: MediaKind },
}

/// Makes an attachment of `bytes`; `path` is a file path or a URL.
pub(crate) fn attachment(
    path: &str,
    kind: MediaKind,
    bytes: Vec<u8>,
) -> Result<Attachment, MediaError> {
    let size = bytes.len();
    if size > MAX_ATTACHMENT_BYTES {
        return Err(MediaError::TooLarge { kind, size });
    }
    if kind.is_image() {
        let imagesize::ImageSize { width, height } =
            imagesize::blob_size(&bytes).map_err(|_| MediaError::Damaged { kind })?;
        if width.max(height) > MAX_SIDE {
            return Err(MediaError::TooManyPixels { kind, width, height });
        }
    }
    Ok(Attachment::new(path, kind, bytes))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A PNG header with these dimensions.
    pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend(b"\x08\x06\0\0\0\0\0\0\0");
        bytes
    }

    #[test]
    fn oversized_or_damaged_image_is_rejected_with_its_size() {
        let refused = |bytes| attachment("a", MediaKind::Png, bytes).expect_err("refused");
        assert!(attachment("a", MediaKind::Png, png(8_000, 10)).is_ok());
        assert_eq!(
            refused(png(8_001, 10)),
            MediaError::TooManyPixels { kind: MediaKind::Png, width: 8_001, height: 10 }
        );
        assert_eq!(
            refused(b"\x89PNG\r\n\x1a\n".to_vec()),
            MediaError::Damaged { kind: MediaKind::Png }
        );
        let large = [png(1, 1), vec![0; MAX_ATTACHMENT_BYTES]].concat();
        assert!(matches!(refused(large), MediaError::TooLarge { .. }));
    }
}
