//! Built tools: the versions that runs make, and the installation of an approved offer.
//!
//! Owns the order of an acceptance: check, files, record, pin of the tool. An offer is installed like the folder of a
//! person, by the same code. Never decides about an offer: the gate does. Pitfall: installing other files than the
//! approval showed; a version never changes, and the installation compares the hash.

mod rust_build;
mod version_folders;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use rouse_agent::ToolRegistry;
use rouse_core::extension::package::ExtensionSource;
use rouse_core::extension::{
    ExtensionBook as _, ExtensionName, PinnedTool, ServerDefinition, ServerProcesses,
    ServerTransport, ToolAccess, ToolBuild, ToolBuildState, ToolBuilds, ToolFileAccess,
    ToolLanguage, ToolOffer, ToolVersionChange,
};
use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, RunId};
use rouse_gateway::{Extensions as _, RpcError};
use rouse_store::{Store, StoreError};
use rouse_wasm::{ToolFolder, manifest_tool, read_manifest};
use tokio::sync::Mutex;

use self::rust_build::{RustBuilder, has_sources};
use self::version_folders::{VersionFolders, check_changes, delete_folder};
use super::gateway_extensions::GatewayExtensions;
use super::installed::InstalledExtensions;
use super::wasm_tools::{VersionOrigin, WasmTools};
use crate::options::HostOptions;

/// The maximum bytes of the texts that an approval shows.
const MAX_SHOWN_BYTES: usize = 200 << 10;

/// The built tools.
pub(crate) struct BuiltTools {
    wasm: WasmTools,
    installed: Arc<InstalledExtensions>,
    gateway: Arc<GatewayExtensions>,
    folders: VersionFolders,
    rust: RustBuilder,
    store: Store,
    clock: Arc<dyn Clock>,
    /// The tools of runs, of which some read untrusted input.
    registry: OnceLock<Weak<ToolRegistry>>,
    /// Held while the files of versions change.
    writing: Mutex<()>,
}

impl BuiltTools {
    /// The built tools.
    pub(crate) fn new(
        wasm: WasmTools,
        installed: Arc<InstalledExtensions>,
        gateway: Arc<GatewayExtensions>,
        processes: Arc<dyn ServerProcesses>,
        options: &HostOptions,
        store: Store,
    ) -> Self {
        let (home, env) = (&options.home, Arc::clone(&options.env));
        let rust = RustBuilder::new(processes, env, &home.extension_folders());
        let (folders, registry) = (VersionFolders::new(home.tool_versions()), OnceLock::new());
        let clock = Arc::clone(&options.clock);
        let writing = Mutex::default();
        Self { wasm, installed, gateway, folders, rust, store, clock, registry, writing }
    }

    /// Sets the tools of runs.
    pub(crate) fn set_registry(&self, registry: &Arc<ToolRegistry>) {
        let is_first = self.registry.set(Arc::downgrade(registry)).is_ok();
        debug_assert!(is_first, "BUG: the built tools have two registries");
    }

    /// Whether the run or its session has read untrusted input. An error counts as tainted.
    async fn is_tainted(&self, run: &RunId) -> bool {
        let Some(registry) = self.registry.get().and_then(Weak::upgrade) else { return true };
        let tools = registry.current();
        let trusted = tools.trusted_tools();
        let read = async {
            let session = self.store.run(run).await?.and_then(|run| run.session);
            let is_session_tainted = match &session {
                Some(session) => self.store.is_session_tainted(session, &trusted).await?,
                None => false,
            };
            let runs = [run.clone()];
            Ok(is_session_tainted || self.store.is_any_run_tainted(&runs, &trusted).await?)
        };
        read.await.unwrap_or_else(|error: StoreError| {
            tracing::warn!(%error, "the taint of a run was not read");
            true
        })
    }

