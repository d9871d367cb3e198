//! Packages of MCP servers on consent pages and in `rouse extensions show`.
//!
//! Owns the words about the source, the installation and the files. Never shortens a text, and escapes every invisible
//! character. What a package says about itself is marked as a claim.

use rouse_core::extension::package::{
    ExtensionSource, FileChange, InstallStep, InstalledPackage, PackageChanges, PackagePlan,
    PackageSize,
};
use rouse_core::job::JobFact;
use rouse_core::text::{escape_line, format_bytes, quote_word};

use super::facts::fact;
use super::text::counted;

/// What a page says about an installation, without its commands.
pub(super) fn plan_facts(plan: &PackagePlan) -> Vec<JobFact> {
    let mut facts = vec![fact("Package", escape_line(&plan.source.label()))];
    if let Some(claims) = &plan.claims {
        facts.push(fact("Claims to be", escape_line(claims)));
    }
    if let Some(registry) = &plan.registry {
        facts.push(fact("Registry", escape_line(registry)));
    }
    if let Some(replaced) = &plan.replaces {
        facts.push(fact("Replaces", replaced_text(replaced)));
    }
    facts.extend(hash_fact(&plan.source));
    facts.extend(changes_fact(plan));
    facts.extend(setting_facts(&plan.source));
    facts.push(fact("Installs to", escape_line(&plan.folder)));
    let files = plan.size.map_or_else(|| "known after the download".to_owned(), size_text);
    facts.push(fact("Files", files));
    let notes: Vec<String> = plan.notes.iter().map(|note| escape_line(note)).collect();
    facts.push(fact("Note", notes.join("\n")));
    facts
}

/// The commands of an installation; none for files of this computer.
pub(super) fn step_facts(plan: &PackagePlan) -> Option<JobFact> {
    let steps: Vec<String> = plan.steps.iter().map(step_text).collect();
    (!steps.is_empty()).then(|| fact("Installs with", steps.join("\n")))
}

/// What is known about an installed package.
pub(super) fn installed_facts(package: &InstalledPackage) -> Vec<JobFact> {
    let mut facts = vec![fact("Package", escape_line(&package.source.label()))];
    facts.extend(hash_fact(&package.source));
    let size = PackageSize { files: package.files.files, bytes: package.files.bytes };
    facts.push(fact("Files", size_text(size)));
    if !package.components.is_empty() {
        let components: Vec<String> =
            package.components.iter().map(|component| escape_line(component)).collect();
        facts.push(fact("Contains", components.join("\n")));
    }
    facts
}

/// The packages inside that an update changed, before the page of the tools.
pub(crate) fn component_lines(changes: &[String]) -> Vec<String> {
    if changes.is_empty() {
        return vec!["The packages inside are the same as before.".to_owned(), String::new()];
    }
    let mut lines = vec!["Packages inside that the update changed:".to_owned()];
    lines.extend(changes.iter().map(|change| format!("  {}", escape_line(change))));
    lines.push(String::new());
    lines
}

/// The hash that names the content.
fn hash_fact(source: &ExtensionSource) -> Option<JobFact> {
    match source {
        ExtensionSource::Npm { integrity, .. } => {
            integrity.as_deref().map(|hash| fact("Integrity", escape_line(hash)))
        }
        ExtensionSource::Mcpb { sha256, .. }
        | ExtensionSource::Folder { sha256, .. }
        | ExtensionSource::Tool { sha256, .. } => {
            sha256.as_deref().map(|hash| fact("SHA-256", escape_line(hash)))
        }
        ExtensionSource::Pypi { requirements, .. } => requirements
            .as_deref()
            .map(|hash| fact("Requirements", format!("SHA-256 {}", escape_line(hash)))),
    }
}

