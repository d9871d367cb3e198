//! The rules of `.gitignore` and `.ignore` files.
//!
//! Owns the matching as in git, by a library that gets the text alone: files are opened through the workspace's handle. A rule only
//! hides an entry from listings and searches; it protects nothing. Never reads rule files above 64 kB or in another encoding, nor
//! git's other sources (`.git/info/exclude`, the user's).

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::path::RelativePath;
use super::root::Workspace;

const MAX_RULE_FILE_BYTES: u64 = 64 << 10;
/// The later file of a folder has precedence.
const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The rules of a folder and all parents, the nearest last.
#[derive(Clone, Default)]
pub(crate) struct IgnoreRules(Vec<Arc<FolderRules>>);

struct FolderRules {
    folder: RelativePath,
    matcher: Gitignore,
}

impl IgnoreRules {
    /// Reads the rules of the parents of `folder`.
    pub(crate) fn for_parents(workspace: &Workspace, folder: &RelativePath) -> Self {
        match folder.split() {
            Some((parent, _)) => {
                Self::for_parents(workspace, &parent).with_folder(workspace, &parent)
            }
            None => Self::default(),
        }
    }

    /// Adds the rules of a further folder.
    pub(crate) fn with_folder(&self, workspace: &Workspace, folder: &RelativePath) -> Self {
        let texts = RULE_FILES.map(|name| read_rules(workspace, &folder.child(name.as_ref())));
        let mut rules = self.clone();
        if texts.iter().all(Option::is_none) {
            return rules;
        }
        let mut builder = GitignoreBuilder::new("");
        for line in texts.iter().flatten().flat_map(|text| text.lines()) {
            // An invalid line is skipped, as in git.
            drop(builder.add_line(None, line));
        }
        if let Ok(matcher) = builder.build() {
            rules.0.push(Arc::new(FolderRules { folder: folder.clone(), matcher }));
        }
        rules
    }

    pub(crate) fn is_ignored(&self, entry: &RelativePath, is_folder: bool) -> bool {
        if entry.as_path().file_name() == Some(".git".as_ref()) {
            return true;
        }
        let verdict = |rules: &Arc<FolderRules>| {
            let below = entry.as_path().strip_prefix(rules.folder.as_path());
            let found = rules.matcher.matched(below.unwrap_or(Path::new("")), is_folder);
            (!found.is_none()).then(|| found.is_ignore())
        };
        self.0.iter().rev().find_map(verdict).unwrap_or(false)
    }
}

fn read_rules(workspace: &Workspace, path: &RelativePath) -> Option<String> {
    let (file, size) = workspace.open_file(path).ok()?;
    let mut text = String::new();
    let is_read = size <= MAX_RULE_FILE_BYTES
        && file.take(MAX_RULE_FILE_BYTES).read_to_string(&mut text).is_ok();
    is_read.then_some(text)
}
