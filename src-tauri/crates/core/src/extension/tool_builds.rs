//! The port to built tools: drafts, checks, versions and their installation.
//!
//! A draft is a folder of Rouse. A check changes the draft, runs its tests and records the version; an offer names the
//! hash of a version that passed. Never decides about an offer: `accept` follows the approval of a person. Pitfall: a
//! draft that changes after its check; every step compares the hash again.

use std::collections::BTreeMap;
use std::future::ready;
use std::path::PathBuf;

use super::document::ToolAccess;
use super::name::ExtensionName;
use super::tool_build::ToolBuild;
use crate::RunId;
use crate::future::BoxFuture;

/// A change of a draft. Without files and without a folder, the draft is checked as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDraftChange {
    /// The name of the tool.
    pub name: ExtensionName,
    /// A folder whose files replace the draft.
    pub folder: Option<PathBuf>,
    /// The new content of files by path with `/`; none deletes the file.
    pub files: BTreeMap<String, Option<String>>,
}

/// A version that passed its check, and everything that its approval shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOffer {
    /// The offered version.
    pub build: ToolBuild,
    /// The accepted version, which the offered one replaces.
    pub accepted: Option<ToolBuild>,
    /// How calls are judged after the acceptance.
    pub access: ToolAccess,
}

/// The built tools. Every error is a sentence with cause and remedy.
pub trait ToolBuilds: Send + Sync {
    /// Changes a draft for a run, checks it and records the result. A new draft of an accepted tool begins with the
    /// accepted files.
    ///
    /// # Errors
    /// A file cannot be written, or the sandbox is not available.
    fn check_draft<'a>(
        &'a self,
        change: ToolDraftChange,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<ToolBuild, String>>;
    /// Checks a folder for a person and records the result.
    ///
    /// # Errors
    /// The folder or the name in its manifest cannot be read.
    fn check_folder<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<ToolBuild, String>>;
    /// The offer of a version.
    ///
    /// # Errors
    /// The version did not pass its check, or the draft has changed since.
    fn offer<'a>(
        &'a self,
        name: &'a ExtensionName,
        hash: &'a str,
    ) -> BoxFuture<'a, Result<ToolOffer, String>>;
    /// Installs the offered version and accepts its tool.
    ///
    /// # Errors
    /// As for `offer`, or the installation failed. An earlier version stays in use.
    fn accept<'a>(
        &'a self,
        name: &'a ExtensionName,
        hash: &'a str,
    ) -> BoxFuture<'a, Result<(), String>>;
    /// The versions of a name, or of all names; the version checked last first.
    ///
    /// # Errors
    /// The database cannot be read.
    fn list<'a>(
        &'a self,
        name: Option<&'a ExtensionName>,
    ) -> BoxFuture<'a, Result<Vec<ToolBuild>, String>>;
    /// The folder of the draft with this hash; none if the draft differs or cannot be read.
    fn draft_folder<'a>(
        &'a self,
        name: &'a ExtensionName,
        hash: &'a str,
    ) -> BoxFuture<'a, Option<PathBuf>>;
    /// Removes the draft and all versions of a name. The installed tool stays. False without any.
    ///
    /// # Errors
    /// The draft cannot be deleted.
    fn remove<'a>(&'a self, name: &'a ExtensionName) -> BoxFuture<'a, Result<bool, String>>;
}

/// No built tools, because this program has no sandbox for them.
pub struct NoToolBuilds;

impl NoToolBuilds {
    fn refusal<'a, T: Send + 'a>(&self) -> BoxFuture<'a, Result<T, String>> {
        let text = "This Rouse was built without the sandbox for tools in WebAssembly and JavaScript. Use a build with the feature `wasm`.";
        Box::pin(ready(Err(text.to_owned())))
    }
}

impl ToolBuilds for NoToolBuilds {
    fn check_draft<'a>(
        &'a self,
        _: ToolDraftChange,
        _: &'a RunId,
    ) -> BoxFuture<'a, Result<ToolBuild, String>> {
        self.refusal()
    }

    fn check_folder<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<ToolBuild, String>> {
        self.refusal()
    }

    fn offer<'a>(
        &'a self,
        _: &'a ExtensionName,
        _: &'a str,
    ) -> BoxFuture<'a, Result<ToolOffer, String>> {
        self.refusal()
    }

    fn accept<'a>(&'a self, _: &'a ExtensionName, _: &'a str) -> BoxFuture<'a, Result<(), String>> {
        self.refusal()
    }

    fn list<'a>(
        &'a self,
        _: Option<&'a ExtensionName>,
    ) -> BoxFuture<'a, Result<Vec<ToolBuild>, String>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn draft_folder<'a>(
        &'a self,
        _: &'a ExtensionName,
        _: &'a str,
    ) -> BoxFuture<'a, Option<PathBuf>> {
        Box::pin(ready(None))
    }

    fn remove<'a>(&'a self, _: &'a ExtensionName) -> BoxFuture<'a, Result<bool, String>> {
        self.refusal()
    }
}