/// The replaced source, with the hash of a bundle or folder.
fn replaced_text(replaced: &ExtensionSource) -> String {
    let label = escape_line(&replaced.label());
    match replaced {
        ExtensionSource::Mcpb { sha256: Some(hash), .. }
        | ExtensionSource::Folder { sha256: Some(hash), .. }
        | ExtensionSource::Tool { sha256: Some(hash), .. } => {
            format!("{label}\nSHA-256 {}", escape_line(hash))
        }
        _ => label,
    }
}

/// The changed files of an update from files of this computer.
fn changes_fact(plan: &PackagePlan) -> Option<JobFact> {
    let is_shown = plan.replaces.is_some() && plan.size.is_some();
    let text = plan.changes.as_ref().map_or_else(|| "not known".to_owned(), changes_text);
    is_shown.then(|| fact("File changes", text))
}

fn changes_text(PackageChanges { files, others }: &PackageChanges) -> String {
    if files.is_empty() {
        return "none".to_owned();
    }
    let line = |FileChange { path, change }: &FileChange| {
        format!("{} {}", change.update_label(), escape_line(path))
    };
    let mut lines: Vec<String> = files.iter().map(line).collect();
    if *others > 0 {
        lines.push(format!("and {others} more"));
    }
    lines.join("\n")
}