    async fn change_and_check(
        &self,
        change: ToolVersionChange,
        run: &RunId,
    ) -> Result<ToolBuild, String> {
        let ToolVersionChange { name, files } = change;
        self.refuse_server(&name)?;
        check_changes(&files).map_err(|error| error.to_string())?;
        self.folders.check_name(&name).map_err(|error| error.to_string())?;
        let is_tainted = self.is_tainted(run).await;
        let base = self.base_of(&name, run).await?;
        let changes = files.into_iter().map(|(path, text)| (path, text.map(String::into_bytes)));
        let changed = base.with_changes(changes).map_err(|error| error.to_string())?;
        let (changed, build_error) = match self.build_rust(&changed).await {
            Ok(built) => (built.unwrap_or(changed), None),
            Err(error) => (changed, Some(error)),
        };
        let origin = VersionOrigin { run_id: Some(run.clone()), is_tainted, build_error };
        let build = self.wasm.check_version(changed.clone(), Some(&name), origin).await?;
        self.keep_files(&name, changed).await?;
        Ok(build)
    }

    /// Writes the files of a recorded version, and deletes those of versions that are no longer recorded.
    async fn keep_files(&self, name: &ExtensionName, files: ToolFolder) -> Result<(), String> {
        // Otherwise another check of the same tool could delete half-written files.
        let _writing = self.writing.lock().await;
        let recorded = self.versions(name).await?.into_iter();
        let recorded: Vec<String> = recorded.map(|build| build.hash).collect();
        let (folders, name) = (self.folders.clone(), name.clone());
        blocking(move || {
            folders.write(&name, &files).map_err(|error| error.to_string())?;
            folders.prune(&name, &recorded).map_err(|error| error.to_string())
        })
        .await
    }

    /// The files that a change of `run` applies to: the newest version that the run may read, or the installed files. An
    /// untrusted version of another run never continues: its text would reach an untainted run.
    async fn base_of(&self, name: &ExtensionName, run: &RunId) -> Result<ToolFolder, String> {
        let versions = self.versions(name).await?;
        let is_base = |build: &&ToolBuild| build.is_trusted() || build.run_id.as_ref() == Some(run);
        let hashes: Vec<String> =
            versions.iter().filter(is_base).map(|build| build.hash.clone()).collect();
        let (folders, name) = (self.folders.clone(), name.clone());
        let package = self.wasm.package_folder(&name);
        blocking(move || match hashes.iter().find_map(|hash| folders.read(&name, hash)) {
            Some(made) => Ok(made),
            None if package.exists() => {
                ToolFolder::read(&package).map_err(|error| error.to_string())
            }
            None => Ok(ToolFolder::default()),
        })
        .await
    }

    /// The version with the component of its Rust sources; none without sources.
    async fn build_rust(&self, files: &ToolFolder) -> Result<Option<ToolFolder>, String> {
        let Ok(manifest) = read_manifest(files) else { return Ok(None) };
        if manifest.language != ToolLanguage::Rust || !has_sources(files) {
            return Ok(None);
        }
        let component = self.rust.build(files, &manifest).await?;
        let file = (ToolLanguage::Rust.file().to_owned(), Some(component));
        files.clone().with_changes([file]).map(Some).map_err(|error| error.to_string())
    }

