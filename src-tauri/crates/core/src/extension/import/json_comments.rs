//! Comments and trailing commas of JSON settings.
//!
//! Owns their replacement by spaces, so that lines and columns of errors stay. Never changes a string. Pitfall: `//` in
//! the URL of a string.

/// `text` with comments and trailing commas replaced by spaces, at the same positions.
#[must_use]
pub fn strip_json_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut stripped = Vec::with_capacity(bytes.len());
    // Position of the last byte that is neither white space nor a comment.
    let mut last = None;
    while stripped.len() < bytes.len() {
        let rest = &bytes[stripped.len()..];
        let comment = comment_length(rest);
        if comment > 0 {
            let blank = |byte: &u8| if matches!(byte, b'\n' | b'\r') { *byte } else { b' ' };
            stripped.extend(rest[..comment].iter().map(blank));
            continue;
        }
        let length = if rest[0] == b'"' { string_length(rest) } else { 1 };
        if let (b'}' | b']', Some(at)) = (rest[0], last)
            && stripped[at] == b','
        {
            stripped[at] = b' ';
        }
        if !rest[0].is_ascii_whitespace() {
            last = Some(stripped.len());
        }
        stripped.extend_from_slice(&rest[..length]);
    }
    String::from_utf8(stripped).expect("BUG: only whole characters were replaced")
}

/// Bytes of the comment that `rest` begins with; 0 without a comment. A comment without an end ends with the text.
fn comment_length(rest: &[u8]) -> usize {
    if rest.starts_with(b"//") {
        rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
    } else if rest.starts_with(b"/*") {
        let end = rest[2..].windows(2).position(|pair| pair == b"*/");
        end.map_or(rest.len(), |end| end + 4)
    } else {
        0
    }
}

/// Bytes of the string that `rest` begins with, with its quotes.
fn string_length(rest: &[u8]) -> usize {
    let mut is_escaped = false;
    for (at, byte) in rest.iter().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_become_spaces() {
        for (text, stripped) in [
            ("{\"a\": 1, // é\n}", "{\"a\": 1       \n}"),
            ("[1, /* ,\n */ 2,]", "[1,     \n    2 ]"),
            ("[1, /* x */ ]", "[1          ]"),
            (r#"{"u": "https://a/*b*/,]"}"#, r#"{"u": "https://a/*b*/,]"}"#),
            (r#"["\",]//", 1]"#, r#"["\",]//", 1]"#),
            ("[1] /* no end", "[1]          "),
            ("\"no end, ]", "\"no end, ]"),
            ("", ""),
        ] {
            assert_eq!(strip_json_comments(text), stripped, "{text}");
        }
    }
}
