//! What the parser complains of, in words of ours.
//!
//! Its own list the tokens that it would have taken, for whoever writes parsers. One could get it wrong by looking for the
//! end of the input anywhere in a complaint: "expecting `<EOF>`" is about something that stands behind the end.

/// The first complaint, with its place. Where the parser answers with a value of its own, these are our words for it.
pub(super) fn complaint(errors: &cel::ParseErrors) -> String {
    let Some(first) = errors.errors.first() else { return "it is not CEL".to_owned() };
    if errors.errors.iter().any(|error| error.msg.contains("Recursion limit")) {
        return "too many parts of it stand inside each other; take some brackets away".to_owned();
    }
    let message = first.msg.lines().next().unwrap_or_default();
    if message == "UNKNOWN" || message.contains("ParseError {") {
        return "it is not CEL".to_owned();
    }
    let (line, column) = first.pos;
    let said = in_words(message);
    match line {
        ..=1 => format!("at character {column}: {said}"),
        _ => format!("in line {line}, at character {column}: {said}"),
    }
}

fn in_words(message: &str) -> String {
    let said = message.strip_prefix("Syntax error: ").unwrap_or(message);
    let (said, _) = said.split_once(" expecting ").unwrap_or((said, ""));
    if said.contains("<EOF>") {
        return "it ends here, and something is missing".to_owned();
    }
    let quoted = |before: &str| said.strip_prefix(before)?.strip_suffix('\'');
    let unfit = ["mismatched input '", "extraneous input '", "token recognition error at: '"];
    let alternative = "no viable alternative at input '";
    match unfit.iter().chain([&alternative]).find_map(|before| quoted(before)) {
        Some(text) => format!("`{}` does not fit there", text.trim()),
        None => said.to_owned(),
    }
}
