//! The port to built tools: checks, versions and their installation.
//!
//! A check makes a version from the newest one and the changed files, runs its tests and records it. A version never
//! changes: its hash covers all files. An offer names a version that passed. Never decides about an offer: `accept`
//! follows the approval of a person. Pitfall: files that differ from the hash; every step compares them again.

use std::collections::BTreeMap;
use std::future::ready;
use std::path::PathBuf;

use super::document::ToolAccess;
use super::name::ExtensionName;
use super::tool_build::ToolBuild;
use crate::RunId;
use crate::future::BoxFuture;

/// A change of a tool. Without files, the newest version is checked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolVersionChange {
    /// The name of the tool.
    pub name: ExtensionName,
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
    /// Whether the installed tool is switched off. It stays off.
    pub is_off: bool,
}

/// The built tools. Every error is a sentence with cause and remedy.
pub trait ToolBuilds: Send + Sync {
    /// Makes a version for a run, checks it and records the result. The change applies to the newest version that the
    /// run may read, or to the installed files.
    ///
    /// # Errors
    /// A path is invalid, a file cannot be written, or the sandbox is not available.
    fn check_change<'a>(
        &'a self,
        change: ToolVersionChange,
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
    /// The version did not pass its check, or its files have changed since.
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
    /// The versions of a name, or the newest and the accepted version of each name. Without files; the version checked
    /// last first.
    ///
    /// # Errors
    /// The database cannot be read.
    fn list<'a>(
        &'a self,
        name: Option<&'a ExtensionName>,
    ) -> BoxFuture<'a, Result<Vec<ToolBuild>, String>>;
    /// A version with its files.
    ///
    /// # Errors
    /// The database cannot be read.
    fn find<'a>(
        &'a self,
        name: &'a ExtensionName,
        hash: &'a str,
    ) -> BoxFuture<'a, Result<Option<ToolBuild>, String>>;
    /// The hash of the installed tool of this name.
    fn installed_hash(&self, name: &ExtensionName) -> Option<String>;
    /// The folder of a version that a run made; none if it is gone.
    fn version_folder<'a>(
        &'a self,
        name: &'a ExtensionName,
        hash: &'a str,
    ) -> BoxFuture<'a, Option<PathBuf>>;
    /// Removes the versions of a name, except the installed one. False without any.
    ///
    /// # Errors
    /// The files cannot be deleted.
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
    fn check_change<'a>(
        &'a self,
        _: ToolVersionChange,
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

    fn find<'a>(
        &'a self,
        _: &'a ExtensionName,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Option<ToolBuild>, String>> {
        Box::pin(ready(Ok(None)))
    }

    fn installed_hash(&self, _: &ExtensionName) -> Option<String> {
        None
    }

    fn version_folder<'a>(
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
