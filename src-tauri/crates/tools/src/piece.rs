//! A part of a long text, from an offset to as far as a model is told.
//!
//! Owns the promise that parts follow each other without a hole: the next part begins at `end`. Never cuts a character
//! in two. Prefers the end of a line near the bound. Offsets are bytes of the text. Pitfall: the room is counted in JSON,
//! where a quote or a line end takes two bytes.

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// The part.
    pub(crate) text: &'a str,
    /// Where it ends in the whole text.
    pub(crate) end: usize,
    /// Whether the text goes on there.
    pub(crate) has_more: bool,
}

/// The part of `text` that begins at `offset` and takes at most `room` bytes as JSON.
pub(crate) fn piece(text: &str, offset: usize, room: usize) -> Piece<'_> {
    let begin = text.ceil_char_boundary(offset.min(text.len()));
    let rest = &text[begin..];
    let mut taken = 0;
    let over = rest.char_indices().find(|(_, character)| {
        taken += in_json(*character);
        taken > room
    });
    let Some((end, _)) = over else {
        return Piece { text: rest, end: text.len(), has_more: false };
    };
    // A character that fits nowhere would be asked for without end.
    let end = end.max(rest.ceil_char_boundary(1));
    let least = rest.floor_char_boundary(end - end / 8);
    let end = rest[least..end].rfind('\n').map_or(end, |line| least + line + 1);
    Piece { text: &rest[..end], end: begin + end, has_more: true }
}

/// Bytes of a character in a JSON text, as `serde_json` writes it.
const fn in_json(character: char) -> usize {
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
    fn pieces_of_any_text_follow_without_a_hole() {
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
                    let piece = piece(&text, from, room);
                    let length = serde_json::to_string(piece.text).expect("JSON").len() - 2;
                    assert!(length <= room || piece.text.chars().count() == 1, "{length} {room}");
                    all.push_str(piece.text);
                    (offset, parts) = (piece.has_more.then_some(piece.end), parts + 1);
                }
                assert_eq!(all, text, "{room} in {parts} parts");
            }
        }
    }

    #[test]
    fn piece_prefers_a_line_end_near_the_bound() {
        let text = format!("{}\n{}", "a".repeat(95), "b".repeat(50));
        assert_eq!(piece(&text, 0, 100).end, 96);
        assert_eq!(piece("ab\ncdefghijklmnop", 0, 10).end, 9);
        assert_eq!(piece("abc", 99, 10), Piece { text: "", end: 3, has_more: false });
    }
}
