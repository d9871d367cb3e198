//! Secrets of a call: filled into requests, and redacted from everything that comes back.
//!
//! Owns the values that were filled, and every spelling of them that a server may send back. Never gives a value to
//! the guest. Pitfall: a value in an answer that is encoded for a URL, for JSON or in Base64.

use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use rouse_core::extension::ExtensionName;
use rouse_core::redaction::handles;
use rouse_core::text::percent_encode;

/// Shorter values would be found in any text, and their places would give them away.
const MIN_SECRET_BYTES: usize = 4;

/// The port to the values of secrets for all tools.
pub trait ToolSecrets: Send + Sync {
    /// `text` with its secret handles filled, for a request of the tool `extension` to `host`, as in [`SecretFill`].
    /// May block.
    ///
    /// # Errors
    /// A secret is missing, not bound to this host or extension, or cannot be read: cause and remedy as sentences.
    fn fill(&self, extension: &ExtensionName, text: &str, host: &str) -> Result<String, String>;
}

/// The port to the values of secrets in a call.
pub trait SecretFill: Send + Sync {
    /// `text` with its secret handles filled, for requests to `host`: `api.example.com`, `api.example.com:8443`, or
    /// `http://127.0.0.1:8080` for plain HTTP. May block.
    ///
    /// # Errors
    /// A secret is missing, not bound to this host, or cannot be read: cause and remedy as sentences.
    fn fill(&self, text: &str, host: &str) -> Result<String, String>;
}

impl<F: Fn(&str, &str) -> Result<String, String> + Send + Sync> SecretFill for F {
    fn fill(&self, text: &str, host: &str) -> Result<String, String> {
        self(text, host)
    }
}

/// The values that were filled in this call, with their handles.
#[derive(Default)]
pub(crate) struct FilledSecrets {
    needles: Vec<String>,
    handles: Vec<String>,
    search: Option<AhoCorasick>,
}

/// Without values.
impl fmt::Debug for FilledSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilledSecrets").field("handles", &self.handles).finish_non_exhaustive()
    }
}

impl FilledSecrets {
    /// Adds the value of the secret `name`.
    pub(crate) fn add(&mut self, name: &str, value: &str) -> Result<(), String> {
        if value.len() < MIN_SECRET_BYTES {
            return Err(format!(
                "The secret {name} has fewer than {MIN_SECRET_BYTES} characters, which nothing can redact. Store a longer one."
            ));
        }
        let handle = format!("{{{{secret:{name}}}}}");
        let encoded = percent_encode(value);
        let json = serde_json::to_string(value).expect("BUG: a text is JSON");
        let spellings = [
            value.to_owned(),
            lowercase_escapes(&encoded),
            encoded,
            json[1..json.len() - 1].to_owned(),
            STANDARD.encode(value),
            STANDARD_NO_PAD.encode(value),
            URL_SAFE.encode(value),
            URL_SAFE_NO_PAD.encode(value),
        ];
        for spelling in spellings {
            if !self.needles.contains(&spelling) {
                self.needles.push(spelling);
                self.handles.push(handle.clone());
            }
        }
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&self.needles)
            .map_err(|error| error.to_string())?;
        self.search = Some(search);
        Ok(())
    }

    /// `text` with every value replaced by its handle.
    pub(crate) fn redact(&self, text: &str) -> String {
        match &self.search {
            Some(search) => search.replace_all(text, &self.handles),
            None => text.to_owned(),
        }
    }

    /// `bytes` with every value replaced by its handle.
    pub(crate) fn redact_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        match &self.search {
            Some(search) => search.replace_all_bytes(&bytes, &self.handles),
            None => bytes,
        }
    }
}

fn lowercase_escapes(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        text.extend(["%", &digits.to_ascii_lowercase(), rest]);
    }
    text
}

/// The names of the handles in `texts`, each once.
pub(crate) fn secret_names<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut names: Vec<String> =
        texts.flat_map(handles).map(|handle| handle.name.to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// `text` with each handle replaced by `value_of(name)`.
pub(crate) fn replace_handles(text: &str, value_of: impl Fn(&str) -> String) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut from = 0;
    for handle in handles(text) {
        filled.push_str(&text[from..handle.at.start]);
        filled.push_str(&value_of(handle.name));
        from = handle.at.end;
    }
    filled.push_str(&text[from..]);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_value_is_redacted() {
        let mut secrets = FilledSecrets::default();
        secrets.add("key", "p/ä\"w+rd").expect("a value");
        let json = serde_json::to_string("p/ä\"w+rd").expect("JSON");
        let base64 = STANDARD.encode("p/ä\"w+rd");
        for text in ["p/ä\"w+rd", "p%2F%C3%A4%22w%2Brd", "p%2f%c3%a4%22w%2brd", &json[1..], &base64]
        {
            let redacted = secrets.redact(&format!("<{text}>"));
            assert!(redacted.contains("{{secret:key}}"), "{text}: {redacted}");
            assert!(!redacted.contains("w+rd") && !redacted.contains("rd>"), "{redacted}");
        }
        assert!(!format!("{secrets:?}").contains("w+rd"));
    }

    #[test]
    fn short_value_is_refused() {
        assert!(FilledSecrets::default().add("key", "abc").is_err());
    }
}
