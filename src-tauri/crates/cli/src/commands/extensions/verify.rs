//! `rouse extensions verify`: the files of packages, compared with the accepted files.

use rouse_core::extension::ExtensionName;
use rouse_core::text::escape_line;
use rouse_gateway::wire::{ExtensionsVerifyResult, VerifiedFiles};
use serde_json::json;

use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

pub(super) async fn run(
    name: Option<ExtensionName>,
    engine: &EngineConnection,
) -> Result<(), CliError> {
    let answer = engine.call("extensions.verify", json!({ "name": name })).await?;
    let found: ExtensionsVerifyResult = serde_json::from_value(answer.clone())?;
    engine.print_answer(answer, |_, found: ExtensionsVerifyResult| {
        for line in verified_lines(&found.extensions) {
            anstream::println!("{line}");
        }
    })?;
    if found.extensions.iter().all(is_accepted) {
        return Ok(());
    }
    Err(CliError::Other(anyhow::anyhow!(
        "Files differ from the accepted files, so their servers do not start. To install a package again: rouse extensions update NAME"
    )))
}

/// Whether all files are as the person accepted them.
pub(in crate::commands) fn is_accepted(files: &VerifiedFiles) -> bool {
    files.changes.is_empty() && files.problem.is_none()
}

fn verified_lines(extensions: &[VerifiedFiles]) -> Vec<String> {
    if extensions.is_empty() {
        return vec!["No packages to verify: their servers are commands or addresses.".to_owned()];
    }
    let mut lines = Vec::new();
    for extension in extensions {
        let VerifiedFiles { name, files, changes, problem } = extension;
        if let Some(problem) = problem {
            lines.push(format!("{name}: {}", escape_line(problem)));
        } else if changes.is_empty() {
            lines.push(format!("{name}: {files} files as accepted"));
        } else {
            lines.push(format!("{name}: {} of {files} files differ", changes.len()));
        }
        for change in changes {
            lines.push(format!("  {} ({})", escape_line(&change.path), change.change.label()));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use rouse_core::extension::package::{FileChange, FileChangeKind};

    use super::*;

    #[test]
    fn every_difference_has_a_line() {
        let files = |name: &str, changes: Vec<FileChange>, problem: Option<&str>| VerifiedFiles {
            name: name.parse().expect("a name"),
            files: 12,
            changes,
            problem: problem.map(str::to_owned),
        };
        let change = |path: &str, change| FileChange { path: path.to_owned(), change };
        let changes =
            vec![change("a\n.js", FileChangeKind::Changed), change("b.js", FileChangeKind::Extra)];
        let found = [
            files("cal", Vec::new(), None),
            files("docs", changes, None),
            files("mail", Vec::new(), Some("The list cannot be read.")),
        ];
        let expected = [
            "cal: 12 files as accepted",
            "docs: 2 of 12 files differ",
            "  a⟨U+000A⟩.js (changed)",
            "  b.js (not in the package)",
            "mail: The list cannot be read.",
        ];
        assert_eq!(verified_lines(&found), expected);
        assert!(is_accepted(&found[0]) && !is_accepted(&found[1]) && !is_accepted(&found[2]));
    }
}
