//! The installation of an accepted package.
//!
//! Owns the order: new files, their facts, their hashes, the swap, the record. The installed files stay in use until the
//! record is written; a failure brings them back. One installation of an extension runs at a time. Pitfall: files that
//! change between the hash and the swap; only Rouse can write the folder of new files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rouse_core::extension::package::{
    ExtensionSource, FileManifest, InstalledPackage, PROGRAM_OF_PACKAGE,
};
use rouse_core::extension::{ExtensionName, ServerDefinition, ServerProcesses, ServerTransport};
use rouse_gateway::{PlannedPackage, write_private};

use super::bundle::{allow_program, unpack_bundle};
use super::files::hash_files;
use super::npm::{NpmFacts, npm_facts, prepare_npm};
use super::planner::Planner;
use super::python::{PythonFacts, PythonProgram, python_facts};
use super::requirements::{keep_requirements, prepare_requirements, write_requirements};
use super::site::{PackageSite, SwappedFiles, path_text};
pub(in crate::extensions) use super::steps::InstallError;
use super::steps::{InstallProgress, run_steps, stop_of};
use crate::extensions::wasm_tools::{CheckedTool, WasmTools, copy_tool};
use crate::options::EnvReader;

/// The time limit of an installation.
const INSTALL_LIMIT: Duration = Duration::from_mins(5);

/// Plans and installs packages.
pub(crate) struct PackageInstaller {
    processes: Arc<dyn ServerProcesses>,
    folders: PathBuf,
    env: EnvReader,
    limit: Duration,
    /// None in tests of servers.
    tools: Option<WasmTools>,
    running: Mutex<BTreeMap<ExtensionName, Arc<InstallProgress>>>,
}

/// A package whose new files are complete. `put_in_place` swaps them for the installed files.
pub(in crate::extensions) struct PreparedPackage {
    pub(in crate::extensions) server: ServerDefinition,
    pub(in crate::extensions) package: InstalledPackage,
    site: PackageSite,
    /// The text of the list of files.
    list: String,
}

/// New files in the place of the installed ones, until they are kept or undone.
#[must_use]
pub(in crate::extensions) struct PlacedPackage {
    site: PackageSite,
    /// None for a folder that is used in place.
    swapped: Option<SwappedFiles>,
    /// The text of the list of files.
    list: String,
}

/// What the files of a source add to the record.
struct SourceFacts {
    source: ExtensionSource,
    /// The words of the package's program in the start command.
    program: Vec<String>,
    components: Vec<String>,
}

impl PackageInstaller {
    /// Installs below the private `folders` of all servers.
    pub(crate) fn new(
        processes: Arc<dyn ServerProcesses>,
        folders: PathBuf,
        env: EnvReader,
    ) -> Self {
        let (limit, running) = (INSTALL_LIMIT, Mutex::default());
        Self { processes, folders, env, limit, tools: None, running }
    }

    /// With tools in Rouse's own sandbox.
    pub(crate) fn with_tools(self, tools: WasmTools) -> Self {
        Self { tools: Some(tools), ..self }
    }

    /// With another time limit.
    #[cfg(all(test, unix))]
    pub(super) fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// The plan of a source, which replaces `installed`. Downloads and starts nothing.
    ///
    /// # Errors
    /// The source cannot be installed: cause and remedy as sentences.
    pub(in crate::extensions) async fn plan(
        &self,
        name: &ExtensionName,
        source: ExtensionSource,
        draft: ServerDefinition,
        installed: Option<InstalledPackage>,
    ) -> Result<PlannedPackage, String> {
        let checked = self.check_tool(&source, &draft).await?;
        let (folders, env, name) = (self.folders.clone(), Arc::clone(&self.env), name.clone());
        let plan = move || {
            let planner = Planner { folders: &folders, env: &env, installed: installed.as_ref() };
            match (source, checked) {
                (ExtensionSource::Tool { path, sha256 }, Some(checked)) => {
                    planner.plan_tool(&name, path, sha256.as_deref(), draft, checked)
                }
                (source, _) => planner.plan(&name, source, draft),
            }
        };
        let planned = tokio::task::spawn_blocking(plan).await;
        planned.unwrap_or_else(|error| Err(format!("The package was not planned: {error}.")))
    }

    /// The facts about the folder of a tool; none for a server.
    async fn check_tool(
        &self,
        source: &ExtensionSource,
        draft: &ServerDefinition,
    ) -> Result<Option<CheckedTool>, String> {
        let ExtensionSource::Tool { path, .. } = source else { return Ok(None) };
        source.check().map_err(|error| error.to_string())?;
        if !draft.is_wasm() {
            let problem =
                "A tool has no command and no address. Set the kind of its transport to wasm.";
            return Err(problem.to_owned());
        }
        match &self.tools {
            Some(tools) => tools.check(path).await.map(Some),
            None => Err("Tools cannot be installed here.".to_owned()),
        }
    }

