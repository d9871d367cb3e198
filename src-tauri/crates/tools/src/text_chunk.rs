//! Pagination of long texts by byte offset.
//!
//! Owns the guarantee that chunks join without a gap: the next chunk begins at `end`. Never splits a character. Prefers a line end
//! near the limit. Pitfall: the limit counts JSON bytes, where a quote or a line end takes two.

/// A chunk of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextChunk<'a> {
    pub(crate) text: &'a str,
    /// Byte offset of the chunk's end in the whole text.
    pub(crate) end: usize,
    pub(crate) has_more: bool,
}

/// Returns the chunk at `offset` that takes at most `max_json_bytes` as a JSON string.
pub(crate) fn chunk_at(text: &str, offset: usize, max_json_bytes: usize) -> TextChunk<'_> {
    let begin = text.ceil_char_boundary(offset.min(text.len()));
    let rest = &text[begin..];
    let mut used = 0;
    let over = rest.char_indices().find(|(_, character)| {
        used += json_len(*character);
        used > max_json_bytes
    });
    let Some((end, _)) = over else {
        return TextChunk { text: rest, end: text.len(), has_more: false };
    };
    // At least 1 character, or a reader would request the same offset for ever.
    let end = end.max(rest.ceil_char_boundary(1));
    let least = rest.floor_char_boundary(end - end / 8);
    let end = rest[least..end].rfind('\n').map_or(end, |line| least + line + 1);
    TextChunk { text: &rest[..end], end: begin + end, has_more: true }
}

/// Bytes of a character in a JSON string, as written by `serde_json`.
const fn json_len(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_any_text_join_without_a_gap() {
        let texts = [
            "a\nb\n".repeat(400),
            "\"quoted\" \\ Grüße 日本 👋 ".repeat(90),
            "x".repeat(2_000),
            "👋".repeat(300),
        ];
        for text in texts {
            for room in [1, 7, 100, 1_000, 100_000] {
                let (mut all, mut offset, mut parts) = (String::new(), Some(0), 0);
                while let Some(from) = offset {
                    let chunk = chunk_at(&text, from, room);
                    let length = serde_json::to_string(chunk.text).expect("JSON").len() - 2;
                    assert!(length <= room || chunk.text.chars().count() == 1, "{length} {room}");
                    all.push_str(chunk.text);
                    (offset, parts) = (chunk.has_more.then_some(chunk.end), parts + 1);
                }
                assert_eq!(all, text, "{room} in {parts} parts");
            }
        }
    }

    #[test]
    fn chunk_prefers_a_line_end_near_the_limit() {
        let text = format!("{}\n{}", "a".repeat(95), "b".repeat(50));
        assert_eq!(chunk_at(&text, 0, 100).end, 96);
        assert_eq!(chunk_at("ab\ncdefghijklmnop", 0, 10).end, 9);
        assert_eq!(chunk_at("abc", 99, 10), TextChunk { text: "", end: 3, has_more: false });
    }
}
