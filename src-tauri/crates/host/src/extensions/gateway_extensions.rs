//! The gateway's port over the installed extensions and their servers.
//!
//! Owns the order of a change: the file first, then the server. A server that runs with an old definition ends, and so
//! does the server of a disabled or removed extension. A replaced or removed server loses its sign-in. Refuses folders
//! that no start accepts before a page shows them. Never judges a consent. Pitfall: ending a server before the removal of
//! its entry; a run would start the server again.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::extension::package::{ExtensionSource, FileChange};
use rouse_core::extension::{
    ExtensionBook, ExtensionName, PinnedTool, ServerDefinition, ServerStartError, ServerStatus,
    ServerTransport, ServerUnavailable, SignInCallback, SignInEnd, SignInStatus, ToolAccess,
    ToolListing,
};
use rouse_core::job::{FolderAccess, FolderGrant};
use rouse_core::tool::BoxFuture;
use rouse_gateway::wire::RefusedToolView;
use rouse_gateway::{ErrorCode, Extensions, PlannedPackage, RpcError, ServerInspection, SignIns};
use rouse_mcp::{CodingAgents, ServerPool, SignInError};

use super::extension_tools::ExtensionTools;
use super::installed::{ExtensionChangeError, InstalledExtensions};
use super::packages::{InstallError, PackageInstaller};
use super::wasm_tools::WasmTools;
use crate::options::EnvReader;
use rouse_tools::{check_granted_folders, find_program, working_folder};

/// The installed extensions and their servers.
pub(crate) struct GatewayExtensions {
    /// The installed extensions.
    installed: Arc<InstalledExtensions>,
    /// The servers.
    pool: ServerPool,
    wasm: WasmTools,
    agents: CodingAgents,
    /// The environment of the engine, for `PATH`.
    env: EnvReader,
    /// The private folders of the servers.
    folders: PathBuf,
    /// Rouse's own data, which no server may use.
    hidden: Vec<PathBuf>,
    packages: PackageInstaller,
}

impl GatewayExtensions {
    /// The extensions whose private folders lie in `folders`. `hidden` is Rouse's own data.
    pub(crate) fn new(
        installed: Arc<InstalledExtensions>,
        tools: ExtensionTools,
        agents: CodingAgents,
        packages: PackageInstaller,
        folders: PathBuf,
        hidden: Vec<PathBuf>,
        env: EnvReader,
    ) -> Self {
        let ExtensionTools { pool, wasm, .. } = tools;
        let packages = packages.with_tools(wasm.clone());
        Self { installed, pool, wasm, agents, env, folders, hidden, packages }
    }

    /// Gets the files of a package, then stops the server, swaps the files and writes the record.
    async fn install_files(
        &self,
        name: &ExtensionName,
        package: PlannedPackage,
        now: UnixMs,
    ) -> Result<(), RpcError> {
        let running = self.packages.begin(name).map_err(install_error)?;
        let prepared = running.prepare(package).await.map_err(install_error)?;
        self.pool.stop(name).await;
        let (placed, package, server) = prepared.put_in_place().await.map_err(install_error)?;
        let source = package.source.clone();
        if let Err(error) = self.installed.install(name, server, Some(package), now) {
            placed.undo().await;
            return Err(change_error(error));
        }
        placed.keep().await.map_err(install_error)?;
        self.pool.stop(name).await;
        if let ExtensionSource::Tool { sha256: Some(hash), .. } = source {
            self.wasm.record_accepted(name, &hash).await;
        }
        Ok(())
    }

    /// Refuses folders that no start accepts, before a page shows them. `package` is a folder that is used in place.
    async fn check_folders(
        &self,
        server: &ServerDefinition,
        package: Option<FolderGrant>,
    ) -> Result<(), RpcError> {
        let ServerTransport::Stdio { folder, folders, is_unconfined, .. } = &server.transport
        else {
            return Ok(());
        };
        let (folder, grants) = (folder.clone(), folders.clone());
        let (is_confined, private, hidden) =
            (!is_unconfined, self.folders.clone(), self.hidden.clone());
        let refused = |field: &str, error: ServerStartError| RpcError::field(field, &error.0);
        let check = move || {
            if is_confined {
                check_granted_folders(package.as_slice(), &private, &hidden)
                    .map_err(|error| refused("source", error))?;
                check_granted_folders(&grants, &private, &hidden)
                    .map_err(|error| refused("server.transport.folders", error))?;
            }
            match folder.as_deref().map(working_folder) {
                Some(Err(error)) => Err(refused("server.transport.folder", error)),
                Some(Ok(_)) | None => Ok(()),
            }
        };
        let checked = tokio::task::spawn_blocking(check).await;
        checked.map_err(|error| RpcError::internal(&error))?
    }

