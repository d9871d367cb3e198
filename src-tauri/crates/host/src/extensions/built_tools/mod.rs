//! Built tools: drafts of runs, checked versions, and the installation of an approved offer.
//!
//! Owns the order of an acceptance: check, files, record, pin of the tool. An offer is installed like the folder of a
//! person, by the same code. Never decides about an offer: the gate does. Pitfall: installing other files than the
//! approval showed; the draft is hashed again, and the installation compares the hash.

mod drafts;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use rouse_agent::ToolRegistry;
use rouse_core::extension::package::ExtensionSource;
use rouse_core::extension::{
    ExtensionBook as _, ExtensionName, PinnedTool, ServerDefinition, ServerTransport, ToolAccess,
    ToolBuild, ToolBuildState, ToolBuilds, ToolDraftChange, ToolFileAccess, ToolLanguage,
    ToolOffer,
};
use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, RunId};
use rouse_gateway::{Extensions as _, RpcError};
use rouse_store::Store;
use rouse_wasm::{ToolFolder, manifest_tool, read_manifest};
use tokio::sync::Mutex;

use self::drafts::ToolDrafts;
use super::gateway_extensions::GatewayExtensions;
use super::installed::InstalledExtensions;
use super::wasm_tools::{VersionOrigin, WasmTools};

/// The versions in a list.
const LISTED_VERSIONS: u32 = 200;

/// The maximum bytes of the texts that an approval shows.
const MAX_SHOWN_BYTES: usize = 200 << 10;

/// The built tools.
pub(crate) struct BuiltTools {
    wasm: WasmTools,
    installed: Arc<InstalledExtensions>,
    gateway: Arc<GatewayExtensions>,
    drafts: ToolDrafts,
    store: Store,
    clock: Arc<dyn Clock>,
    /// The tools of runs, of which some read untrusted input.
    registry: OnceLock<Weak<ToolRegistry>>,
    /// Held while a draft changes or is installed.
    changing: Mutex<()>,
}

/// The origin of a draft, as far as a further run may continue it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DraftOrigin {
    /// This run, an untainted run, or an accepted version.
    Trusted,
    /// Another run that had read untrusted input. A further run starts over: its text would reach an untainted run.
    OtherTaintedRun,
    /// Changed outside Rouse.
    Unknown,
}

impl BuiltTools {
    /// The built tools with their drafts below `drafts`.
    pub(crate) fn new(
        wasm: WasmTools,
        installed: Arc<InstalledExtensions>,
        gateway: Arc<GatewayExtensions>,
        drafts: PathBuf,
        store: Store,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (drafts, registry) = (ToolDrafts::new(drafts), OnceLock::new());
        Self {
            wasm,
            installed,
            gateway,
            drafts,
            store,
            clock,
            registry,
            changing: Mutex::default(),
        }
    }

    /// Sets the tools of runs.
    pub(crate) fn set_registry(&self, registry: &Arc<ToolRegistry>) {
        let is_first = self.registry.set(Arc::downgrade(registry)).is_ok();
        debug_assert!(is_first, "BUG: the built tools have two registries");
    }