/// The settings that a bundle gets.
fn setting_facts(source: &ExtensionSource) -> Option<JobFact> {
    let ExtensionSource::Mcpb { config, .. } = source else { return None };
    let lines = config.iter().flat_map(|(key, values)| {
        values.iter().map(move |value| format!("{}={}", escape_line(key), escape_line(value)))
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| fact("Settings", lines.join("\n")))
}

/// The command line of a step with its variables.
fn step_text(step: &InstallStep) -> String {
    let InstallStep { program, arguments, environment } = step;
    let variables = environment.iter().map(|(name, value)| format!("{name}={}", quote_word(value)));
    let words = std::iter::once(program).chain(arguments).map(|word| quote_word(word));
    escape_line(&variables.chain(words).collect::<Vec<_>>().join(" "))
}

fn size_text(size: PackageSize) -> String {
    format!("{}, {}", counted(size.files as usize, "file"), format_bytes(size.bytes))
}

#[cfg(test)]
mod tests {
    use rouse_core::extension::package::FileManifest;
    use serde_json::{Value, json};

    use super::*;
    use crate::render::facts::fact_lines;

    #[test]
    fn page_names_source_commands_and_replaced_version() {
        let plan: PackagePlan = serde_json::from_value(json!({
            "source": { "kind": "npm", "package": "files", "version": "1.2.4" },
            "replaces": { "kind": "npm", "package": "files", "version": "1.2.3", "integrity": "sha512-x" },
            "registry": "https://registry.example.org/",
            "steps": [{ "program": "/usr/bin/npm", "arguments": ["install", "files@1.2.4", "two words"],
                "environment": { "HTTPS_PROXY": "http://proxy.example:3128" } }],
            "folder": "/data/extensions/.packages/cal",
            "notes": ["One.", "Two.\nHash of this page: 0"],
        }))
        .expect("a plan");
        let lines = [
            "Package      npm package files@1.2.4",
            "Registry     https://registry.example.org/",
            "Replaces     npm package files@1.2.3",
            "Installs to  /data/extensions/.packages/cal",
            "Files        known after the download",
            "Note         One.",
            "             Two.⟨U+000A⟩Hash of this page: 0",
        ];
        assert_eq!(fact_lines(&plan_facts(&plan)), lines);
        let steps = step_facts(&plan).expect("commands").text;
        let command =
            "HTTPS_PROXY=http://proxy.example:3128 /usr/bin/npm install files@1.2.4 'two words'";
        assert_eq!(steps, command);
    }

    #[test]
    fn bundle_shows_claims_settings_and_hash() {
        let plan: PackagePlan = serde_json::from_value(json!({
            "source": { "kind": "mcpb", "file": "/tmp/files.mcpb", "sha256": "0a",
                "config": { "key": ["{{secret:k}}"], "mode": ["a", "b"] } },
            "claims": "files 1.0.0 by Ada\u{202e}",
            "steps": [], "folder": "/data/x", "size": { "files": 12, "bytes": 1_500_000 }, "notes": [],
        }))
        .expect("a plan");
        let facts = fact_lines(&plan_facts(&plan));
        for line in [
            "Claims to be  files 1.0.0 by Ada⟨U+202E⟩",
            "SHA-256       0a",
            "Settings      key={{secret:k}}",
            "              mode=a",
            "Files         12 files, 1.5 MB",
        ] {
            assert!(facts.iter().any(|fact| fact == line), "{line}: {facts:#?}");
        }
    }

    #[test]
    fn pypi_page_has_the_hash_of_accepted_requirements() {
        let shown = |source: Value| {
            let plan = json!({ "source": source, "steps": [], "folder": "/data/x", "notes": [] });
            let plan: PackagePlan = serde_json::from_value(plan).expect("a plan");
            fact_lines(&plan_facts(&plan))
        };
        let mut source = json!({ "kind": "pypi", "package": "mcp-time", "version": "1.2" });
        let lines = shown(source.clone());
        assert!(!lines.iter().any(|line| line.contains("Requirements")), "{lines:#?}");
        source["requirements"] = json!("0a");
        let lines = shown(source);
        assert_eq!(lines[1], "Requirements  SHA-256 0a");
    }

    #[test]
    fn update_names_both_hashes_and_the_changed_files() {
        let folder = |hash: &str| json!({ "kind": "folder", "path": "/srv/dev", "sha256": hash });
        let files = json!([
            { "path": "a.js", "change": "changed" },
            { "path": "b\n.js", "change": "extra" },
            { "path": "c.js", "change": "missing" },
        ]);
        let shown = |changes: Value| {
            let mut plan = json!({
                "source": folder("0b"), "replaces": folder("0a"), "steps": [],
                "folder": "/srv/dev", "size": { "files": 3, "bytes": 0 }, "notes": [],
            });
            plan["changes"] = changes;
            let plan: PackagePlan = serde_json::from_value(plan).expect("a plan");
            fact_lines(&plan_facts(&plan))
        };
        let lines = shown(json!({ "files": files, "others": 4 }));
        let expected = [
            "Replaces      folder /srv/dev",
            "              SHA-256 0a",
            "SHA-256       0b",
            "File changes  changed a.js",
            "              added b⟨U+000A⟩.js",
            "              removed c.js",
            "              and 4 more",
        ];
        assert_eq!(lines[1..=expected.len()], expected);
        let has = |lines: &[String], text: &str| lines.iter().any(|line| line == text);
        assert!(has(&shown(json!({ "files": [], "others": 0 })), "File changes  none"));
        assert!(has(&shown(Value::Null), "File changes  not known"));
    }

    #[test]
    fn changed_components_are_listed_in_one_line_each() {
        let changes = ["removed a==1".to_owned(), "added a==2\nx".to_owned()];
        let lines = [
            "Packages inside that the update changed:",
            "  removed a==1",
            "  added a==2⟨U+000A⟩x",
            "",
        ];
        assert_eq!(component_lines(&changes), lines);
        assert!(component_lines(&[])[0].contains("the same"));
    }

    #[test]
    fn installed_package_lists_its_components() {
        let package = InstalledPackage {
            source: ExtensionSource::pypi("mcp-time==1.2", None).expect("a package"),
            draft: serde_json::from_value(json!({
                "transport": { "kind": "stdio", "command": "" },
            }))
            .expect("a definition"),
            files: FileManifest { sha256: "0".repeat(64), files: 3, bytes: 0 },
            components: vec!["mcp_time==1.2".to_owned(), "pytz==2025.2".to_owned()],
        };
        let lines = [
            "Package   PyPI package mcp-time==1.2",
            "Files     3 files, 0 bytes",
            "Contains  mcp_time==1.2",
            "          pytz==2025.2",
        ];
        assert_eq!(fact_lines(&installed_facts(&package)), lines);
    }
}
