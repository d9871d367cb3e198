//! The tools of installed folders, with their sandbox.
//!
//! Owns the runtime, which is shared by checks and calls. Never compiles at the start of the engine. Pitfall: HTTP with
//! the accepted addresses of MCP servers; a tool gets guarded HTTP without exceptions of a server.

use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::Clock;
use rouse_core::extension::{
    Extension, ExtensionBook as _, ExtensionName, OpenServer, ServerStatus, ServerUnavailable,
    ToolBuild, ToolBuildState, UnavailableKind, compare_listing,
};
use rouse_core::tool::{BoxFuture, Tool};
use rouse_store::Store;
use rouse_tools::{AcceptedServerUrls, GuardedHttp, HttpConfig};
use rouse_wasm::{
    ComponentCache, ToolCheck, ToolChecker, ToolFolder, ToolManifest, WasmRuntime, WasmToolFolders,
    WasmToolPorts, manifest_tool, read_manifest, script_engine, wasm_tool,
};

use super::check::{checked_tool, refusal};
use super::checked_tool::CheckedTool;
use super::checked_version::checked_version;
use super::listed_state::{is_listed, listed_status, open_listed};
use super::request_secrets::RequestSecrets;
use super::stored_hashes::StoredHashes;
use super::unavailable::{changed_files, unavailable};
use super::version_origin::VersionOrigin;
use crate::extensions::installed::InstalledExtensions;
use crate::extensions::packages::packages_folder;
use crate::options::HostOptions;

/// The tools of installed folders. Clones share the runtime.
#[derive(Clone)]
pub(crate) struct WasmTools {
    installed: Arc<InstalledExtensions>,
    ports: Arc<WasmToolPorts>,
    checker: Arc<ToolChecker>,
    /// The checked versions.
    store: Store,
    clock: Arc<dyn Clock>,
    /// The private folders of all extensions.
    folders: PathBuf,
}

impl WasmTools {
    /// The tools of the extensions that are `installed`. Starts and compiles nothing.
    pub(crate) fn open(
        options: &HostOptions,
        store: Store,
        installed: Arc<InstalledExtensions>,
        http: &HttpConfig,
    ) -> Self {
        let home = &options.home;
        let clock = Arc::clone(&options.clock);
        let hashes = StoredHashes { store: store.clone(), clock: Arc::clone(&clock) };
        let hashes = Arc::new(hashes);
        let program = options.wasm_compiler.clone();
        let runtime = WasmRuntime::new(ComponentCache::new(home.compiled_tools(), program, hashes));
        let (runtime, engine) = (Arc::new(runtime), script_engine());
        let checker = ToolChecker::new(Arc::clone(&runtime), engine.clone(), Arc::clone(&clock));
        let ports = WasmToolPorts {
            book: Arc::clone(&installed) as _,
            secrets: Arc::new(RequestSecrets(Arc::clone(&installed))),
            runtime,
            script_engine: engine,
            http: Arc::new(GuardedHttp::new(http, AcceptedServerUrls::default())),
        };
        Self {
            installed,
            ports: Arc::new(ports),
            checker: Arc::new(checker),
            store,
            clock,
            folders: home.extension_folders(),
        }
    }

    /// Checks the tool in the folder `path`, runs its tests and records the version.
    ///
    /// # Errors
    /// The check did not pass: every problem as a line.
    pub(crate) fn check<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<CheckedTool, String>> {
        Box::pin(async move {
            let folder = read_folder(PathBuf::from(path)).await?;
            let check = self.checker.check(&folder).await;
            if let Some(manifest) = &check.manifest {
                let (name, origin) = (manifest.name.clone(), VersionOrigin::default());
                self.record(&name, &folder, check.clone(), origin).await?;
            }
            checked_tool(&folder, check)
        })
    }

    /// Checks a tool and records the version, also of a failed check. By default, the name is that in the manifest.
    ///
    /// # Errors
    /// No name is known: every problem as a line.
    pub(in crate::extensions) async fn check_version(
        &self,
        folder: ToolFolder,
        name: Option<&ExtensionName>,
        origin: VersionOrigin,
    ) -> Result<ToolBuild, String> {
        let check = self.checker.check(&folder).await;
        let own_name = check.manifest.as_ref().map(|manifest| manifest.name.clone());
        match name.cloned().or(own_name) {
            Some(name) => self.record(&name, &folder, check, origin).await,
            None => Err(refusal(&check)),
        }
    }