    /// Refuses the name of an installed server.
    fn refuse_server(&self, name: &ExtensionName) -> Result<(), String> {
        match self.installed.get(name) {
            Some(extension) if !extension.server.is_wasm() => {
                Err(format!("{name} is an installed server. Choose another name for the tool."))
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn find_offer(&self, name: &ExtensionName, hash: &str) -> Result<ToolOffer, String> {
        self.refuse_server(name)?;
        let build = self.find_version(name, hash).await?.filter(ToolBuild::passed);
        let build = build.ok_or_else(|| {
            format!("No version of {name} with the hash {hash} has passed its check. Check the tool with tool_check, then offer the hash of its answer.")
        })?;
        check_readable(&build)?;
        let (folders, owner, version) = (self.folders.clone(), name.clone(), hash.to_owned());
        let files = blocking(move || Ok(folders.read(&owner, &version))).await?;
        let manifest = files.and_then(|files| read_manifest(&files).ok());
        let manifest = manifest.ok_or_else(|| {
            format!("The files of this version of {name} have changed since its check. Check the tool again with tool_check, then offer the new hash.")
        })?;
        let definition = manifest_tool(&manifest);
        let suggested = ToolAccess::suggested(definition.hints);
        let installed = self.installed.get(name);
        let access = installed.as_ref().map_or(suggested, |tool| tool.proposed_access(&definition));
        let accepted = match self.installed_hash(name).filter(|installed| installed != hash) {
            Some(installed) => self.find_version(name, &installed).await?,
            None => None,
        };
        let is_off = installed.is_some_and(|tool| !tool.is_enabled);
        Ok(ToolOffer { build, accepted, access, is_off })
    }

    async fn install(&self, name: &ExtensionName, hash: &str) -> Result<(), String> {
        let offer = self.find_offer(name, hash).await?;
        let path = self.folders.folder(name, hash).display().to_string();
        let source = ExtensionSource::Tool { path, sha256: Some(hash.to_owned()) };
        let (gateway, text) = (&self.gateway, |error: RpcError| error.message);
        let package = self.installed.get(name).and_then(|tool| tool.package);
        let draft = package.map_or_else(tool_draft, |package| package.draft);
        let planned = gateway.plan_package(name, source, draft).await.map_err(text)?;
        let now = self.clock.now();
        gateway.install_package(name, planned, now).await.map_err(text)?;
        gateway.inspect(name).await.map_err(|error| error.to_string())?;
        if offer.is_off {
            gateway.set_enabled(name, false).await.map_err(text)?;
        }
        let Some(entry) = self.installed.get(name) else { return Ok(()) };
        let pins = entry.held.iter().map(|held| {
            let access = entry.proposed_access(&held.offered);
            PinnedTool::accept(held.offered.clone(), access, now)
        });
        let accepted = self.installed.accept_tools(name, pins.collect());
        accepted.map_err(|error| error.to_string())
    }

    /// The versions of a name without files, with their states by the installed tool.
    async fn versions(&self, name: &ExtensionName) -> Result<Vec<ToolBuild>, String> {
        let versions = self.store.tool_versions(name).await.map_err(|error| error.to_string())?;
        Ok(versions.into_iter().map(|build| self.with_state(build)).collect())
    }

    async fn find_version(
        &self,
        name: &ExtensionName,
        hash: &str,
    ) -> Result<Option<ToolBuild>, String> {
        let build = self.store.tool_build(name, hash).await.map_err(|error| error.to_string())?;
        Ok(build.map(|build| self.with_state(build)))
    }

    /// The version with the state that follows from the installed tool: a crash, or a change by another verb, may have
    /// come between both.
    fn with_state(&self, mut build: ToolBuild) -> ToolBuild {
        let is_installed = self.installed_hash(&build.name).as_ref() == Some(&build.hash);
        let entry = self.installed.get(&build.name).filter(|_| is_installed);
        build.state = match (entry, build.state) {
            (Some(tool), _) if tool.held.is_empty() && !tool.tools.is_empty() => {
                ToolBuildState::Accepted
            }
            (Some(_), ToolBuildState::Accepted) => ToolBuildState::Passed,
            (None, ToolBuildState::Accepted) => ToolBuildState::Replaced,
            (_, state) => state,
        };
        build
    }

    async fn delete(&self, name: &ExtensionName) -> Result<bool, String> {
        let kept = self.installed_hash(name);
        let now = self.clock.now();
        let removed = self.store.remove_tool_builds(name, kept.as_deref(), now).await;
        let removed = removed.map_err(|error| error.to_string())?;
        let (folders, owner) = (self.folders.clone(), name.clone());
        let kept: Vec<String> = kept.into_iter().collect();
        let build = self.rust.folder(name);
        let _writing = self.writing.lock().await;
        blocking(move || {
            let pruned = folders.prune(&owner, &kept).and_then(|()| delete_folder(&build));
            pruned.map_err(|error| format!("The files of {owner} cannot be deleted: {error}."))
        })
        .await?;
        Ok(removed)
    }
}

/// Runs `work` on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(format!("The files were not read: {error}.")))
}

/// Refuses a version that an approval cannot show whole. Only a compiled component is not text.
fn check_readable(build: &ToolBuild) -> Result<(), String> {
    let name = &build.name;
    let mut files = build.files.iter();
    let binary = files.find(|file| file.text.is_none() && file.path != ToolLanguage::Rust.file());
    if let Some(file) = binary {
        return Err(format!(
            "{} of {name} is not a short text, so a person cannot read it. Delete or shorten it.",
            file.path
        ));
    }
    let texts = build.files.iter().filter_map(|file| file.text.as_ref());
    if texts.map(String::len).sum::<usize>() > MAX_SHOWN_BYTES {
        return Err(format!(
            "The files of {name} have more than {} KB of text, which a person cannot read. Shorten them.",
            MAX_SHOWN_BYTES >> 10
        ));
    }
    Ok(())
}

/// The definition before the check fills in the permissions.
fn tool_draft() -> ServerDefinition {
    let transport = ServerTransport::Wasm {
        hosts: Vec::new(),
        secrets: Vec::new(),
        files: ToolFileAccess::None,
    };
    ServerDefinition::new(transport)
}

impl ToolBuilds for BuiltTools {
    fn check_change<'a>(
        &'a self,
        change: ToolVersionChange,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<ToolBuild, String>> {
        Box::pin(self.change_and_check(change, run))
    }

    fn check_folder<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<ToolBuild, String>> {
        Box::pin(async move {
            let path = PathBuf::from(folder);
            let read = blocking(move || ToolFolder::read(&path).map_err(|error| error.to_string()));
            self.wasm.check_version(read.await?, None, VersionOrigin::default()).await
        })
    }

    fn offer<'a>(
        &'a self,
        name: &'a ExtensionName,
        hash: &'a str,
    ) -> BoxFuture<'a, Result<ToolOffer, String>> {
        Box::pin(self.find_offer(name, hash))
    }