    /// Begins the only installation of `name`, until the answer is dropped.
    ///
    /// # Errors
    /// Another installation of `name` runs.
    pub(in crate::extensions) fn begin(
        &self,
        name: &ExtensionName,
    ) -> Result<RunningInstall<'_>, InstallError> {
        let progress = Arc::<InstallProgress>::default();
        let mut running = self.running();
        if running.contains_key(name) {
            return Err(InstallError::Running(name.clone()));
        }
        running.insert(name.clone(), Arc::clone(&progress));
        Ok(RunningInstall { installer: self, name: name.clone(), progress })
    }

    /// What the installation of `name` does; none without an installation.
    pub(in crate::extensions) fn step(&self, name: &ExtensionName) -> Option<String> {
        self.running().get(name).map(|progress| progress.step())
    }

    /// Cancels the installation of `name`. False without an installation.
    pub(in crate::extensions) fn cancel(&self, name: &ExtensionName) -> bool {
        let running = self.running().get(name).cloned();
        running.is_some_and(|progress| {
            progress.cancel.cancel();
            true
        })
    }

    /// Deletes the files of a replaced or removed package. Returns what the person must delete, as a sentence.
    pub(in crate::extensions) async fn delete_files(&self, name: &ExtensionName) -> Option<String> {
        let site = PackageSite::new(&self.folders, name);
        let folder = site.folder.clone();
        let deleted = blocking(move || {
            site.delete_package().map_err(|error| InstallError::Failed(error.to_string()))
        });
        let error = deleted.await.err()?;
        tracing::warn!(%name, %error, "the files of a package remain");
        let folder = folder.display();
        Some(format!("Its package {folder} remains: {error}. Delete the folder."))
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<ExtensionName, Arc<InstallProgress>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An installation under way, until dropped.
pub(in crate::extensions) struct RunningInstall<'i> {
    installer: &'i PackageInstaller,
    name: ExtensionName,
    progress: Arc<InstallProgress>,
}

impl RunningInstall<'_> {
    /// Gets the new files of an accepted package. The installed files stay.
    ///
    /// # Errors
    /// A command failed, or its result is not the accepted package. Nothing was changed.
    pub(in crate::extensions) async fn prepare(
        &self,
        planned: PlannedPackage,
    ) -> Result<PreparedPackage, InstallError> {
        let site = PackageSite::new(&self.installer.folders, &self.name);
        let prepared = self.prepare_files(planned, &site).await;
        if prepared.is_err() {
            clear(site).await;
        }
        prepared
    }

    async fn prepare_files(
        &self,
        planned: PlannedPackage,
        site: &PackageSite,
    ) -> Result<PreparedPackage, InstallError> {
        let Self { installer, name, progress } = self;
        let mut stop = pin!(stop_of(progress.cancel.clone(), installer.limit));
        progress.set_step("preparing the folder");
        let (prepared_site, source) = (site.clone(), planned.plan.source.clone());
        blocking(move || prepare_site(&prepared_site, &source)).await?;
        let folder = match &planned.plan.source {
            ExtensionSource::Npm { .. } => &site.new,
            _ => &site.staging,
        };
        let (processes, steps) = (installer.processes.as_ref(), &planned.plan.steps);
        // The last command installs what the commands before have resolved.
        let (before, last) = steps.split_at(steps.len().saturating_sub(1));
        run_steps(processes, name, before, folder, progress, stop.as_mut()).await?;
        if matches!(planned.plan.source, ExtensionSource::Pypi { requirements: None, .. }) {
            progress.set_step("writing the requirements");
            let site = site.clone();
            blocking(move || write_requirements(&site).map_err(InstallError::Failed)).await?;
        }
        run_steps(processes, name, last, folder, progress, stop.as_mut()).await?;
        progress.set_step("hashing the files");
        let site = site.clone();
        let finishing = blocking(move || finish(planned, site));
        tokio::select! {
            finished = finishing => finished,
            reason = stop => Err(reason),
        }
    }
}

impl Drop for RunningInstall<'_> {
    fn drop(&mut self) {
        self.installer.running().remove(&self.name);
    }
}

impl PreparedPackage {
    /// Puts the new files into the place of the installed ones. The server must be stopped.
    ///
    /// # Errors
    /// The folders cannot be swapped. Nothing was changed.
    pub(in crate::extensions) async fn put_in_place(
        self,
    ) -> Result<(PlacedPackage, InstalledPackage, ServerDefinition), InstallError> {
        let Self { server, package, site, list } = self;
        let swapping = site.clone();
        let swapped = match package.source {
            ExtensionSource::Folder { .. } => None,
            _ => Some(blocking(move || swapping.swap().map_err(unwritable)).await?),
        };
        Ok((PlacedPackage { site, swapped, list }, package, server))
    }
}

impl PlacedPackage {
    /// Writes the list of the files, and deletes the old files.
    pub(in crate::extensions) async fn keep(self) -> Result<(), InstallError> {
        blocking(move || {
            if self.swapped.is_none() {
                self.site.delete_package().map_err(unwritable)?;
            }
            // The list before the folder of the installation: the next start looks only at the latter.
            write_private(&self.site.list, &self.list).map_err(unwritable)?;
            match self.swapped {
                Some(swapped) => {
                    swapped.keep();
                    Ok(())
                }
                None => self.site.clear().map_err(unwritable),
            }
        })
        .await
    }

