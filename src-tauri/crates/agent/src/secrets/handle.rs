//! `{{secret:NAME}}` in the arguments of a call.
//!
//! Owns where a handle may stand: in any text, but in no key. `rouse_core::redaction` defines the syntax. In a URL the value is
//! percent-encoded, and stays in its part of the URL.

use rouse_core::redaction::handles;
use rouse_core::text::percent_encode;
use serde_json::Value;

/// Why a handle cannot be filled. No variant holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// No secret has this name.
    #[error(
        "There is no secret called {0}. A person can store it with `rouse secrets set {0} --host HOST`."
    )]
    Unknown(String),
    /// The secret is stored, but the value cannot be read.
    #[error("The secret {name} is not at hand, because {why}.")]
    Unavailable {
        /// The secret.
        name: String,
        /// The reason.
        why: String,
    },
    /// The secret is bound to other hosts.
    #[error(
        "The secret {name} may not be sent there. It is bound to: {}.",
        if bound.is_empty() { "no host" } else { bound }
    )]
    OtherHost {
        /// The secret.
        name: String,
        /// The bound hosts.
        bound: String,
    },
    /// The secret is bound to this host over https only.
    #[error(
        "The secret {name} goes to {bound} over https only, but this address is plain http, which others on the way can read. To allow that, a person stores the secret again with `rouse secrets set {name}{hosts}`."
    )]
    Unencrypted {
        /// The secret.
        name: String,
        /// The bound host.
        bound: String,
        /// The `--host` options that would allow plain http, with a leading space.
        hosts: String,
    },
    /// The call has no single known host.
    #[error("The secret {0} can only stand in a request to a host that it is bound to.")]
    NoDestination(String),
    /// The handle stands in the host of a URL.
    #[error("The secret {0} must not stand in the host of an address.")]
    InHost(String),
    /// The handle stands in a key.
    #[error("The secret {0} can stand in a value and not in the name of an argument.")]
    Key(String),
}

impl HandleError {
    /// The name of the secret in the call.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown(name)
            | Self::Unavailable { name, .. }
            | Self::OtherHost { name, .. }
            | Self::Unencrypted { name, .. }
            | Self::NoDestination(name)
            | Self::InHost(name)
            | Self::Key(name) => name,
        }
    }
}

/// The names of all handles in `arguments`.
pub(super) fn names_in(arguments: &Value) -> Result<Vec<String>, HandleError> {
    let mut names = Vec::new();
    collect_names(arguments, &mut names)?;
    Ok(names)
}

fn collect_names(value: &Value, names: &mut Vec<String>) -> Result<(), HandleError> {
    match value {
        Value::String(text) => names.extend(names_of(text)),
        Value::Array(items) => items.iter().try_for_each(|item| collect_names(item, names))?,
        Value::Object(fields) => {
            for (key, field) in fields {
                if let Some(name) = names_of(key).next() {
                    return Err(HandleError::Key(name));
                }
                collect_names(field, names)?;
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

/// `value` with the handles replaced. A handle without a value stays.
pub(super) fn fill<'b>(value: &Value, secret: &impl Fn(&str) -> Option<&'b str>) -> Value {
    match value {
        Value::String(text) => Value::String(fill_text(text, secret)),
        Value::Array(items) => items.iter().map(|item| fill(item, secret)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| (key.clone(), fill(field, secret))).collect()
        }
        other => other.clone(),
    }
}

fn is_url(text: &str) -> bool {
    let lower = text.trim_start().get(..8).unwrap_or_default().to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

/// `text` with the handles replaced. A handle without a value stays.
pub(super) fn fill_text<'b>(text: &str, secret: &impl Fn(&str) -> Option<&'b str>) -> String {
    let is_url = is_url(text);
    let mut filled = String::with_capacity(text.len());
    let mut rest = 0;
    for handle in handles(text) {
        filled.push_str(&text[rest..handle.at.start]);
        match secret(handle.name) {
            Some(value) if is_url => filled.push_str(&percent_encode(value)),
            Some(value) => filled.push_str(value),
            None => filled.push_str(&text[handle.at.clone()]),
        }
        rest = handle.at.end;
    }
    filled.push_str(&text[rest..]);
    filled
}
