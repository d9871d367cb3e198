//! The fingerprint of a call, which binds the approval to the call.
//!
//! Owns the hash over tool, canonical arguments, folder, environment, contents of the files that the call runs and, for
//! an approval, of the replaced files. Never reads a file: the tool reports the surroundings.
//! Pitfall: binding a grant to the files that the call itself changes; no second call would match.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::UnixMs;
use crate::text::escape_os_path;
use crate::text::hex_digits;

/// Everything beside the arguments that determines the effect of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Surroundings {
    /// The working directory.
    pub directory: Option<String>,
    /// The confinement and the reachable hosts, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<String>,
    /// The environment, by name.
    pub environment: BTreeMap<String, String>,
    /// Files that the call runs or reads, by path, with the SHA-256 of their content ([`ABSENT`] when missing).
    pub files: BTreeMap<String, String>,
    /// Files that the call only replaces or appends to, likewise. An approval is bound to the contents, a grant is not:
    /// the call itself changes these files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replaces: BTreeMap<String, String>,
    /// Why the call cannot be granted, as a sentence. Not part of the fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ungranted: Option<String>,
}

/// Environment key under which a proposed one-shot job states its instant.
pub const FIRES_ONCE_AT: &str = "fires once at";

/// Stands for the content of a missing file.
pub const ABSENT: &str = "absent";

impl Surroundings {
    /// Surroundings of a call that depends only on the working directory.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self { directory: Some(escape_os_path(folder)), ..Self::default() }
    }

    /// The instant of the proposed one-shot job, as shown to the person.
    #[must_use]
    pub fn fires_once_at(&self) -> Option<UnixMs> {
        self.environment.get(FIRES_ONCE_AT)?.parse().map(UnixMs).ok()
    }

    /// The existing files among the run or read files.
    pub fn existing_files(&self) -> impl Iterator<Item = &str> {
        existing(&self.files)
    }

    /// The existing files among the replaced files.
    pub fn existing_replaced_files(&self) -> impl Iterator<Item = &str> {
        existing(&self.replaces)
    }
}

fn existing(files: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    files.iter().filter(|(_, content)| *content != ABSENT).map(|(path, _)| path.as_str())
}

/// A SHA-256 in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The fingerprint of a call.
    #[must_use]
    pub fn of(tool: &str, arguments: &Value, surroundings: &Surroundings) -> Self {
        let mut hash = Sha256::new();
        // Each part is prefixed with the length, so parts cannot run together.
        let mut part = |text: &str| {
            hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(text);
        };
        part(tool);
        part(&canonical(arguments));
        part(surroundings.directory.as_deref().unwrap_or_default());
        part(surroundings.confinement.as_deref().unwrap_or_default());
        for (name, value) in surroundings.environment.iter().chain(&surroundings.files) {
            part(name);
            part(value);
        }
        part(&surroundings.environment.len().to_string());
        if !surroundings.replaces.is_empty() {
            part("replaces");
        }
        for (name, value) in &surroundings.replaces {
            part(name);
            part(value);
        }
        Self(hex_digits(&hash.finalize()))
    }

    /// The fingerprint of a grant, without the files that the call replaces.
    #[must_use]
    pub fn for_grant(tool: &str, arguments: &Value, surroundings: &Surroundings) -> Self {
        let kept = Surroundings { replaces: BTreeMap::new(), ..surroundings.clone() };
        Self::of(tool, arguments, &kept)
    }

    /// A fingerprint from storage.
    #[must_use]
    pub fn new(digits: impl Into<String>) -> Self {
        Self(digits.into())
    }

    /// The hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// JSON with sorted keys and no whitespace, so equal arguments are equal texts (after RFC 8785; numbers stay as written).
#[must_use]
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            let fields = sorted
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::String(key.clone()), canonical(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(tool: &str, arguments: &Value) -> Fingerprint {
        Fingerprint::of(tool, arguments, &Surroundings::default())
    }

    #[test]
    fn canonical_arguments_have_one_fingerprint() {
        let one: Value =
            serde_json::from_str(r#"{"b": [1, {"y": 2, "x": "é"}], "a": null}"#).expect("JSON");
        let other: Value =
            serde_json::from_str(r#"{"a":null,"b":[1,{"x":"\u00e9","y":2}]}"#).expect("JSON");
        assert_eq!(of("http", &one), of("http", &other));
        assert_eq!(canonical(&one), r#"{"a":null,"b":[1,{"x":"é","y":2}]}"#);
    }

    #[test]
    fn fingerprint_covers_every_determining_part() {
        let arguments = json!({"command": "sh a.sh"});
        let here = Surroundings {
            directory: Some("/w".to_owned()),
            confinement: Some("in the sandbox".to_owned()),
            environment: BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]),
            files: BTreeMap::from([("a.sh".to_owned(), "00".to_owned())]),
            replaces: BTreeMap::from([("log".to_owned(), "00".to_owned())]),
            ungranted: None,
        };
        let one = |change: fn(&mut Surroundings)| {
            let mut there = here.clone();
            change(&mut there);
            Fingerprint::of("run_command", &arguments, &there)
        };
        let all = [
            one(|_| ()),
            one(|s| s.directory = Some("/v".to_owned())),
            one(|s| s.directory = None),
            one(|s| s.confinement = Some("in the sandbox, with a way to a.example".to_owned())),
            one(|s| s.confinement = None),
            one(|s| drop(s.environment.insert("PATH".to_owned(), "/tmp".to_owned()))),
            one(|s| drop(s.environment.insert("B".to_owned(), "1".to_owned()))),
            one(|s| drop(s.files.insert("a.sh".to_owned(), "01".to_owned()))),
            one(|s| s.files.clear()),
            one(|s| drop(s.replaces.insert("log".to_owned(), "01".to_owned()))),
            one(|s| s.replaces.clear()),
            // A replaced file is not a file that is run.
            one(|s| s.files.extend(std::mem::take(&mut s.replaces))),
            // A variable is no file.
            one(|s| {
                s.files =
                    std::mem::take(&mut s.environment).into_iter().chain(s.files.clone()).collect()
            }),
            Fingerprint::of("run_command", &json!({"command": "sh a.sh "}), &here),
            Fingerprint::of("run_commandx", &arguments, &here),
        ];
        let different: std::collections::HashSet<&Fingerprint> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        let for_grant = |change: fn(&mut Surroundings)| {
            let mut there = here.clone();
            change(&mut there);
            Fingerprint::for_grant("run_command", &arguments, &there)
        };
        let kept = for_grant(|_| ());
        assert_eq!(for_grant(|s| drop(s.replaces.insert("log".to_owned(), "01".to_owned()))), kept);
        assert_ne!(for_grant(|s| drop(s.files.insert("a.sh".to_owned(), "01".to_owned()))), kept);
    }
}