    /// Starts a coding agent once and records its version.
    async fn inspect_agent(
        &self,
        name: &ExtensionName,
    ) -> Result<ServerInspection, ServerUnavailable> {
        let version = self.agents.inspect(name).await?;
        self.installed.record_listing(name, version, &ToolListing::default());
        Ok(ServerInspection::default())
    }

    /// The definition with the absolute path of its program.
    async fn resolve_program(
        &self,
        mut server: ServerDefinition,
    ) -> Result<ServerDefinition, RpcError> {
        if let ServerTransport::Stdio { command, .. } = &mut server.transport {
            let (program, path_variable) = (command.clone(), (self.env)("PATH"));
            let find = move || find_program(&program, path_variable.as_deref());
            let found = tokio::task::spawn_blocking(find).await;
            let found = found.map_err(|error| RpcError::internal(&error))?;
            let refused = |reason: String| RpcError::field("server.transport.command", &reason);
            *command = found.map_err(refused)?;
        }
        Ok(server)
    }

    /// Deletes the sign-in of a removed server. Returns what the person must do, as a sentence.
    async fn delete_sign_in(&self, name: &ExtensionName) -> Option<String> {
        match self.pool.sign_ins().sign_out(name).await {
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(%name, %error, "the sign-in of a server remains");
                Some(format!("Its sign-in remains. {error}"))
            }
        }
    }

    /// Deletes the private folder of a removed extension. Returns what the person must delete, as a sentence.
    async fn delete_folder(&self, name: &ExtensionName) -> Result<Option<String>, RpcError> {
        let folder = self.folders.join(name.as_str());
        let path = folder.clone();
        let deleting = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(path));
        match deleting.await.map_err(|error| RpcError::internal(&error))? {
            Ok(()) => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => {
                tracing::warn!(%name, %error, "the folder of a removed extension remains");
                let folder = folder.display();
                Ok(Some(format!("Its folder {folder} remains: {error}. Delete the folder.")))
            }
        }
    }
}

impl Extensions for GatewayExtensions {
    fn book(&self) -> &dyn ExtensionBook {
        self.installed.as_ref()
    }

    fn sign_ins(&self) -> &dyn SignIns {
        self
    }

    fn status(&self, name: &ExtensionName) -> ServerStatus {
        match self.installed.get(name).filter(|entry| entry.server.is_wasm()) {
            Some(entry) => self.wasm.status(name, &entry),
            None => self.pool.status(name),
        }
    }

