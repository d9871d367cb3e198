//! The folder in which a coding agent works.
//!
//! Owns the check that the folder lies in the workspace of the run or in a folder that its job may write to. Pitfall: a
//! link on the way could lead elsewhere, so the real path must lie in the same folder.

use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::extension::TaskFolders;
use rouse_core::job::FolderAccess;
use rouse_core::tool::ToolContext;

use super::LineProcesses;
use crate::workspace::{RunFolders, expand_granted_path};

impl TaskFolders for LineProcesses {
    fn find(&self, path: &str, context: &ToolContext) -> Result<PathBuf, String> {
        let hidden: Arc<[PathBuf]> = self.config.hidden.as_slice().into();
        let folders = RunFolders::new(context, &hidden);
        folders.real_folder(path, FolderAccess::Write).map_err(|reason| {
            format!("The folder {path} cannot be used: {reason}. Use a folder in the workspace, or give the job write access: `--folder PATH:write`.")
        })
    }

    fn expand_home(&self, path: &str) -> PathBuf {
        expand_granted_path(path)
    }
}
