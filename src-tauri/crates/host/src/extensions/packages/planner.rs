//! The plan of an installation: what its page shows.
//!
//! Owns the start command of each source. Reads local files only: nothing is downloaded and nothing is started. Pitfall:
//! a plan that depends on the moment; the same draft gives the same plan, or its accepted hash would name no page.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::path::Path;

use rouse_core::extension::package::{
    ExtensionSource, FileList, InstalledPackage, PROGRAM_OF_PACKAGE, PackageChanges, PackagePlan,
};
use rouse_core::extension::{ExtensionName, ServerDefinition, ServerTransport};
use rouse_core::job::{FolderAccess, FolderGrant};
use rouse_core::text::escape_line;
use rouse_gateway::PlannedPackage;

use super::bundle::{BundleConfig, BundleFacts, bundle_facts, bundle_list};
use super::checks::accepted_files;
use super::folder::{FolderFacts, folder_facts};
use super::npm::{find_npm, npm_step};
use super::python::{
    NO_COMPILED_FILES, Resolution, find_python, interpreter_of, normal_name, python_steps,
};
use super::registry::{npm_registry, python_index};
use super::requirements::has_requirements;
use super::site::{PackageSite, path_text};
use crate::extensions::wasm_tools::CheckedTool;
use crate::options::EnvReader;

/// What a page says about a download.
const DOWNLOAD_NOTES: [&str; 2] = [
    "The installation takes at most 5 min. It runs with your own rights and runs no script of the package.",
    "Every installed file is hashed. A server with a changed file does not start.",
];
/// What a page says about the packages inside a package of PyPI.
const NEW_REQUIREMENTS: &str = "Rouse writes the version and the SHA-256 of every package inside to a requirements file. Only files with these hashes are installed.";
/// What a page says about an update of the same version.
const ACCEPTED_REQUIREMENTS: &str = "The same packages with the same SHA-256 as before are installed, by the accepted requirements file.";
/// What a page says about an update of the same version without its requirements.
const MISSING_REQUIREMENTS: &str = "The accepted requirements file is missing or changed. The packages inside can be other ones than before.";
/// The registry of a page without an address in the person's settings.
const NPM_DEFAULT: &str = "the default registry of npm";
/// The index of a page without an address in the person's settings.
const PYTHON_DEFAULT: &str = "the Python Package Index";
/// What a page says about a bundle.
const BUNDLE_NOTE: &str =
    "The bundle is unpacked and every file is hashed. A server with a changed file does not start.";
/// What a page says about a folder.
const FOLDER_NOTE: &str = "The folder stays in its place. Every file is hashed: after any change of a file, the server does not start until you update it.";

/// Reads the local facts of a source. Blocks.
pub(super) struct Planner<'p> {
    /// The private folders of all servers.
    pub(super) folders: &'p Path,
    pub(super) env: &'p EnvReader,
    /// The package that the plan replaces.
    pub(super) installed: Option<&'p InstalledPackage>,
}

/// The fields of a draft that a source fills in.
struct DraftCommand<'d> {
    command: &'d mut String,
    arguments: &'d mut Vec<String>,
    environment: &'d mut BTreeMap<String, String>,
    folder: &'d mut Option<String>,
    folders: &'d mut Vec<FolderGrant>,
}