    /// Records the version with its state.
    async fn record(
        &self,
        name: &ExtensionName,
        folder: &ToolFolder,
        check: ToolCheck,
        origin: VersionOrigin,
    ) -> Result<ToolBuild, String> {
        let now = self.clock.now();
        let build = checked_version(name, folder, check, origin, now);
        let recorded = self.store.record_tool_build(&build, now).await;
        let state = recorded.map_err(|error| error.to_string())?;
        Ok(ToolBuild { state, ..build })
    }

    /// Records that a person accepted a version. An error is logged: the tool is installed.
    pub(in crate::extensions) async fn record_accepted(&self, name: &ExtensionName, hash: &str) {
        let (state, now) = (ToolBuildState::Accepted, self.clock.now());
        if let Err(error) = self.store.set_tool_build_state(name, hash, state, now).await {
            tracing::warn!(%name, %error, "the accepted version of a tool was not recorded");
        }
    }

    /// The folder of the accepted files, which may not exist.
    pub(in crate::extensions) fn package_folder(&self, name: &ExtensionName) -> PathBuf {
        self.folders_of(name).package
    }

    /// The accepted tools of enabled extensions, as of their last listing.
    pub(crate) fn known_tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools = Vec::new();
        for (name, entry) in self.installed.all() {
            if entry.is_enabled && entry.server.is_wasm() {
                let pins = entry.tools.iter().filter(|pin| is_listed(&entry, pin));
                tools.extend(pins.filter_map(|pin| {
                    wasm_tool(&name, &entry, pin, self.folders_of(&name), Arc::clone(&self.ports))
                }));
            }
        }
        tools
    }

    /// Opens the tool for a run. Starts nothing.
    ///
    /// # Errors
    /// The extension is off, the tool waits for the person, or a file has changed.
    pub(crate) async fn open_tool(
        &self,
        name: &ExtensionName,
    ) -> Result<OpenServer, ServerUnavailable> {
        let open = open_listed(name, &self.entry(name)?)?;
        self.check_files(name).await?;
        Ok(open)
    }

    /// Lists the tool of the manifest and records the listing.
    ///
    /// # Errors
    /// The extension is not installed, or a file has changed.
    pub(crate) async fn inspect(&self, name: &ExtensionName) -> Result<(), ServerUnavailable> {
        let entry = self.entry(name)?;
        self.check_files(name).await?;
        let manifest = self.manifest(name).await;
        let manifest = manifest.map_err(|problem| changed_files(name, &problem))?;
        let version = manifest.version.as_ref().map(|version| format!("{name} {version}"));
        let listing = compare_listing(&entry.tools, vec![manifest_tool(&manifest)]);
        self.installed.record_listing(name, version, &listing);
        Ok(())
    }

    /// Releases the loaded code that no call uses.
    pub(crate) fn release_memory(&self) {
        self.ports.runtime.cache().unload();
    }

    /// The state for people.
    pub(crate) fn status(&self, name: &ExtensionName, entry: &Extension) -> ServerStatus {
        listed_status(name, entry)
    }

    fn entry(&self, name: &ExtensionName) -> Result<Extension, ServerUnavailable> {
        self.installed.get(name).ok_or_else(|| {
            let reason = format!("The tool {name} is not installed.");
            let remedy = "Install its folder, or remove it from the job.";
            unavailable(name, UnavailableKind::NotInstalled, reason, remedy)
        })
    }

    async fn check_files(&self, name: &ExtensionName) -> Result<(), ServerUnavailable> {
        let checked = self.installed.check_files(name).await;
        checked.map_err(|difference| changed_files(name, &difference))
    }

    async fn manifest(&self, name: &ExtensionName) -> Result<ToolManifest, String> {
        let folder = read_folder(self.folders_of(name).package).await?;
        read_manifest(&folder).map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            problems.join("; ")
        })
    }

    fn folders_of(&self, name: &ExtensionName) -> WasmToolFolders {
        WasmToolFolders {
            package: packages_folder(&self.folders).join(name.as_str()),
            private: self.folders.join(name.as_str()),
        }
    }
}

async fn read_folder(path: PathBuf) -> Result<ToolFolder, String> {
    let reading = tokio::task::spawn_blocking(move || ToolFolder::read(&path)).await;
    let read = reading.map_err(|error| error.to_string())?;
    read.map_err(|error| error.to_string())
}
