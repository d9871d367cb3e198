//! `{{secret:NAME}}` in a call: which secrets it names, and the values in their places.
//!
//! Owns where a handle may stand: in any text of the arguments, but not in a key. How one is spelled is
//! `rouse_core::hidden`'s, which shows what is replaced here. In a text that is an address the value is written with its
//! escapes, so that it stays the part of the address that it stands in.

use std::fmt::Write as _;

use rouse_core::hidden::handles;
use serde_json::Value;

/// Why a call with a handle is not made. No variant holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// There is no such secret.
    #[error(
        "There is no secret called {0}. A person can store it with `rouse secrets set {0} --host HOST`."
    )]
    Unknown(String),
    /// There is, and its value cannot be fetched.
    #[error("The secret {name} is not at hand, because {why}.")]
    NotAtHand {
        /// The secret.
        name: String,
        /// Why.
        why: String,
    },
    /// It is bound to other hosts.
    #[error(
        "The secret {name} may not be sent there. It is bound to: {}.",
        if bound.is_empty() { "no host" } else { bound }
    )]
    OtherHost {
        /// The secret.
        name: String,
        /// The hosts it is bound to.
        bound: String,
    },
    /// It would go there in the open.
    #[error(
        "The secret {name} goes to {bound} over https only, and this address is plain http, which others on the way can read. A person who wants that all the same stores it anew with `rouse secrets set {name}{hosts}`."
    )]
    InTheOpen {
        /// The secret.
        name: String,
        /// The host as it is bound.
        bound: String,
        /// What would bind it to the open address as well, after a blank.
        hosts: String,
    },
    /// The tool sends nothing to one known host.
    #[error("The secret {0} can only stand in a request to a host that it is bound to.")]
    NoDestination(String),
    /// With the value in it the address would lead elsewhere.
    #[error("The secret {0} must not stand in the host of an address.")]
    Elsewhere(String),
    /// It stands in a key.
    #[error("The secret {0} can stand in a value and not in the name of an argument.")]
    Key(String),
}

impl HandleError {
    /// The secret, as the call names it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown(name)
            | Self::NotAtHand { name, .. }
            | Self::OtherHost { name, .. }
            | Self::InTheOpen { name, .. }
            | Self::NoDestination(name)
            | Self::Elsewhere(name)
            | Self::Key(name) => name,
        }
    }
}

/// The names of all handles in `arguments`.
pub(super) fn names_in(arguments: &Value) -> Result<Vec<String>, HandleError> {
    let mut names = Vec::new();
    collect(arguments, &mut names)?;
    Ok(names)
}

fn collect(value: &Value, names: &mut Vec<String>) -> Result<(), HandleError> {
    match value {
        Value::String(text) => names.extend(names_of(text)),
        Value::Array(items) => items.iter().try_for_each(|item| collect(item, names))?,
        Value::Object(fields) => {
            for (key, field) in fields {
                if let Some(name) = names_of(key).next() {
                    return Err(HandleError::Key(name));
                }
                collect(field, names)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// The names of all handles in `text`.
pub(super) fn names_of(text: &str) -> impl Iterator<Item = String> {
    handles(text).map(|handle| handle.name.to_owned())
}

/// `value` with the handles in its texts replaced, for a request; one without a value stays.
pub(super) fn fill<'b>(value: &Value, secret: &impl Fn(&str) -> Option<&'b str>) -> Value {
    in_texts(value, &|text| fill_text(text, secret, is_address(text)))
}

/// The same where the values stand as they are, in an address too.
pub(super) fn fill_plainly<'b>(value: &Value, secret: &impl Fn(&str) -> Option<&'b str>) -> Value {
    in_texts(value, &|text| fill_text(text, secret, false))
}

fn in_texts(value: &Value, filled: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(filled(text)),
        Value::Array(items) => items.iter().map(|item| in_texts(item, filled)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| (key.clone(), in_texts(field, filled))).collect()
        }
        other => other.clone(),
    }
}

fn is_address(text: &str) -> bool {
    let lower = text.trim_start().get(..8).unwrap_or_default().to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

fn fill_text<'b>(
    text: &str,
    secret: &impl Fn(&str) -> Option<&'b str>,
    is_address: bool,
) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = 0;
    for handle in handles(text) {
        filled.push_str(&text[rest..handle.at.start]);
        match secret(handle.name) {
            Some(value) if is_address => escape(value, &mut filled),
            Some(value) => filled.push_str(value),
            None => filled.push_str(&text[handle.at.clone()]),
        }
        rest = handle.at.end;
    }
    filled.push_str(&text[rest..]);
    filled
}

/// Every byte that is not a letter, a digit or one of `-._~` as `%XX`.
fn escape(value: &str, into: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            write!(into, "%{byte:02X}").expect("BUG: writing into a string does not fail");
        }
    }
}
