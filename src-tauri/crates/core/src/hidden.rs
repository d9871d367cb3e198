//! Arguments of a call as they are shown and journalled: without the values of its tool's sensitive parameters.
//!
//! Owns what is hidden and what stands in its place. A stored secret is named by a handle, which is no secret: it is shown,
//! and a person who is asked sees which one would be sent, and where to. A value that is written out is hidden, with its
//! length. What a yes is bound to and what is called stay the exact arguments, and so does what a model has said: a run
//! that waits for an answer makes its call from there. One could get it wrong by hiding only what looks like a key: a
//! password looks like any word.

use serde_json::Value;

/// How a handle begins and ends.
const HANDLE: (&str, &str) = ("{{secret:", "}}");

/// What stands beside a handle and is shown up to this length, such as `Bearer`.
const BESIDE: usize = 8;

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
    let (begin, end) = HANDLE;
    let (mut shown, mut rest, mut has_handle) = (String::new(), text.as_str(), false);
    while let Some((before, after)) = rest.split_once(begin) {
        let Some((name, later)) = after.split_once(end) else { break };
        shown += &beside(before);
        shown.extend([begin, name, end]);
        (rest, has_handle) = (later, true);
    }
    match has_handle {
        true => shown + &beside(rest),
        false => hidden(text),
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