impl Planner<'_> {
    /// The plan of a source with the start command of its server.
    ///
    /// # Errors
    /// The source cannot be installed: cause and remedy as sentences.
    pub(super) fn plan(
        &self,
        name: &ExtensionName,
        source: ExtensionSource,
        draft: ServerDefinition,
    ) -> Result<PlannedPackage, String> {
        source.check().map_err(|error| error.to_string())?;
        let site = PackageSite::new(self.folders, name);
        let mut server = draft.clone();
        let ServerTransport::Stdio { command, arguments, environment, folder, folders, .. } =
            &mut server.transport
        else {
            return Err("Rouse starts the server of a package. Leave the address out.".to_owned());
        };
        let target = DraftCommand { command, arguments, environment, folder, folders };
        let plan = match source {
            ExtensionSource::Npm { .. } => self.plan_npm(&site, source, target)?,
            ExtensionSource::Pypi { .. } => self.plan_pypi(&site, source, target)?,
            ExtensionSource::Mcpb { file, sha256, config } => {
                self.plan_bundle(&site, file, sha256.as_deref(), config, target)?
            }
            ExtensionSource::Folder { path, sha256 } => {
                self.plan_folder(&site, path, sha256.as_deref(), target)?
            }
            ExtensionSource::Tool { .. } => {
                unreachable!("BUG: a tool was planned as a server")
            }
        };
        Ok(PlannedPackage { draft, server, plan })
    }

    /// The plan of a tool's folder that passed its check. The definition has the permissions of the manifest.
    ///
    /// # Errors
    /// The folder is of another tool or content than expected: cause and remedy as sentences.
    pub(super) fn plan_tool(
        &self,
        name: &ExtensionName,
        path: String,
        expected: Option<&str>,
        draft: ServerDefinition,
        checked: CheckedTool,
    ) -> Result<PlannedPackage, String> {
        let CheckedTool { name: own, transport, list, size, claims, notes } = checked;
        if own != *name {
            return Err(format!(
                "The tool is called {own} in tool.toml. Install it as {own}, or change its name there to {name}."
            ));
        }
        let sha256 = list.sha256();
        check_hash("folder", expected, &sha256)?;
        let site = PackageSite::new(self.folders, name);
        let source = ExtensionSource::Tool { path, sha256: Some(sha256) };
        let installed = self.installed_files(&site, &source);
        let plan = PackagePlan {
            changes: installed.map(|installed| PackageChanges::new(installed.changes(&list))),
            claims: Some(claims),
            size: Some(size),
            notes,
            ..plan_in(&site, source)?
        };
        let server = ServerDefinition { transport, ..draft.clone() };
        Ok(PlannedPackage { draft, server, plan })
    }

    fn plan_npm(
        &self,
        site: &PackageSite,
        source: ExtensionSource,
        target: DraftCommand<'_>,
    ) -> Result<PackagePlan, String> {
        let ExtensionSource::Npm { package, version, .. } = &source else {
            unreachable!("BUG: another source was planned as npm");
        };
        let programs = find_npm(target.command, self.env)?;
        let step = npm_step(&programs, site, &format!("{package}@{version}"), self.env)?;
        *target.command = programs.node;
        target.arguments.insert(0, PROGRAM_OF_PACKAGE.to_owned());
        Ok(PackagePlan {
            registry: Some(npm_registry(self.env)?.unwrap_or_else(|| NPM_DEFAULT.to_owned())),
            steps: vec![step],
            notes: DOWNLOAD_NOTES.map(str::to_owned).to_vec(),
            ..plan_in(site, source)?
        })
    }

    fn plan_pypi(
        &self,
        site: &PackageSite,
        mut source: ExtensionSource,
        target: DraftCommand<'_>,
    ) -> Result<PackagePlan, String> {
        let ExtensionSource::Pypi { package, version, requirements, .. } = &mut source else {
            unreachable!("BUG: another source was planned as PyPI");
        };
        let mut notes = DOWNLOAD_NOTES.map(str::to_owned).to_vec();
        let recorded = self.recorded_requirements(package, version);
        let accepted = recorded.filter(|sha256| has_requirements(site, sha256));
        check_requirements(requirements.as_deref(), accepted)?;
        *requirements = accepted.map(str::to_owned);
        let (resolution, note) = match (accepted, recorded) {
            (Some(_), _) => (Resolution::Accepted, ACCEPTED_REQUIREMENTS),
            (None, Some(_)) => (Resolution::New, MISSING_REQUIREMENTS),
            (None, None) => (Resolution::New, NEW_REQUIREMENTS),
        };
        notes.push(note.to_owned());
        let programs = find_python(target.command, self.env)?;
        let package = format!("{package}=={version}");
        let steps = python_steps(&programs, site, &package, resolution, self.env)?;
        *target.command = interpreter_of(&site.folder)?;
        target.arguments.insert(0, PROGRAM_OF_PACKAGE.to_owned());
        forbid_compiled_files(target.environment);
        Ok(PackagePlan {
            registry: Some(python_index(self.env)?.unwrap_or_else(|| PYTHON_DEFAULT.to_owned())),
            steps,
            notes,
            ..plan_in(site, source)?
        })
    }

    fn plan_bundle(
        &self,
        site: &PackageSite,
        file: String,
        expected: Option<&str>,
        config: BundleConfig,
        target: DraftCommand<'_>,
    ) -> Result<PackagePlan, String> {
        let facts = bundle_facts(&file, &config, site, self.env)?;
        let BundleFacts { sha256, size, claims, start, mut archive } = facts;
        check_hash("bundle", expected, &sha256)?;
        *target.command = start.command;
        drop(target.arguments.splice(0..0, start.arguments));
        for (name, value) in start.environment {
            target.environment.entry(name).or_insert(value);
        }
        forbid_compiled_files(target.environment);
        let mut notes = vec![BUNDLE_NOTE.to_owned()];
        notes.extend(start.notes);
        let source = ExtensionSource::Mcpb { file, sha256: Some(sha256), config };
        let changes = match self.installed_files(site, &source) {
            Some(installed) => {
                Some(PackageChanges::new(installed.changes(&bundle_list(&mut archive)?)))
            }
            None => None,
        };
        Ok(PackagePlan {
            changes,
            claims: Some(claims),
            size: Some(size),
            notes,
            ..plan_in(site, source)?
        })
    }

    fn plan_folder(
        &self,
        site: &PackageSite,
        path: String,
        expected: Option<&str>,
        target: DraftCommand<'_>,
    ) -> Result<PackagePlan, String> {
        let FolderFacts { list, size, command } = folder_facts(&path, target.command, self.env)?;
        let sha256 = list.sha256();
        check_hash("folder", expected, &sha256)?;
        *target.command = command;
        *target.folder = Some(path.clone());
        if !target.folders.iter().any(|folder| folder.path == path) {
            target.folders.push(FolderGrant { path: path.clone(), access: FolderAccess::Read });
        }
        forbid_compiled_files(target.environment);
        let source = ExtensionSource::Folder { path: path.clone(), sha256: Some(sha256) };
        let installed = self.installed_files(site, &source);
        Ok(PackagePlan {
            source,
            replaces: None,
            changes: installed.map(|installed| PackageChanges::new(installed.changes(&list))),
            registry: None,
            claims: None,
            steps: Vec::new(),
            folder: path,
            size: Some(size),
            notes: vec![FOLDER_NOTE.to_owned()],
        })
    }

    /// The hash of the installed package's requirements, if the package and its version are these.
    fn recorded_requirements(&self, package: &str, version: &str) -> Option<&str> {
        let ExtensionSource::Pypi { package: own, version: installed, requirements, .. } =
            &self.installed?.source
        else {
            return None;
        };
        let is_same = normal_name(own) == normal_name(package) && installed == version;
        requirements.as_deref().filter(|_| is_same)
    }

    /// The accepted files of the installed package, if it is of the kind of `source`. None also without their list, as
    /// after a restore.
    fn installed_files(&self, site: &PackageSite, source: &ExtensionSource) -> Option<FileList> {
        let installed = self.installed?;
        let is_same_kind = discriminant(&installed.source) == discriminant(source);
        // silent-ok: the page says that the difference is unknown.
        accepted_files(&site.list, &installed.files.sha256).ok().filter(|_| is_same_kind)
    }
}