    fn resolve(
        &self,
        server: ServerDefinition,
    ) -> BoxFuture<'_, Result<ServerDefinition, RpcError>> {
        Box::pin(async move {
            self.check_folders(&server, None).await?;
            self.resolve_program(server).await
        })
    }

    fn install<'a>(
        &'a self,
        name: &'a ExtensionName,
        server: ServerDefinition,
        now: UnixMs,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        Box::pin(async move {
            let before = self.installed.get(name).map(|extension| extension.server.transport);
            let is_replaced = before.is_some_and(|before| {
                before != server.transport && matches!(before, ServerTransport::Http { .. })
            });
            self.installed.install(name, server, None, now).map_err(change_error)?;
            if is_replaced {
                // A record that remains is for the old address and is never sent to another.
                drop(self.delete_sign_in(name).await);
            }
            self.pool.stop(name).await;
            // Files that remain are in the log; nothing starts them.
            drop(self.packages.delete_files(name).await);
            Ok(())
        })
    }

    fn plan_package<'a>(
        &'a self,
        name: &'a ExtensionName,
        source: ExtensionSource,
        draft: ServerDefinition,
    ) -> BoxFuture<'a, Result<PlannedPackage, RpcError>> {
        Box::pin(async move {
            let package = match &source {
                ExtensionSource::Folder { path, .. } => {
                    Some(FolderGrant { path: path.clone(), access: FolderAccess::Read })
                }
                _ => None,
            };
            self.check_folders(&draft, package).await?;
            let installed = self.installed.get(name).and_then(|extension| extension.package);
            let planned = self.packages.plan(name, source, draft, installed).await;
            planned.map_err(|reason| RpcError::field("source", &reason))
        })
    }

    fn install_package<'a>(
        &'a self,
        name: &'a ExtensionName,
        package: PlannedPackage,
        now: UnixMs,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        Box::pin(self.install_files(name, package, now))
    }

    fn install_step(&self, name: &ExtensionName) -> Option<String> {
        self.packages.step(name)
    }

    fn cancel_install(&self, name: &ExtensionName) -> bool {
        self.packages.cancel(name)
    }

    fn verify_files<'a>(
        &'a self,
        name: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<Vec<FileChange>, String>> {
        Box::pin(self.installed.file_changes(name))
    }

    fn inspect<'a>(
        &'a self,
        name: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<ServerInspection, ServerUnavailable>> {
        Box::pin(async move {
            if self.installed.get(name).is_some_and(|entry| entry.server.is_coding_agent()) {
                return self.inspect_agent(name).await;
            }
            if self.installed.get(name).is_some_and(|entry| entry.server.is_wasm()) {
                self.wasm.inspect(name).await?;
                return Ok(ServerInspection::default());
            }
            let catalogue = self.pool.inspect(name).await?;
            let refused = catalogue.refused.into_iter();
            let refused =
                refused.map(|tool| RefusedToolView { name: tool.name, reason: tool.reason });
            Ok(ServerInspection {
                instructions: catalogue.instructions,
                refused: refused.collect(),
            })
        })
    }

    fn accept_tools(&self, name: &ExtensionName, tools: Vec<PinnedTool>) -> Result<(), RpcError> {
        self.installed.accept_tools(name, tools).map_err(change_error)
    }

    fn set_access(
        &self,
        name: &ExtensionName,
        tool: &str,
        access: ToolAccess,
    ) -> Result<bool, RpcError> {
        self.installed.set_access(name, tool, access).map_err(change_error)
    }

    fn set_enabled<'a>(
        &'a self,
        name: &'a ExtensionName,
        is_enabled: bool,
    ) -> BoxFuture<'a, Result<bool, RpcError>> {
        Box::pin(async move {
            let changed = self.installed.set_enabled(name, is_enabled).map_err(change_error)?;
            if !is_enabled {
                self.pool.stop(name).await;
            }
            Ok(changed)
        })
    }

    fn remove<'a>(
        &'a self,
        name: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<Option<String>, RpcError>> {
        Box::pin(async move {
            self.packages.cancel(name);
            let before = self.installed.get(name).map(|extension| extension.server.transport);
            self.installed.remove(name).map_err(change_error)?;
            self.pool.stop(name).await;
            let sign_in = match before {
                Some(ServerTransport::Http { .. }) => self.delete_sign_in(name).await,
                Some(ServerTransport::Stdio { .. } | ServerTransport::Wasm { .. }) | None => None,
            };
            let folder = self.delete_folder(name).await?;
            let package = self.packages.delete_files(name).await;
            let remains: Vec<String> = sign_in.into_iter().chain(folder).chain(package).collect();
            Ok((!remains.is_empty()).then(|| remains.join(" ")))
        })
    }

    fn stop<'a>(&'a self, name: &'a ExtensionName) -> BoxFuture<'a, ()> {
        Box::pin(self.pool.stop(name))
    }
}

impl SignIns for GatewayExtensions {
    fn begin<'a>(
        &'a self,
        name: &'a ExtensionName,
        port: u16,
    ) -> BoxFuture<'a, Result<String, RpcError>> {
        Box::pin(async move { self.pool.sign_ins().begin(name, port).await.map_err(sign_in_error) })
    }

    fn finish(&self, callback: SignInCallback) -> BoxFuture<'_, SignInEnd> {
        Box::pin(self.pool.finish_sign_in(callback))
    }

    fn cancel(&self, name: &ExtensionName) -> bool {
        self.pool.sign_ins().cancel(name)
    }

    fn await_end<'a>(&'a self, name: &'a ExtensionName, limit: Duration) -> BoxFuture<'a, ()> {
        Box::pin(self.pool.sign_ins().await_end(name, limit))
    }

    fn sign_out<'a>(&'a self, name: &'a ExtensionName) -> BoxFuture<'a, Result<bool, RpcError>> {
        Box::pin(async move {
            let signed_out = self.pool.sign_ins().sign_out(name).await.map_err(sign_in_error)?;
            self.pool.stop(name).await;
            Ok(signed_out)
        })
    }

    fn status<'a>(&'a self, name: &'a ExtensionName) -> BoxFuture<'a, SignInStatus> {
        Box::pin(self.pool.sign_ins().status(name))
    }
}

fn sign_in_error(error: SignInError) -> RpcError {
    RpcError::new(ErrorCode::Conflict, error.text)
}

fn install_error(error: InstallError) -> RpcError {
    RpcError::new(ErrorCode::Conflict, error.to_string())
}

fn change_error(error: ExtensionChangeError) -> RpcError {
    let code = match &error {
        ExtensionChangeError::Unreadable(_) | ExtensionChangeError::TooMany => ErrorCode::Conflict,
        ExtensionChangeError::Unwritable { source, .. } => {
            tracing::error!(%source, "the extensions could not be written");
            ErrorCode::Storage
        }
        ExtensionChangeError::NotInstalled(_) | ExtensionChangeError::UnknownTool { .. } => {
            ErrorCode::NotFound
        }
    };
    RpcError::new(code, error.to_string())
}
