//! Arguments of a call as they are shown and journalled: without the values of its tool's sensitive parameters.
//!
//! Owns how a stored secret is named (`{{secret:NAME}}`), what is hidden, and what stands in its place. A handle is no
//! secret: it is shown, and a person who is asked sees which one would be sent, and where to. A value that is written out
//! is hidden, with its length. What a yes is bound to and what is called stay the exact arguments, and so does what a
//! model has said: a run that waits for an answer makes its call from there. One could get it wrong by hiding only what
//! looks like a key: a password looks like any word. And by a second spelling of handles: what is shown as one would not
//! be replaced, or the other way round.

use std::ops::Range;
use std::sync::LazyLock;

use regex_automata::meta::Regex;
use serde_json::Value;

static HANDLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{\{\s*secret:([^{}\s]*)\s*\}\}").expect("BUG: the expression is a constant")
});

/// Begins the mark that stands in the place of a secret in what is told, shown and kept; what it is and `]` end it.
pub const REDACTED: &str = "[redacted: ";

/// The first mark for a secret that `new` holds more often than `old`; none when all of them are of that text itself.
#[must_use]
pub fn redaction_beyond<'t>(new: &'t str, old: &str) -> Option<&'t str> {
    let marks = new.match_indices(REDACTED).filter_map(|(at, _)| {
        let end = new[at..].find(']')?;
        Some(&new[at..=at + end])
    });
    marks.into_iter().find(|mark| new.matches(mark).count() > old.matches(mark).count())
}

/// What stands beside a handle and is shown up to this length, such as `Bearer`.
const BESIDE: usize = 8;

/// A stored secret, named in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handle<'t> {
    /// The name of the secret.
    pub name: &'t str,
    /// Where the whole handle stands, in bytes.
    pub at: Range<usize>,
}

/// All handles in `text`. There may be space around what stands between the braces, and none in a name.
pub fn handles(text: &str) -> impl Iterator<Item = Handle<'_>> {
    HANDLE.captures_iter(text).filter_map(move |captures| {
        let (whole, name) = captures.get_match().zip(captures.get_group(1))?;
        Some(Handle { name: &text[name.range()], at: whole.range() })
    })
}

/// `arguments` with the values at these paths hidden. A path names fields, one inside the other, in any case:
/// `headers.authorization`.
#[must_use]
pub fn without(arguments: &Value, paths: &[String]) -> Value {
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
            None => *field = Value::String(in_place_of(field)),
        }
    }
}

fn in_place_of(value: &Value) -> String {
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
    fn a_value_is_hidden_and_a_handle_is_shown() {
        let paths = ["headers.authorization".to_owned(), "pin".to_owned()];
        let hide = |arguments: Value| without(&arguments, &paths);
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
