//! The installed extensions in memory and in their file.
//!
//! Owns every change: a change is written before it is in effect, and a failed write changes nothing. Never judges a
//! consent; the gateway compares the hash of the page. Pitfall: a change by name after another change of the same tool;
//! pins hold the whole definition that the person has read.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use rouse_agent::{SecretBook, ServerSecretError};
use rouse_core::extension::package::{FileChange, InstalledPackage};
use rouse_core::extension::{
    Extension, ExtensionBook, ExtensionLock, ExtensionName, PinnedTool, ServerDefinition,
    ToolAccess, ToolListing, UnfilledSecret,
};
use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, UnixMs};

use super::lock_file;
use super::packages::PackageChecks;
use crate::home::Home;

/// The maximum number of extensions.
const MAX_EXTENSIONS: usize = 100;

/// The installed extensions. Shared by `Arc`.
pub(crate) struct InstalledExtensions {
    path: PathBuf,
    secrets: Arc<SecretBook>,
    checks: PackageChecks,
    /// The document, or why the file cannot be read.
    state: RwLock<Result<ExtensionLock, String>>,
    /// Called after every change, before the change returns.
    listener: OnceLock<ChangeListener>,
}

/// A callback after a change of the extensions.
type ChangeListener = Box<dyn Fn() + Send + Sync>;

/// Why a change of the extensions failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExtensionChangeError {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The file cannot be written.
    #[error("{path} cannot be written: {source}. Nothing was changed.")]
    Unwritable {
        /// The file.
        path: String,
        /// The system error.
        source: io::Error,
    },
    /// No extension has this name.
    #[error("There is no extension {0}.")]
    NotInstalled(ExtensionName),
    /// No accepted tool has this name.
    #[error("{name} has no accepted tool {tool}.")]
    UnknownTool {
        /// The extension.
        name: ExtensionName,
        /// The raw name of the tool.
        tool: String,
    },
    /// There are too many extensions.
    #[error("There are {MAX_EXTENSIONS} extensions already. Remove one first.")]
    TooMany,
}

impl InstalledExtensions {
    /// Opens the file of `home`. An unreadable file is a problem, and no extension is installed then.
    pub(crate) fn open(home: &Home, secrets: Arc<SecretBook>, clock: Arc<dyn Clock>) -> Self {
        let path = home.extensions_lock();
        let state = lock_file::read(&path);
        if let Err(problem) = &state {
            tracing::error!("{problem}");
        }
        let checks = PackageChecks::new(home.extension_folders(), clock);
        Self { path, secrets, checks, state: RwLock::new(state), listener: OnceLock::new() }
    }