/// A plan with the folder of the installed files.
fn plan_in(site: &PackageSite, source: ExtensionSource) -> Result<PackagePlan, String> {
    Ok(PackagePlan {
        source,
        replaces: None,
        changes: None,
        registry: None,
        claims: None,
        steps: Vec::new(),
        folder: path_text(&site.folder)?,
        size: None,
        notes: Vec::new(),
    })
}

/// Keeps a Python server from writing into its package, unless the person decides otherwise.
fn forbid_compiled_files(environment: &mut BTreeMap<String, String>) {
    let (name, value) = NO_COMPILED_FILES;
    environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
}

/// Refuses expected requirements that are not among the installed files.
fn check_requirements(expected: Option<&str>, accepted: Option<&str>) -> Result<(), String> {
    match expected {
        Some(expected) if accepted != Some(expected) => Err(format!(
            "The installed files have no requirements with the SHA-256 {}. Leave the hash out.",
            escape_line(expected)
        )),
        _ => Ok(()),
    }
}

/// Refuses content with another hash than the expected one.
fn check_hash(what: &str, expected: Option<&str>, found: &str) -> Result<(), String> {
    match expected {
        Some(expected) if expected != found => Err(format!(
            "The SHA-256 of the {what} is {found}, expected {expected}. Check where the {what} comes from."
        )),
        _ => Ok(()),
    }
}