    /// Whether the run has read untrusted input. An error counts as tainted.
    async fn is_tainted(&self, run: &RunId) -> bool {
        let Some(registry) = self.registry.get().and_then(Weak::upgrade) else { return true };
        let tools = registry.current();
        let runs = [run.clone()];
        let read = self.store.is_any_run_tainted(&runs, &tools.trusted_tools()).await;
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, "the taint of a run was not read");
            true
        })
    }

    async fn change_and_check(
        &self,
        change: ToolDraftChange,
        run: &RunId,
    ) -> Result<ToolBuild, String> {
        let name = change.name.clone();
        self.refuse_server(&name)?;
        let is_tainted = self.is_tainted(run).await;
        let _changing = self.changing.lock().await;
        let before = self.draft_origin(&name, run).await?;
        let (drafts, installed) = (self.drafts.clone(), self.wasm.package_folder(&name));
        let draft = blocking(move || {
            if before == DraftOrigin::OtherTaintedRun {
                drafts.remove(&change.name).map_err(|error| error.to_string())?;
            }
            drafts.apply(&change, &installed).map_err(|error| error.to_string())
        });
        let draft = draft.await?;
        let is_tainted = is_tainted || before == DraftOrigin::Unknown;
        let origin = VersionOrigin { run_id: Some(run.clone()), is_tainted };
        self.wasm.check_version(&draft, Some(&name), origin).await
    }

    /// The origin of the present draft.
    async fn draft_origin(&self, name: &ExtensionName, run: &RunId) -> Result<DraftOrigin, String> {
        let Some(draft) = self.read_draft(name).await? else { return Ok(DraftOrigin::Trusted) };
        let hash = draft.hash();
        let versions = self.versions(Some(name)).await?;
        let Some(build) = versions.iter().find(|build| build.hash == hash) else {
            return Ok(DraftOrigin::Unknown);
        };
        let is_own = build.run_id.as_ref() == Some(run);
        let is_trusted = is_own || !build.is_tainted || build.state == ToolBuildState::Accepted;
        Ok(if is_trusted { DraftOrigin::Trusted } else { DraftOrigin::OtherTaintedRun })
    }

    /// The files of the draft; none without a draft.
    async fn read_draft(&self, name: &ExtensionName) -> Result<Option<ToolFolder>, String> {
        let draft = self.drafts.folder(name);
        let read = blocking(move || {
            let read = draft.exists().then(|| ToolFolder::read(&draft)).transpose();
            read.map_err(|error| error.to_string())
        });
        read.await
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
        let versions = self.versions(Some(name)).await?;
        let build = versions.iter().find(|build| build.hash == hash);
        let build = build.filter(|build| build.passed()).ok_or_else(|| {
            format!("No version of {name} with the hash {hash} has passed its check. Check the tool with tool_check, then offer the hash of its answer.")
        })?;
        check_readable(build)?;
        let draft = self.read_draft(name).await?.filter(|draft| draft.hash() == hash);
        let manifest = draft.and_then(|draft| read_manifest(&draft).ok());
        let manifest = manifest.ok_or_else(|| {
            format!("The draft of {name} has changed since this check. Check it again with tool_check, then offer the new hash.")
        })?;
        let definition = manifest_tool(&manifest);
        let suggested = ToolAccess::suggested(definition.hints);
        let installed = self.installed.get(name);
        let access = installed.map_or(suggested, |entry| entry.proposed_access(&definition));
        let mut others = versions.iter().filter(|other| other.hash != hash);
        let accepted = others.find(|other| other.state == ToolBuildState::Accepted).cloned();
        Ok(ToolOffer { build: build.clone(), accepted, access })
    }

    async fn install(&self, name: &ExtensionName, hash: &str) -> Result<(), String> {
        let _changing = self.changing.lock().await;
        self.find_offer(name, hash).await?;
        let path = self.drafts.folder(name).display().to_string();
        let source = ExtensionSource::Tool { path, sha256: Some(hash.to_owned()) };
        let (gateway, text) = (&self.gateway, |error: RpcError| error.message);
        let planned = gateway.plan_package(name, source, tool_draft()).await.map_err(text)?;
        let now = self.clock.now();
        gateway.install_package(name, planned, now).await.map_err(text)?;
        gateway.inspect(name).await.map_err(|error| error.to_string())?;
        let Some(entry) = self.installed.get(name) else { return Ok(()) };
        let pins = entry.held.iter().map(|held| {
            let access = entry.proposed_access(&held.offered);
            PinnedTool::accept(held.offered.clone(), access, now)
        });
        let accepted = self.installed.accept_tools(name, pins.collect());
        accepted.map_err(|error| error.to_string())
    }

    async fn versions(&self, name: Option<&ExtensionName>) -> Result<Vec<ToolBuild>, String> {
        let versions = self.store.tool_builds(name, LISTED_VERSIONS).await;
        versions.map_err(|error| error.to_string())
    }

    async fn delete(&self, name: &ExtensionName) -> Result<bool, String> {
        let _changing = self.changing.lock().await;
        let (drafts, draft) = (self.drafts.clone(), name.clone());
        let had_draft = blocking(move || {
            let removed = drafts.remove(&draft);
            removed.map_err(|error| format!("The draft of {draft} cannot be deleted: {error}."))
        });
        let had_draft = had_draft.await?;
        let removed = self.store.remove_tool_builds(name, self.clock.now()).await;
        Ok(removed.map_err(|error| error.to_string())? || had_draft)
    }
}

/// Runs `work` on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(format!("The draft was not read: {error}.")))
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
    fn check_draft<'a>(
        &'a self,
        change: ToolDraftChange,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<ToolBuild, String>> {
        Box::pin(self.change_and_check(change, run))
    }

    fn check_folder<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<ToolBuild, String>> {
        let folder = Path::new(folder);
        Box::pin(self.wasm.check_version(folder, None, VersionOrigin::default()))
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
        Box::pin(self.versions(name))
    }

    fn draft_folder<'a>(
        &'a self,
        name: &'a ExtensionName,
        hash: &'a str,
    ) -> BoxFuture<'a, Option<PathBuf>> {
        Box::pin(async move {
            let draft = self.read_draft(name).await.ok()??;
            (draft.hash() == hash).then(|| self.drafts.folder(name))
        })
    }

    fn remove<'a>(&'a self, name: &'a ExtensionName) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(self.delete(name))
    }
}
