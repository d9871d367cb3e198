//! Images and PDFs that a tool hands to the model beside its result.
//!
//! Owns the checks that keep a broken or too large file from a provider, which would refuse the whole request. Never decodes
//! an image: only its header is read.

use rouse_core::attachment::{Attachment, MAX_ATTACHMENT_BYTES, MediaKind};

/// The longest side of an image, in pixels: Anthropic's limit.
const MAX_SIDE: usize = 8_000;

/// Why a file is not handed over. The words follow the name of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MediaError {
    #[error(
        "is a {kind} of {} kB; a model is shown at most {} kB. Make a smaller copy first.",
        size.div_ceil(1_000),
        MAX_ATTACHMENT_BYTES / 1_000
    )]
    TooLarge { kind: MediaKind, size: usize },
    #[error(
        "is a {kind} of {width} × {height} pixels; a model is shown at most {MAX_SIDE} on each side. Make a smaller copy first."
    )]
    TooManyPixels { kind: MediaKind, width: usize, height: usize },
    #[error("begins like a {kind}, and is damaged.")]
    Damaged { kind: MediaKind },
}

/// The file `bytes` of this kind as an attachment; `path` is its path or its address.
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
        let found = imagesize::blob_size(&bytes).map_err(|_| MediaError::Damaged { kind })?;
        let imagesize::ImageSize { width, height } = found;
        if width.max(height) > MAX_SIDE {
            return Err(MediaError::TooManyPixels { kind, width, height });
        }
    }
    Ok(Attachment::new(path, kind, bytes))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The header of a PNG image of this size, as far as a reader of headers looks.
    pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend(b"\x08\x06\0\0\0\0\0\0\0");
        bytes
    }

    #[test]
    fn image_beyond_a_limit_is_refused_with_its_measure() {
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