    /// Brings the old files back.
    pub(in crate::extensions) async fn undo(self) {
        let undone = blocking(move || {
            if let Some(swapped) = self.swapped {
                swapped.undo();
            }
            Ok(())
        });
        if let Err(error) = undone.await {
            tracing::error!(%error, "the files of a package were not restored");
        }
    }
}

/// Creates the folders of an installation, or unpacks a bundle.
fn prepare_site(site: &PackageSite, source: &ExtensionSource) -> Result<(), InstallError> {
    site.prepare().map_err(unwritable)?;
    match source {
        ExtensionSource::Npm { .. } => prepare_npm(site).map_err(unwritable),
        ExtensionSource::Mcpb { file, sha256, .. } => {
            let sha256 = sha256.as_deref().expect("BUG: a bundle was planned without its hash");
            unpack_bundle(file, sha256, site).map_err(InstallError::Failed)
        }
        ExtensionSource::Pypi { package, version, requirements, .. } => {
            let package = format!("{package}=={version}");
            prepare_requirements(site, &package, requirements.as_deref())
                .map_err(InstallError::Failed)
        }
        ExtensionSource::Folder { .. } => Ok(()),
        ExtensionSource::Tool { path, sha256 } => {
            let sha256 = sha256.as_deref().expect("BUG: a tool was planned without its hash");
            copy_tool(path, sha256, &site.new).map_err(InstallError::Failed)
        }
    }
}

/// Reads the facts of the new files and hashes them. Blocks.
fn finish(planned: PlannedPackage, site: PackageSite) -> Result<PreparedPackage, InstallError> {
    let PlannedPackage { draft, mut server, plan } = planned;
    let facts = read_facts(plan.source, &server, &site).map_err(InstallError::Failed)?;
    let SourceFacts { source, program, components } = facts;
    if let ServerTransport::Stdio { arguments, .. } = &mut server.transport
        && arguments.first().is_some_and(|first| first == PROGRAM_OF_PACKAGE)
    {
        drop(arguments.splice(0..1, program));
    }
    let folder: &Path = match &source {
        ExtensionSource::Folder { path, .. } => Path::new(path),
        _ => &site.new,
    };
    let found = hash_files(folder).map_err(InstallError::Failed)?;
    let sha256 = found.list.sha256();
    if let ExtensionSource::Folder { sha256: Some(accepted), path } = &source
        && *accepted != sha256
    {
        return Err(InstallError::Failed(format!(
            "The folder {path} has changed since you read its page. Read the page again."
        )));
    }
    let files = FileManifest { sha256, files: found.size.files, bytes: found.size.bytes };
    let package = InstalledPackage { source, draft, files, components };
    Ok(PreparedPackage { server, package, list: found.list.text(), site })
}

/// Reads what an installation found out.
fn read_facts(
    mut source: ExtensionSource,
    server: &ServerDefinition,
    site: &PackageSite,
) -> Result<SourceFacts, String> {
    let in_folder = |path: &Path| path_text(&site.folder.join(path));
    let (mut program, mut components) = (Vec::new(), Vec::new());
    match &mut source {
        ExtensionSource::Npm { package, version, program: wanted, integrity } => {
            let wanted = wanted.as_deref();
            let facts = npm_facts(&site.new, package, version, wanted, integrity.as_deref())?;
            let NpmFacts { program: path, integrity: found, components: installed } = facts;
            program.push(in_folder(&path)?);
            *integrity = found;
            components = installed;
        }
        ExtensionSource::Pypi { package, version, program: wanted, requirements } => {
            *requirements = Some(keep_requirements(site)?);
            let facts = python_facts(&site.new, package, version, wanted.as_deref())?;
            let PythonFacts { program: found, components: installed } = facts;
            match found {
                PythonProgram::Script(path) => program.push(in_folder(&path)?),
                PythonProgram::Code(code) => program.extend(["-c".to_owned(), code]),
            }
            components = installed;
        }
        ExtensionSource::Mcpb { .. } => {
            if let ServerTransport::Stdio { command, .. } = &server.transport {
                allow_program(command, site)
                    .map_err(|error| format!("The bundle has no program {command}: {error}."))?;
            }
        }
        ExtensionSource::Folder { .. } | ExtensionSource::Tool { .. } => {}
    }
    Ok(SourceFacts { source, program, components })
}

fn unwritable(error: std::io::Error) -> InstallError {
    InstallError::Failed(format!(
        "The folder of the package cannot be written: {error}. Check the disk."
    ))
}

/// Deletes the folders of a failed installation.
async fn clear(site: PackageSite) {
    let cleared = blocking(move || site.clear().map_err(unwritable));
    if let Err(error) = cleared.await {
        tracing::warn!(%error, "the folder of a failed installation remains");
    }
}

/// Runs `work` on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, InstallError> + Send + 'static,
) -> Result<T, InstallError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(InstallError::Failed(format!("The installation failed: {error}.")))
    })
}
