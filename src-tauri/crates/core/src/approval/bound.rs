//! What a yes is bound to.
//!
//! Owns the fingerprint of a call: of its tool, its canonical arguments, the folder and environment it works in, the
//! content of the files it runs and, for a yes for once, of those it replaces. It refuses to read any of that: a tool
//! says what its call works with. One could get it wrong by binding a standing yes to what the call itself changes: it
//! would be good for no second call.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::UnixMs;
use crate::visible::visible_os_path;

/// What beside its arguments decides what a call does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Surroundings {
    /// The folder it works in.
    pub directory: Option<String>,
    /// How it is confined, and whom it can reach, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<String>,
    /// Its environment, by name.
    pub environment: BTreeMap<String, String>,
    /// The files it runs or reads, by path, with the SHA-256 of their content; `absent` for one that is not there.
    pub files: BTreeMap<String, String>,
    /// The files that it does no more with than to replace them or to add to them, in the same way. A yes for once is
    /// bound to what they hold. A standing yes is not: the call itself changes that, and would end the yes with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replaces: BTreeMap<String, String>,
    /// Whether values of stored secrets stand in the call where the arguments that are written down show their handles.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_values: bool,
    /// When these values, or those that the arguments in memory read like, were set, by the names of their secrets. A yes
    /// for once is to these; a standing one is to the secret, whatever its value is by then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values_set_at: BTreeMap<String, UnixMs>,
    /// Under what name the running process keeps the arguments, where those that are written down show marks in the place
    /// of what reads like stored secrets. It is another one after each start, so no yes outlives that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// Why no standing yes can be given to the call, as a sentence; none when one can. No part of the fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ungranted: Option<String>,
}

/// Under what name the instant of a job that fires once stands in the environment of the call that proposes it.
pub const FIRES_ONCE_AT: &str = "fires once at";

/// Stands for the content of a file that is not there.
pub const ABSENT: &str = "absent";

impl Surroundings {
    /// Those of a call for which nothing counts but the folder it works in.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self { directory: Some(visible_os_path(folder)), ..Self::default() }
    }

    /// Whether the arguments of a call that are written down say the same of it as those of another one.
    #[must_use]
    pub fn stand_for_the_same(&self, other: &Self) -> bool {
        self.holds_values == other.holds_values && self.held == other.held
    }

    /// When the job that is proposed fires, where that is once: the instant that the person is shown.
    #[must_use]
    pub fn fires_once_at(&self) -> Option<UnixMs> {
        self.environment.get(FIRES_ONCE_AT)?.parse().map(UnixMs).ok()
    }

    /// The files that it runs or reads and that are there, by path.
    pub fn files_there(&self) -> impl Iterator<Item = &str> {
        there(&self.files)
    }

    /// The files that it replaces or adds to and that are there, by path.
    pub fn replaced_there(&self) -> impl Iterator<Item = &str> {
        there(&self.replaces)
    }
}

fn there(files: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    files.iter().filter(|(_, content)| *content != ABSENT).map(|(path, _)| path.as_str())
}

/// The SHA-256, in hexadecimal digits, of everything that decides what a call does.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// That of a call of `tool`.
    #[must_use]
    pub fn of(tool: &str, arguments: &Value, surroundings: &Surroundings) -> Self {
        let mut hash = Sha256::new();
        // Each part with its length before it, so that no two calls can be run together into one text.
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
        if surroundings.holds_values {
            part("holds values");
        }
        for (name, at) in &surroundings.values_set_at {
            part(name);
            part(&at.0.to_string());
        }
        if let Some(held) = &surroundings.held {
            part("held");
            part(held);
        }
        Self(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// What a standing yes to that call is bound to: everything but what it only replaces, and when its secrets were set.
    #[must_use]
    pub fn standing(tool: &str, arguments: &Value, surroundings: &Surroundings) -> Self {
        let kept = Surroundings {
            replaces: BTreeMap::new(),
            values_set_at: BTreeMap::new(),
            ..surroundings.clone()
        };
        Self::of(tool, arguments, &kept)
    }

    /// A stored one.
    #[must_use]
    pub fn new(digits: impl Into<String>) -> Self {
        Self(digits.into())
    }

    /// Its digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// JSON with the keys of every object in order and no space, so that the same arguments are the same text (in the way
/// of RFC 8785; numbers stay as they were written).
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
    fn the_same_call_written_in_another_way_is_the_same_call() {
        let one: Value =
            serde_json::from_str(r#"{"b": [1, {"y": 2, "x": "é"}], "a": null}"#).expect("JSON");
        let other: Value =
            serde_json::from_str(r#"{"a":null,"b":[1,{"x":"\u00e9","y":2}]}"#).expect("JSON");
        assert_eq!(of("http", &one), of("http", &other));
        assert_eq!(canonical(&one), r#"{"a":null,"b":[1,{"x":"é","y":2}]}"#);
    }

    #[test]
    fn whatever_decides_what_a_call_does_is_in_its_fingerprint() {
        let arguments = json!({"command": "sh a.sh"});
        let here = Surroundings {
            directory: Some("/w".to_owned()),
            confinement: Some("in the sandbox".to_owned()),
            environment: BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]),
            files: BTreeMap::from([("a.sh".to_owned(), "00".to_owned())]),
            replaces: BTreeMap::from([("log".to_owned(), "00".to_owned())]),
            holds_values: false,
            values_set_at: BTreeMap::from([("mail".to_owned(), UnixMs(5))]),
            held: None,
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
            // A handle that is written as it stands is another call than its value.
            one(|s| s.holds_values = true),
            // Set anew it is another value.
            one(|s| s.values_set_at.values_mut().for_each(|at| *at = UnixMs(6))),
            // Marks look alike, whatever they stand for.
            one(|s| s.held = Some("a".to_owned())),
            one(|s| s.held = Some("b".to_owned())),
            // What is replaced is not run.
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
        let standing = |change: fn(&mut Surroundings)| {
            let mut there = here.clone();
            change(&mut there);
            Fingerprint::standing("run_command", &arguments, &there)
        };
        let kept = standing(|_| ());
        assert_eq!(standing(|s| drop(s.replaces.insert("log".to_owned(), "01".to_owned()))), kept);
        assert_eq!(standing(|s| s.values_set_at.clear()), kept);
        assert_ne!(standing(|s| drop(s.files.insert("a.sh".to_owned(), "01".to_owned()))), kept);
    }
}
