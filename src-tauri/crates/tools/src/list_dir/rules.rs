//! What `.gitignore` says of the entries of a folder.
//!
//! The rules are read as git reads them, by a library that is only given their text: files are opened through the
//! workspace's handle like any other, and nothing here walks by a path. A rule only hides an entry from a listing; it is
//! no protection, because `read_file` opens what is asked for. It refuses rule files that are no text or longer than
//! 64 kB, and git's rules elsewhere (`.git/info/exclude`, those of the user).

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::workspace::{RelativePath, Workspace};

const MOST_BYTES: u64 = 64 << 10;
/// Of two files in one folder the later one decides.
const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The rules of a folder and of those above it, the nearest last.
#[derive(Clone, Default)]
pub(crate) struct Rules(Vec<Arc<FolderRules>>);

struct FolderRules {
    folder: RelativePath,
    matcher: Gitignore,
}

impl Rules {
    /// Those of the folders that `folder` lies in, itself left out.
    pub(crate) fn above(workspace: &Workspace, folder: &RelativePath) -> Self {
        match folder.split() {
            Some((above, _)) => Self::above(workspace, &above).with_those_of(workspace, &above),
            None => Self::default(),
        }
    }

    /// The same with those of one more folder.
    pub(crate) fn with_those_of(&self, workspace: &Workspace, folder: &RelativePath) -> Self {
        let texts = FILES.map(|name| text(workspace, &folder.child(name.as_ref())));
        let mut rules = self.clone();
        if texts.iter().all(Option::is_none) {
            return rules;
        }
        let mut builder = GitignoreBuilder::new("");
        for line in texts.iter().flatten().flat_map(|text| text.lines()) {
            // A line that is no rule is passed over, as git does.
            drop(builder.add_line(None, line));
        }
        if let Ok(matcher) = builder.build() {
            rules.0.push(Arc::new(FolderRules { folder: folder.clone(), matcher }));
        }
        rules
    }

    /// Whether they name this entry.
    pub(crate) fn ignore(&self, entry: &RelativePath, is_folder: bool) -> bool {
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

fn text(workspace: &Workspace, path: &RelativePath) -> Option<String> {
    let (file, size) = workspace.open_file(path).ok()?;
    let mut text = String::new();
    let is_read = size <= MOST_BYTES && file.take(MOST_BYTES).read_to_string(&mut text).is_ok();
    is_read.then_some(text)
}