    /// Calls `listener` after every change.
    pub(crate) fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) {
        if self.listener.set(Box::new(listener)).is_err() {
            tracing::error!("BUG: the extensions have two listeners");
        }
    }

    /// Why the file cannot be read; none if it can.
    pub(crate) fn problem(&self) -> Option<String> {
        self.read().as_ref().err().cloned()
    }

    /// Stores an accepted definition with its package: a new extension, or the new definition of an installed
    /// extension. Accepted tools stay accepted; held tools are listed anew.
    pub(crate) fn install(
        &self,
        name: &ExtensionName,
        server: ServerDefinition,
        package: Option<InstalledPackage>,
        now: UnixMs,
    ) -> Result<(), ExtensionChangeError> {
        self.change(|lock| {
            if let Some(extension) = lock.extensions.get_mut(name) {
                extension.server = server;
                extension.package = package;
                extension.is_enabled = true;
                extension.accepted_at_ms = now;
                extension.reported_version = None;
                extension.held.clear();
                extension.gone.clear();
                return Ok(());
            }
            if lock.extensions.len() >= MAX_EXTENSIONS {
                return Err(ExtensionChangeError::TooMany);
            }
            let extension = Extension { package, ..Extension::installed(server, now) };
            lock.extensions.insert(name.clone(), extension);
            Ok(())
        })
    }

    /// Adds or replaces pins. A held tool stays held if its definition is another than that of the pin.
    pub(crate) fn accept_tools(
        &self,
        name: &ExtensionName,
        tools: Vec<PinnedTool>,
    ) -> Result<(), ExtensionChangeError> {
        self.change(|lock| {
            let extension = extension_of(lock, name)?;
            for tool in tools {
                extension.held.retain(|held| held.offered != tool.definition);
                let raw_name = &tool.definition.name;
                match extension.tools.iter_mut().find(|pin| pin.definition.name == *raw_name) {
                    Some(pin) => *pin = tool,
                    None => extension.tools.push(tool),
                }
            }
            Ok(())
        })
    }

    /// Chooses how calls of an accepted tool are judged. False if that is the present choice.
    pub(crate) fn set_access(
        &self,
        name: &ExtensionName,
        tool: &str,
        access: ToolAccess,
    ) -> Result<bool, ExtensionChangeError> {
        self.change(|lock| {
            let extension = extension_of(lock, name)?;
            let pin = extension.tools.iter_mut().find(|pin| pin.definition.name == tool);
            let pin = pin.ok_or_else(|| {
                let (name, tool) = (name.clone(), tool.to_owned());
                ExtensionChangeError::UnknownTool { name, tool }
            })?;
            Ok(std::mem::replace(&mut pin.access, access) != access)
        })
    }

    /// Enables or disables an extension. False if that is the present state.
    pub(crate) fn set_enabled(
        &self,
        name: &ExtensionName,
        is_enabled: bool,
    ) -> Result<bool, ExtensionChangeError> {
        self.change(|lock| {
            let extension = extension_of(lock, name)?;
            Ok(std::mem::replace(&mut extension.is_enabled, is_enabled) != is_enabled)
        })
    }

    /// Removes an extension with its pins.
    pub(crate) fn remove(&self, name: &ExtensionName) -> Result<(), ExtensionChangeError> {
        self.change(|lock| {
            let removed = lock.extensions.remove(name);
            removed.map(drop).ok_or_else(|| ExtensionChangeError::NotInstalled(name.clone()))
        })
    }

    /// The differences of the files of a package from the accepted files; none without a package.
    ///
    /// # Errors
    /// The files cannot be compared: cause and remedy as sentences.
    pub(crate) async fn file_changes(
        &self,
        name: &ExtensionName,
    ) -> Result<Vec<FileChange>, String> {
        match self.package(name) {
            Some(package) => self.checks.changes(name, &package).await,
            None => Ok(Vec::new()),
        }
    }

    fn package(&self, name: &ExtensionName) -> Option<InstalledPackage> {
        self.get(name).and_then(|extension| extension.package)
    }

    fn read(&self) -> RwLockReadGuard<'_, Result<ExtensionLock, String>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies `edit` to a copy, writes the copy, and puts it into effect.
    fn change<T>(
        &self,
        edit: impl FnOnce(&mut ExtensionLock) -> Result<T, ExtensionChangeError>,
    ) -> Result<T, ExtensionChangeError> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let mut lock = state.clone().map_err(ExtensionChangeError::Unreadable)?;
        let result = edit(&mut lock)?;
        let is_changed = state.as_ref() != Ok(&lock);
        if is_changed {
            // Another program may have changed the file meanwhile.
            if lock_file::read(&self.path).as_ref() != state.as_ref() {
                let path = self.path.display();
                return Err(ExtensionChangeError::Unreadable(format!(
                    "{path} was changed by another program. Restart Rouse, which then reads the file. Nothing was changed."
                )));
            }
            lock_file::write(&self.path, &lock).map_err(|source| {
                let path = self.path.display().to_string();
                ExtensionChangeError::Unwritable { path, source }
            })?;
            *state = Ok(lock);
        }
        drop(state);
        if let Some(listener) = self.listener.get().filter(|_| is_changed) {
            listener();
        }
        Ok(result)
    }

    /// Fills the secret handles of a text for a request of the tool `name` to `host`.
    ///
    /// # Errors
    /// A secret is missing, not bound to this host or extension, or cannot be read: cause and remedy as sentences.
    #[cfg(feature = "wasm")]
    pub(crate) fn fill_request_secrets(
        &self,
        name: &ExtensionName,
        text: &str,
        host: &str,
    ) -> Result<String, String> {
        self.secrets.fill_for_request(name, host, text).map_err(|error| {
            let text = error.to_string();
            if let rouse_agent::RequestSecretError::Unavailable { name, .. } = error {
                self.reload_secret(name);
            }
            text
        })
    }

    /// Reads the value of a secret again in the background, so that the next use finds it.
    fn reload_secret(&self, name: String) {
        let secrets = Arc::clone(&self.secrets);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            drop(runtime.spawn(async move { secrets.reload(&name).await }));
        }
    }
}

fn extension_of<'l>(
    lock: &'l mut ExtensionLock,
    name: &ExtensionName,
) -> Result<&'l mut Extension, ExtensionChangeError> {
    let extension = lock.extensions.get_mut(name);
    extension.ok_or_else(|| ExtensionChangeError::NotInstalled(name.clone()))
}

impl ExtensionBook for InstalledExtensions {
    fn get(&self, name: &ExtensionName) -> Option<Extension> {
        self.read().as_ref().ok().and_then(|lock| lock.extensions.get(name).cloned())
    }

    fn all(&self) -> Vec<(ExtensionName, Extension)> {
        let state = self.read();
        let extensions = state.iter().flat_map(|lock| &lock.extensions);
        extensions.map(|(name, extension)| (name.clone(), extension.clone())).collect()
    }

    fn record_listing(&self, name: &ExtensionName, version: Option<String>, listing: &ToolListing) {
        let recorded = self.change(|lock| {
            let extension = extension_of(lock, name)?;
            extension.held.clone_from(&listing.held);
            extension.gone.clone_from(&listing.gone);
            if version.is_some() {
                extension.reported_version = version;
            }
            Ok(())
        });
        match recorded {
            // The extension was removed while its server was listed.
            Ok(()) | Err(ExtensionChangeError::NotInstalled(_)) => {}
            Err(error) => tracing::error!(%name, %error, "the tools of a server were not recorded"),
        }
    }

    fn fill_secrets(&self, name: &ExtensionName, text: &str) -> Result<String, UnfilledSecret> {
        self.secrets.fill_for_server(name, text).map_err(|error| {
            let text = error.to_string();
            let is_transient = match error {
                ServerSecretError::Unavailable { name, .. } => {
                    self.reload_secret(name);
                    true
                }
                ServerSecretError::Unknown { .. } | ServerSecretError::OtherServer { .. } => false,
            };
            UnfilledSecret { text, is_transient }
        })
    }

    fn check_files<'a>(&'a self, name: &'a ExtensionName) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            match self.package(name) {
                Some(package) => self.checks.check(name, &package).await,
                None => Ok(()),
            }
        })
    }
}
