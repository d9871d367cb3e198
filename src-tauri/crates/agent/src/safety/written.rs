//! What a person writes: messages, lines for the main session, reasons, and jobs.
//!
//! A person knows their secrets and may write one down in passing. What they say once goes on without its value, which its
//! name stands for from then on. What they keep, a job or a call, would do something else than it says if a piece of it
//! were taken out, so there the place is found and named, and the person writes the handle. Whoever shows what this
//! answers shows no value: a place is told up to the name that holds one, never with it.
//!
//! One could get it wrong by looking for the short values in everything: a job is full of words that stand for something
//! else (`main`, `every`), so these count only where a person writes freely.

use std::fmt;

use serde_json::Value;

use super::{Safety, leak};

/// The fields in which a person writes freely, and what is below them.
const FREE: [&str; 5] = ["arguments", "description", "message", "name", "text"];

/// Its words are often the first ones of the message, which is the place to mend.
const NAME: &str = "name";

/// The value of a stored secret in what a person keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The field that holds it, as a path.
    pub path: String,
    name: String,
    /// Whether a handle can stand for it.
    has_handle: bool,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, .. } = self;
        match self.has_handle {
            true => write!(
                f,
                "holds the value of the stored secret {name}; take it out. What a tool is given can say {{{{secret:{name}}}}} instead"
            ),
            false => {
                write!(f, "holds the value of {name}, which is never written down; take it out")
            }
        }
    }
}

impl Safety {
    /// What a person has said, as it may be kept and told: the names of stored secrets in the place of their values.
    #[must_use]
    pub fn words(&self, text: &str) -> String {
        self.text_without_stored(text).unwrap_or_else(|| text.to_owned())
    }

    /// Where `kept`, which stands at `path`, holds the value of a stored secret first.
    #[must_use]
    pub fn held_in(&self, path: &str, kept: &Value) -> Option<Held> {
        self.looked_through(path, kept, FREE.contains(&path))
    }

    fn looked_through(&self, path: &str, kept: &Value, is_free: bool) -> Option<Held> {
        match kept {
            Value::String(text) => self.held(path, text, is_free),
            // A time is a number too, and has the digits of a secret by chance.
            Value::Number(number) if is_free => self.held(path, &number.to_string(), is_free),
            Value::Array(items) => items.iter().enumerate().find_map(|(place, item)| {
                self.looked_through(&format!("{path}[{place}]"), item, is_free)
            }),
            Value::Object(fields) => {
                let (names, others): (Vec<_>, Vec<_>) =
                    fields.iter().partition(|(key, _)| key.as_str() == NAME);
                others.into_iter().chain(names).find_map(|(key, field)| {
                    self.held(path, key, is_free).or_else(|| {
                        let is_free = is_free || FREE.contains(&key.as_str());
                        self.looked_through(&below(path, key), field, is_free)
                    })
                })
            }
            Value::Number(_) | Value::Null | Value::Bool(_) => None,
        }
    }

    fn held(&self, path: &str, text: &str, is_free: bool) -> Option<Held> {
        let known = self.secrets.known();
        if !is_free && known.short_one(text).is_some() {
            return None;
        }
        let what = leak::find_stored(text, &known).into_iter().next()?.what;
        let name = what.strip_prefix("secret:").unwrap_or(&what).to_owned();
        let path = if path.is_empty() { "." } else { path };
        Some(Held { path: path.to_owned(), has_handle: self.secrets.has_handle(&name), name })
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::safety::testing::{VALUE, knowing, safety};

    fn path_in(safety: &Safety, kept: &Value) -> Option<String> {
        safety.held_in("", kept).map(|held| held.path)
    }

    #[test]
    fn the_field_of_the_message_is_named_before_the_name_made_of_it() {
        let job = json!({ "name": VALUE, "payload": { "message": format!("It is {VALUE}.") } });
        assert_eq!(path_in(&safety(), &job).as_deref(), Some("payload.message"));
        assert_eq!(
            path_in(&safety(), &json!({ "a": [0, { "b": VALUE }] })).as_deref(),
            Some("a[1].b")
        );
        assert_eq!(path_in(&safety(), &json!({ "name": "{{secret:mail}}" })), None);
    }

    #[test]
    fn a_name_that_holds_a_value_is_told_of_by_what_it_stands_in() {
        let kept = json!({ "payload": { "arguments": { VALUE: 1 } } });
        assert_eq!(path_in(&safety(), &kept).as_deref(), Some("payload.arguments"));
        assert_eq!(path_in(&safety(), &json!({ VALUE: 1 })).as_deref(), Some("."));
    }

    #[test]
    fn a_short_value_counts_where_a_person_writes_freely() {
        let main = knowing("main");
        assert_eq!(path_in(&main, &json!({ "sessionTarget": "main", "name": "Not main" })), None);
        assert_eq!(path_in(&main, &json!({ "name": "main" })).as_deref(), Some("name"));
        let pin = knowing("12345678");
        assert_eq!(path_in(&pin, &json!({ "createdAtMs": 12_345_678 })), None);
        let call = json!({ "arguments": { "pin": 12_345_678 } });
        assert_eq!(path_in(&pin, &call).as_deref(), Some("arguments.pin"));
        assert!(pin.held_in("arguments", &call["arguments"]).is_some());
    }

    #[test]
    fn what_is_said_of_it_is_how_to_mend_it_and_not_the_value() {
        let held = safety().held_in("name", &json!(VALUE)).expect("held").to_string();
        assert_eq!(held, "holds the value of mail, which is never written down; take it out");
        assert_eq!(safety().words(&format!("It is {VALUE}.")), "It is [redacted: secret:mail].");
    }
}
