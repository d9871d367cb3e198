//! Syntax errors in plain words.
//!
//! The parser's own errors list expected tokens, which help only authors of parsers. Pitfall: `<EOF>` in an error is the end
//! of the source only before "expecting".

/// The first error with the position. Errors without a text for people become a general error.
pub(super) fn describe(errors: &cel::ParseErrors) -> String {
    let Some(first) = errors.errors.first() else { return "not a CEL expression".to_owned() };
    if errors.errors.iter().any(|error| error.msg.contains("Recursion limit")) {
        return "nested too deep; remove some brackets".to_owned();
    }
    let message = first.msg.lines().next().unwrap_or_default();
    if message == "UNKNOWN" || message.contains("ParseError {") {
        return "not a CEL expression".to_owned();
    }
    let (line, column) = first.pos;
    let text = plain_text(message);
    match line {
        ..=1 => format!("at character {column}: {text}"),
        _ => format!("in line {line}, at character {column}: {text}"),
    }
}

fn plain_text(message: &str) -> String {
    let text = message.strip_prefix("Syntax error: ").unwrap_or(message);
    let (text, _) = text.split_once(" expecting ").unwrap_or((text, ""));
    if text.contains("<EOF>") {
        return "unexpected end of the expression".to_owned();
    }
    let quoted = |before: &str| text.strip_prefix(before)?.strip_suffix('\'');
    let unexpected = ["mismatched input '", "extraneous input '", "token recognition error at: '"];
    let alternative = "no viable alternative at input '";
    match unexpected.iter().chain([&alternative]).find_map(|before| quoted(before)) {
        Some(token) => format!("`{}` does not fit there", token.trim()),
        None => text.to_owned(),
    }
}
