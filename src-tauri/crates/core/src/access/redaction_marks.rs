//! Redaction marks, and secret handles (`{{secret:NAME}}`). Public as `rouse_core::redaction`.
//!
//! Owns the spelling of handles, the redaction marks, and the displayed and journalled form of a call's arguments. A
//! handle is no secret and stays visible, so the person sees the destination of each secret. Fingerprints, calls and
//! the model's own messages keep the exact arguments, because a resumed run makes the call from there.
//! Pitfall: redacting only texts that look like a key (a password looks like any word), or a second spelling of
//! handles.

use std::ops::Range;
use std::sync::LazyLock;

use regex_automata::meta::Regex;
use serde_json::Value;

static HANDLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{\{\s*secret:([^{}\s]*)\s*\}\}").expect("BUG: the expression is a constant")
});

/// Begins the mark in the place of a redacted secret. The kind and `]` follow.
pub const REDACTED: &str = "[redacted: ";

/// The first redaction mark that `new` holds more often than `old`; none when nothing was redacted.
#[must_use]
pub fn added_redaction<'t>(new: &'t str, old: &str) -> Option<&'t str> {
    let marks = new.match_indices(REDACTED).filter_map(|(at, _)| {
        let end = new[at..].find(']')?;
        Some(&new[at..=at + end])
    });
    marks.into_iter().find(|mark| new.matches(mark).count() > old.matches(mark).count())
}

/// The names of the stored secrets that were redacted from `text`.
pub fn redacted_secrets(text: &str) -> impl Iterator<Item = &str> {
    let marks = text.split(REDACTED).skip(1);
    marks.filter_map(|mark| mark.split_once(']')?.0.strip_prefix("secret:"))
}

/// Text beside a handle up to this length is shown, such as `Bearer`.
const BESIDE: usize = 8;

/// A handle of a stored secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretHandle<'t> {
    /// The name of the secret.
    pub name: &'t str,
    /// The range of the whole handle, in bytes.
    pub at: Range<usize>,
}

/// All handles in `text`. Whitespace may surround the name but not occur inside.
pub fn handles(text: &str) -> impl Iterator<Item = SecretHandle<'_>> {
    HANDLE.captures_iter(text).filter_map(move |captures| {
        let (whole, name) = captures.get_match().zip(captures.get_group(1))?;
        Some(SecretHandle { name: &text[name.range()], at: whole.range() })
    })
}

/// `arguments` with the values at `paths` redacted. A path names nested fields in any letter case:
/// `headers.authorization`.
#[must_use]
pub fn redact_arguments(arguments: &Value, paths: &[String]) -> Value {
    let mut shown = arguments.clone();
    for path in paths {
        hide(&mut shown, path);
    }
    shown
}

fn hide(value: &mut Value, path: &str) {
    let Value::Object(fields) = value else { return };
    let (name, inside) =
        path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    for (_, field) in fields.iter_mut().filter(|(key, _)| key.eq_ignore_ascii_case(name)) {
        match inside {
            Some(rest) => hide(field, rest),
            None => *field = Value::String(redacted_value(field)),
        }
    }
}

fn redacted_value(value: &Value) -> String {
    let Value::String(text) = value else { return hidden(&value.to_string()) };
    let (mut shown, mut rest) = (String::new(), 0);
    for handle in handles(text) {
        shown += &beside(&text[rest..handle.at.start]);
        shown += &text[handle.at.clone()];
        rest = handle.at.end;
    }
    match rest {
        0 => hidden(text),
        _ => shown + &beside(&text[rest..]),
    }
}

fn beside(text: &str) -> String {
    if text.chars().count() <= BESIDE { text.to_owned() } else { hidden(text) }
}

fn hidden(text: &str) -> String {
    format!("[hidden: {} characters]", text.chars().count())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn value_is_hidden_and_handle_is_shown() {
        let paths = ["headers.authorization".to_owned(), "pin".to_owned()];
        let hide = |arguments: Value| redact_arguments(&arguments, &paths);
        let of =
            |text: &str| json!({ "url": "u", "headers": { "AUTHORIZATION": text, "accept": "a" } });
        for (written, shown) in [
            ("Basic dXNlcjpwYXNz", "[hidden: 18 characters]"),
            ("x", "[hidden: 1 characters]"),
            ("Bearer {{secret:github}}", "Bearer {{secret:github}}"),
            ("{{secret:a}}:{{secret:b}}", "{{secret:a}}:{{secret:b}}"),
            ("hunter2-hunter2 {{secret:a}}", "[hidden: 16 characters]{{secret:a}}"),
            ("{{secret:a}}hunter2-hunter2", "{{secret:a}}[hidden: 15 characters]"),
            ("{{secret:hunter2", "[hidden: 16 characters]"),
            ("Bearer {{ secret:github\t}}", "Bearer {{ secret:github\t}}"),
            ("{{secret:my real password}}", "[hidden: 27 characters]"),
            ("{{secret:{hunter2}}}", "[hidden: 20 characters]"),
        ] {
            assert_eq!(hide(of(written)), of(shown));
        }
        assert_eq!(hide(json!({ "pin": 4711 })), json!({ "pin": "[hidden: 4 characters]" }));
        for same in
            [json!({ "headers": "x" }), json!([1]), json!(null), json!({ "authorization": "x" })]
        {
            assert_eq!(hide(same.clone()), same);
        }
    }
}
