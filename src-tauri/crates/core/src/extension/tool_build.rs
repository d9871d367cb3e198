//! Built tools: the checked versions of tools that a person or an agent made.
//!
//! Owns the facts of a check and the state of a version. Never checks a tool and never reads a file. Pitfall: a version
//! is known by its hash; a name alone says nothing about the content.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{EnumString, IntoStaticStr, VariantNames};
use ts_rs::TS;

use super::definition::ToolFileAccess;
use super::name::ExtensionName;
use crate::{RunId, UnixMs};

/// A checked version of a built tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ToolBuild {
    /// The name of the extension.
    pub name: ExtensionName,
    /// The SHA-256 of the folder, in hexadecimal digits.
    pub hash: String,
    /// The language.
    pub language: ToolLanguage,
    /// The engine that ran the tests.
    pub engine: String,
    /// The version of the engine.
    pub engine_version: String,
    /// The result of each test, in the order of the manifest.
    pub tests: Vec<ToolTestResult>,
    /// The validation errors, as sentences.
    pub errors: Vec<String>,
    /// The files of the folder; empty in a list.
    pub files: Vec<ToolSourceFile>,
    /// The manifest `tool.toml` as JSON; null if it could not be parsed.
    pub manifest: Value,
    /// The run that made the version; none for a person's own check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Whether the version comes from a run that had read untrusted input.
    pub is_tainted: bool,
    /// When the version was checked last.
    #[serde(rename = "checkedAtMs")]
    pub checked_at: UnixMs,
    /// The state of the version.
    pub state: ToolBuildState,
}

impl ToolBuild {
    /// Whether there are no errors and at least one test, and every test passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.errors.is_empty()
            && !self.tests.is_empty()
            && self.tests.iter().all(|test| test.passed)
    }

    /// Whether a model may read the version: a person accepted it, or a run made it before it had read untrusted input.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        let is_own_work = self.run_id.is_some() && !self.is_tainted;
        self.state == ToolBuildState::Accepted || is_own_work
    }

    /// What a call can reach by the manifest, as sentences; none without a valid manifest.
    #[must_use]
    pub fn reach(&self) -> Option<String> {
        let permissions = ManifestPermissions::deserialize(self.manifest.get("permissions")?);
        let ManifestPermissions { hosts, secrets, files } = permissions.ok()?;
        Some(tool_reach(&hosts, &secrets, files))
    }
}

/// The permissions in a manifest.
#[derive(Deserialize)]
struct ManifestPermissions {
    hosts: Vec<String>,
    secrets: Vec<String>,
    files: ToolFileAccess,
}

/// What a call of a tool with these permissions can reach, as sentences.
#[must_use]
pub fn tool_reach(hosts: &[String], secrets: &[String], files: ToolFileAccess) -> String {
    let mut text = match hosts {
        [] => "It cannot reach the network.".to_owned(),
        hosts => format!("It may reach {} only.", hosts.join(", ")),
    };
    if !secrets.is_empty() {
        let names = secrets.join(", ");
        text.push_str(&format!(" Its requests may carry these secrets: {names}."));
    }
    if files != ToolFileAccess::None {
        text.push_str(&format!(" It {}.", files.label()));
    }
    text
}

/// The result of a test of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ToolTestResult {
    /// The name of the test.
    pub name: String,
    /// Whether the test passed.
    pub passed: bool,
    /// Why the test failed; none when it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The first lines of the tool's log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub log: Vec<String>,
}

/// A file of a built tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ToolSourceFile {
    /// The path in the folder, with `/`.
    pub path: String,
    /// The content; none for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The size.
    pub bytes: u64,
}

/// The language of a built tool.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    TS,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ToolLanguage {
    /// A script, `tool.js`.
    JavaScript,
    /// A component, `tool.wasm`.
    Rust,
}

impl ToolLanguage {
    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The file that a call runs.
    #[must_use]
    pub const fn file(self) -> &'static str {
        match self {
            Self::JavaScript => "tool.js",
            Self::Rust => "tool.wasm",
        }
    }
}

/// The state of a version of a built tool.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    TS,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ToolBuildState {
    /// The check found an error, or a test failed.
    Failed,
    /// The check passed.
    Passed,
    /// A person accepted the version; one per name.
    Accepted,
    /// Another version was accepted later.
    Replaced,
}

impl ToolBuildState {
    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The state after a further check with the result `checked`. An accepted version stays accepted. A replaced version
    /// can be offered again.
    #[must_use]
    pub const fn after_check(self, checked: Self) -> Self {
        match self {
            Self::Accepted => self,
            Self::Failed | Self::Passed | Self::Replaced => checked,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use strum::VariantNames as _;

    use super::*;

    fn build() -> ToolBuild {
        ToolBuild {
            name: "weather".parse().expect("a name"),
            hash: "ab12".to_owned(),
            language: ToolLanguage::JavaScript,
            engine: "wasmtime".to_owned(),
            engine_version: "48.0.8".to_owned(),
            tests: vec![test(true)],
            errors: Vec::new(),
            files: Vec::new(),
            manifest: json!({ "name": "weather" }),
            run_id: None,
            is_tainted: false,
            checked_at: UnixMs(5),
            state: ToolBuildState::Passed,
        }
    }

    fn test(passed: bool) -> ToolTestResult {
        ToolTestResult { name: "rain".to_owned(), passed, message: None, log: Vec::new() }
    }

    #[test]
    fn check_without_errors_and_failed_tests_passed() {
        assert!(build().passed());
        let failed = ToolBuild { tests: vec![test(true), test(false)], ..build() };
        let untested = ToolBuild { tests: Vec::new(), ..build() };
        let invalid = ToolBuild { errors: vec!["No export.".to_owned()], ..build() };
        for build in [failed, untested, invalid] {
            assert!(!build.passed(), "{build:?}");
        }
    }

    #[test]
    fn build_in_json_has_the_documented_names() {
        let file = ToolSourceFile { path: "tool.js".to_owned(), text: None, bytes: 7 };
        let build = ToolBuild { files: vec![file], ..build() };
        let document = json!({
            "name": "weather",
            "hash": "ab12",
            "language": "javascript",
            "engine": "wasmtime",
            "engineVersion": "48.0.8",
            "tests": [{ "name": "rain", "passed": true }],
            "errors": [],
            "files": [{ "path": "tool.js", "bytes": 7 }],
            "manifest": { "name": "weather" },
            "isTainted": false,
            "checkedAtMs": 5,
            "state": "passed",
        });
        assert_eq!(serde_json::to_value(&build).expect("JSON"), document);
        assert_eq!(serde_json::from_value::<ToolBuild>(document).expect("a build"), build);
    }

    #[test]
    fn names_in_sql_are_the_names_in_json() {
        for name in ToolLanguage::VARIANTS {
            let language: ToolLanguage = name.parse().expect("a language");
            assert_eq!(json!(language), json!(language.name()));
        }
        for name in ToolBuildState::VARIANTS {
            let state: ToolBuildState = name.parse().expect("a state");
            assert_eq!(json!(state), json!(state.name()));
        }
    }

    #[test]
    fn further_check_keeps_decisions() {
        use ToolBuildState::{Accepted, Failed, Passed, Replaced};
        for (before, checked, after) in [
            (Failed, Passed, Passed),
            (Passed, Failed, Failed),
            (Accepted, Passed, Accepted),
            (Accepted, Failed, Accepted),
            (Replaced, Passed, Passed),
            (Replaced, Failed, Failed),
        ] {
            assert_eq!(before.after_check(checked), after, "{before:?} {checked:?}");
        }
    }
}
