//! Consent pages: what a person reads before an extension is installed, updated, or gets tools.
//!
//! Owns the content of a page and its hash. A consent names the hash of exactly the page that was read: any change of
//! the content gives another hash. Never shortens a text. Pitfall: a page that leaves out a field of the definition.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use ts_rs::TS;

use super::agent_preset::AgentPreset;
use super::definition::ServerDefinition;
use super::name::ExtensionName;
use super::package::{ExtensionSource, PackagePlan};
use super::pin::HeldTool;
use crate::approval::canonical;
use crate::text::hex_digits;

/// The fewest digits of a hash that name a page.
const MIN_HASH_DIGITS: usize = 12;

/// A page to read before a consent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ConsentPage {
    /// The extension.
    pub extension: ExtensionName,
    /// The definition.
    pub server: ServerDefinition,
    /// The accepted definition that the page replaces; none for an installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<ServerDefinition>,
    /// The installation of the package; none for a command or an address of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<PackagePlan>,
    /// What the person should know before a consent, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub notes: Vec<String>,
    /// The tools that wait for a person; empty before the first start.
    pub tools: Vec<HeldTool>,
    /// The SHA-256 of the canonical page, in hexadecimal digits.
    pub hash: String,
}

impl ConsentPage {
    /// The page with this content.
    #[must_use]
    pub fn new(
        extension: ExtensionName,
        server: ServerDefinition,
        replaces: Option<ServerDefinition>,
        tools: Vec<HeldTool>,
    ) -> Self {
        let (hash, notes) = (String::new(), Vec::new());
        Self { extension, server, replaces, package: None, notes, tools, hash }.with_notes()
    }

    /// The page with the installation of a package.
    #[must_use]
    pub fn with_package(self, package: PackagePlan) -> Self {
        Self { package: Some(package), ..self }.with_notes()
    }

    /// With the notes that follow from the content.
    fn with_notes(mut self) -> Self {
        let source = self.package.as_ref().map(|package| &package.source);
        self.notes = notes_about(&self.extension, &self.server, source);
        self.with_hash()
    }

    fn with_hash(mut self) -> Self {
        self.hash = String::new();
        let value = serde_json::to_value(&self).expect("BUG: a page is JSON");
        let digest = Sha256::digest(canonical(&value).as_bytes());
        self.hash = hex_digits(&digest);
        self
    }

    /// Whether `hash` names this page: its first digits, at least 12.
    #[must_use]
    pub fn is_named_by(&self, hash: &str) -> bool {
        hash.len() >= MIN_HASH_DIGITS && self.hash.starts_with(hash)
    }
}

/// What a person should know about a coding agent.
fn notes_about(
    extension: &ExtensionName,
    server: &ServerDefinition,
    source: Option<&ExtensionSource>,
) -> Vec<String> {
    if !server.is_coding_agent() {
        return Vec::new();
    }
    let limit = server.unasked_limit();
    let mut notes = vec![format!("Its permission requests become approvals of Rouse. {limit}")];
    if let Some(preset) = AgentPreset::of(extension.as_str(), server, source) {
        notes.push(preset.unasked.to_owned());
        if let Some(mode) = server.mode.as_deref().filter(|mode| preset.mode != Some(mode)) {
            notes.push(format!("You chose the mode `{mode}`: it may ask before fewer actions."));
        }
        notes.extend(preset.sign_in_problem(server));
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::extension::ServerTransport;
    use crate::extension::package::ExtensionSource;

    fn page(argument: &str) -> ConsentPage {
        let transport = ServerTransport::Stdio {
            command: "/usr/bin/node".to_owned(),
            arguments: vec![argument.to_owned()],
            environment: BTreeMap::new(),
            folder: None,
            folders: Vec::new(),
            hosts: Vec::new(),
            is_unconfined: false,
        };
        let server = ServerDefinition::new(transport);
        ConsentPage::new("cal".parse().expect("a name"), server, None, Vec::new())
    }

    #[test]
    fn another_argument_gives_another_hash() {
        let page_of_a = page("a.js");
        assert_eq!(page_of_a, page("a.js"));
        assert!(!page("b.js").is_named_by(&page_of_a.hash));
    }

    #[test]
    fn another_package_gives_another_hash() {
        let with_version = |version: &str| {
            let source = ExtensionSource::npm(&format!("files@{version}"), None);
            let plan = PackagePlan {
                source: source.expect("a package"),
                replaces: None,
                changes: None,
                registry: None,
                claims: None,
                steps: Vec::new(),
                folder: "/data/files".to_owned(),
                size: None,
                notes: Vec::new(),
            };
            page("a.js").with_package(plan).hash
        };
        assert_eq!(with_version("1.2.3"), with_version("1.2.3"));
        assert_ne!(with_version("1.2.3"), with_version("1.2.4"));
        assert_ne!(with_version("1.2.3"), page("a.js").hash);
    }

    #[test]
    fn page_is_named_by_twelve_digits_or_more() {
        let page = page("a.js");
        assert!(page.is_named_by(&page.hash) && page.is_named_by(&page.hash[..12]));
        for wrong in ["", &page.hash[..11], "000000000000"] {
            assert!(!page.is_named_by(wrong), "{wrong}");
        }
    }
}
