//! Decoding of a web page's bytes into text.
//!
//! Owns the choice of the encoding, in the order of browsers (WHATWG Encoding, HTML 13.2.3): byte order mark, header, `<meta>` or XML
//! declaration, UTF-8; invalid UTF-8 in HTML is windows-1252. Never guesses from letter frequencies.
//! Pitfall: a `<meta>` that names UTF-16 was read as ASCII and means UTF-8.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::text::plain_text;

/// The part of a page that browsers search for `<meta>`, in bytes.
const PRESCAN: usize = 1_024;

/// Decodes `bytes` and removes control characters; `None` for binary data.
pub(crate) fn decode_text(bytes: &[u8], content_type: Option<&str>) -> Option<String> {
    let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or_else(|| {
        let named =
            content_type.and_then(header_charset).or_else(|| markup_charset(bytes, content_type));
        (named.unwrap_or_else(|| default_encoding(bytes, content_type)), 0)
    });
    let bytes = &bytes[mark..];
    if encoding.is_ascii_compatible() && bytes.contains(&0) {
        return None;
    }
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    Some(plain_text(&text))
}

fn header_charset(content_type: &str) -> Option<&'static Encoding> {
    let parameters =
        content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut charsets = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    Encoding::for_label(charsets.next()?.1.trim().trim_matches(['"', '\'']).as_bytes())
}

fn markup_charset(bytes: &[u8], content_type: Option<&str>) -> Option<&'static Encoding> {
    let is_markup = is_markup(bytes, content_type);
    let begin = &bytes[..bytes.len().min(PRESCAN)];
    let begin = String::from_utf8_lossy(begin).to_ascii_lowercase();
    let tags = begin.split('<').filter(|tag| tag.starts_with("meta") || tag.starts_with("?xml"));
    let labels = tags.filter_map(|tag| {
        let tag = tag.split('>').next()?;
        let (_, rest) = tag
            .split_once("charset")
            .or_else(|| tag.strip_prefix("?xml")?.split_once("encoding"))?;
        let label =
            rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let end =
            label.find(|c: char| matches!(c, '"' | '\'' | ';' | '/' | '?') || c.is_whitespace());
        Some(label[..end.unwrap_or(label.len())].to_owned())
    });
    let mut known = labels.filter_map(|label| Encoding::for_label(label.as_bytes()));
    let named = known.next().filter(|_| is_markup)?;
    Some(if named == UTF_16LE || named == UTF_16BE { UTF_8 } else { named })
}

fn is_markup(bytes: &[u8], content_type: Option<&str>) -> bool {
    match content_type {
        Some(kind) => kind.contains("html") || kind.contains("xml"),
        None => bytes.trim_ascii_start().starts_with(b"<"),
    }
}

fn default_encoding(bytes: &[u8], content_type: Option<&str>) -> &'static Encoding {
    let is_utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        // A truncated page may end in half a character.
        Err(error) => error.error_len().is_none() && !bytes[..error.valid_up_to()].is_ascii(),
    };
    if is_utf8 || !is_markup(bytes, content_type) { UTF_8 } else { WINDOWS_1252 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_follows_bom_header_meta_and_content() {
        let html = Some("text/html");
        let cases: [(&[u8], Option<&str>, &str); 11] = [
            (b"\xef\xbb\xbfGr\xc3\xbc\xc3\x9fe", Some("text/html; charset=shift_jis"), "Grüße"),
            (b"\xff\xfeG\0r\0\xfc\0", html, "Grü"),
            (b"Gr\xfc\xdfe", Some("text/plain; charset=\"ISO-8859-1\""), "Grüße"),
            (b"<meta charset=windows-1252>\x80", html, "<meta charset=windows-1252>€"),
            (
                b"<META http-equiv=Content-Type content='text/html; charset=Shift_JIS'>\x93\xfa\x96\x7b",
                html,
                "<META http-equiv=Content-Type content='text/html; charset=Shift_JIS'>日本",
            ),
            (
                b"<?xml version=\"1.0\" encoding='iso-8859-1'?>\xe9",
                Some("application/xml"),
                "<?xml version=\"1.0\" encoding='iso-8859-1'?>é",
            ),
            (b"<meta charset=utf-16>\xc3\xa9", html, "<meta charset=utf-16>é"),
            (b"<meta charset=shift_jis>\xc3\xa9", Some("text/plain"), "<meta charset=shift_jis>é"),
            (b"<p>caf\xe9", None, "<p>café"),
            (b"caf\xe9", Some("text/plain"), "caf\u{FFFD}"),
            (b"<p>caf\xc3\xa9 \xc3", html, "<p>café \u{FFFD}"),
        ];
        for (bytes, content_type, expected) in cases {
            let decoded = decode_text(bytes, content_type);
            assert_eq!(decoded.as_deref(), Some(expected), "{content_type:?}");
        }
    }

    #[test]
    fn bytes_with_zeros_are_binary() {
        assert_eq!(decode_text(b"\x89PNG\r\n\x1a\n\0\0", Some("image/png")), None);
    }
}