    fn accept<'a>(
        &'a self,
        name: &'a ExtensionName,
        hash: &'a str,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.install(name, hash))
    }

    fn list<'a>(
        &'a self,
        name: Option<&'a ExtensionName>,
    ) -> BoxFuture<'a, Result<Vec<ToolBuild>, String>> {
        Box::pin(async move {
            let Some(name) = name else {
                let newest = self.store.newest_tool_builds().await;
                let newest = newest.map_err(|error| error.to_string())?.into_iter();
                return Ok(newest.map(|build| self.with_state(build)).collect());
            };
            self.versions(name).await
        })
    }

    fn find<'a>(
        &'a self,
        name: &'a ExtensionName,
        hash: &'a str,
    ) -> BoxFuture<'a, Result<Option<ToolBuild>, String>> {
        Box::pin(self.find_version(name, hash))
    }

    fn installed_hash(&self, name: &ExtensionName) -> Option<String> {
        match self.installed.get(name)?.package?.source {
            ExtensionSource::Tool { sha256, .. } => sha256,
            _ => None,
        }
    }

    fn version_folder<'a>(
        &'a self,
        name: &'a ExtensionName,
        hash: &'a str,
    ) -> BoxFuture<'a, Option<PathBuf>> {
        Box::pin(async move {
            let (folders, owner, version) = (self.folders.clone(), name.clone(), hash.to_owned());
            let found = blocking(move || Ok(folders.read(&owner, &version))).await.ok()?;
            found.map(|_| self.folders.folder(name, hash))
        })
    }

    fn remove<'a>(&'a self, name: &'a ExtensionName) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(self.delete(name))
    }
}
