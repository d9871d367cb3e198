//! The build of a Rust tool: its sources to a component.
//!
//! Owns the generated `Cargo.toml` and the confined run of cargo, without a network. Never fetches a crate, and never
//! runs a build script of the tool. Pitfall: macros and build scripts of crates, which run code of others; each tool has
//! a writable folder of its own, so that no crate changes the component of another tool. One build runs at a time, so
//! that a component is built from the sources beside it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::extension::{
    ExtensionName, ServerCommand, ServerLine, ServerProcess, ServerProcesses,
};
use rouse_core::job::{FolderAccess, FolderGrant};
use rouse_core::text::{escape_line, hex_digits};
use rouse_tools::{expand_granted_path, find_program};
use rouse_wasm::{TOOL_WORLD, ToolFolder, ToolManifest};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

use super::blocking;
use crate::options::EnvReader;

/// The target of a component.
const TARGET: &str = "wasm32-wasip2";
/// The time limit of a build.
const BUILD_LIMIT: Duration = Duration::from_mins(4);
/// The sentence about a process that exited without an error.
const EXITED_WELL: &str = "The server exited with status 0.";
/// The last lines of the error output in an error.
const SHOWN_LINES: usize = 30;
/// The source that a build needs.
const SOURCE: &str = "src/lib.rs";
/// The digits of a tool's hash in the name of its folder.
const FOLDER_DIGITS: usize = 12;

/// Builds Rust tools.
pub(super) struct RustBuilder {
    processes: Arc<dyn ServerProcesses>,
    env: EnvReader,
    /// The private folders of all extensions.
    folders: PathBuf,
    building: Mutex<()>,
}

/// The programs of a toolchain.
struct Toolchain {
    cargo: PathBuf,
    rustc: PathBuf,
}

/// The generated `Cargo.toml`.
#[derive(Serialize)]
struct CargoManifest<'m> {
    package: CargoPackage<'m>,
    lib: CargoLibrary,
    dependencies: &'m BTreeMap<String, String>,
    profile: BTreeMap<&'static str, CargoProfile>,
}

#[derive(Serialize)]
struct CargoPackage<'m> {
    name: &'m str,
    version: &'static str,
    edition: &'static str,
    /// A tool has no build script.
    build: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct CargoLibrary {
    path: &'static str,
    crate_type: [&'static str; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct CargoProfile {
    opt_level: &'static str,
    lto: bool,
    strip: bool,
    panic: &'static str,
}

impl RustBuilder {
    /// Builds below the private `folders` of all extensions.
    pub(super) fn new(processes: Arc<dyn ServerProcesses>, env: EnvReader, folders: &Path) -> Self {
        Self { processes, env, folders: folders.to_owned(), building: Mutex::default() }
    }

    /// The component of a tool.
    ///
    /// # Errors
    /// Rust or its target is missing, or cargo failed: cause, remedy and the end of its output.
    pub(super) async fn build(
        &self,
        sources: &ToolFolder,
        manifest: &ToolManifest,
    ) -> Result<Vec<u8>, String> {
        let _building = self.building.lock().await;
        let owner = owner_of(&manifest.name);
        let folder = self.folder(&manifest.name).join("build");
        let (env, target) = (Arc::clone(&self.env), folder.clone());
        let (sources, manifest) = (sources.clone(), manifest.clone());
        let file = format!("{}.wasm", manifest.name.as_str().replace('-', "_"));
        let toolchain = blocking(move || {
            prepare(&target, &sources, &manifest).map_err(|error| unwritable(&target, &error))?;
            Toolchain::find(&env)
        });
        let command = self.command(&toolchain.await?, owner, &folder);
        let process = self.processes.start(command).await.map_err(|error| error.0)?;
        let ended = tokio::time::timeout(BUILD_LIMIT, end_of(&*process)).await;
        let Ok(end) = ended else {
            process.stop().await;
            let minutes = BUILD_LIMIT.as_secs() / 60;
            return Err(format!("The build took longer than {minutes} min and was stopped."));
        };
        if end != EXITED_WELL {
            return Err(failure(&folder, &process.stderr_tail()));
        }
        let component = folder.join("target").join(TARGET).join("release").join(file);
        fs::read(&component).map_err(|error| format!("The component was not read: {error}."))
    }

    /// The folder of a tool's builds, which may not exist.
    pub(super) fn folder(&self, name: &ExtensionName) -> PathBuf {
        self.folders.join(owner_of(name).as_str())
    }

    fn command(&self, toolchain: &Toolchain, owner: ExtensionName, folder: &Path) -> ServerCommand {
        let home = (self.env)("CARGO_HOME").unwrap_or_else(|| "~/.cargo".to_owned());
        let home = expand_granted_path(&home);
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let arguments = ["build", "--release", "--offline", "--target", TARGET];
        ServerCommand {
            extension: owner,
            program: text(&toolchain.cargo),
            arguments: arguments.map(str::to_owned).to_vec(),
            environment: BTreeMap::from([
                ("RUSTC".to_owned(), text(&toolchain.rustc)),
                ("CARGO_HOME".to_owned(), text(&home)),
                ("CARGO_TERM_COLOR".to_owned(), "never".to_owned()),
            ]),
            folder: Some(folder.to_owned()),
            task_folder: None,
            folders: vec![FolderGrant {
                path: text(&home.join("registry")),
                access: FolderAccess::Read,
            }],
            hosts: Vec::new(),
            is_unconfined: false,
        }
    }
}

impl Toolchain {
    /// The toolchain of `PATH`. The shims of rustup need its settings, so the programs behind them are taken.
    fn find(env: &EnvReader) -> Result<Self, String> {
        let missing = "Rust is not installed on this computer, so a Rust tool cannot be built. Write the tool in javascript, or ask the person to install Rust from rustup.rs.";
        let rustc =
            find_program("rustc", env("PATH").as_deref()).map_err(|_| missing.to_owned())?;
        let asked = Command::new(rustc).args(["--print", "sysroot"]).output();
        let asked = asked.ok().filter(|output| output.status.success());
        let root = asked.and_then(|output| String::from_utf8(output.stdout).ok());
        let root = PathBuf::from(root.ok_or_else(|| missing.to_owned())?.trim());
        if !root.join("lib/rustlib").join(TARGET).exists() {
            return Err(format!(
                "Rust has no target {TARGET}. Ask the person to run `rustup target add {TARGET}`, or write the tool in javascript."
            ));
        }
        let program =
            |name: &str| root.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        Ok(Self { cargo: program("cargo"), rustc: program("rustc") })
    }
}

/// The name, as of an extension, whose private folder is the writable folder of a tool's build.
fn owner_of(name: &ExtensionName) -> ExtensionName {
    let digits = hex_digits(&Sha256::digest(name.as_str()));
    format!("rust-{}", &digits[..FOLDER_DIGITS]).parse().expect("BUG: the name is valid")
}

/// Whether a tool has Rust sources.
pub(super) fn has_sources(sources: &ToolFolder) -> bool {
    sources.get(SOURCE).is_some()
}

/// Writes the sources and the manifest. The target folder stays, so that a further build is fast.
fn prepare(folder: &Path, sources: &ToolFolder, manifest: &ToolManifest) -> io::Result<()> {
    match fs::remove_dir_all(folder.join("src")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for (path, content) in sources.files().filter(|(path, _)| path.starts_with("src/")) {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().expect("BUG: a file has a folder"))?;
        fs::write(file, content)?;
    }
    fs::create_dir_all(folder.join("wit"))?;
    fs::write(folder.join("wit/tool.wit"), TOOL_WORLD)?;
    fs::write(folder.join("Cargo.toml"), cargo_manifest(manifest))
}

fn cargo_manifest(manifest: &ToolManifest) -> String {
    let profile = CargoProfile { opt_level: "s", lto: true, strip: true, panic: "abort" };
    let cargo = CargoManifest {
        package: CargoPackage {
            name: manifest.name.as_str(),
            version: "0.0.0",
            edition: "2024",
            build: false,
        },
        lib: CargoLibrary { path: SOURCE, crate_type: ["cdylib"] },
        dependencies: &manifest.dependencies,
        profile: BTreeMap::from([("release", profile)]),
    };
    toml::to_string(&cargo).expect("BUG: the manifest is TOML")
}

/// Reads to the end of a process and returns the sentence about its end.
async fn end_of(process: &dyn ServerProcess) -> String {
    loop {
        match process.receive().await {
            Ok(ServerLine::Text(_) | ServerLine::TooLong) => {}
            Err(end) => return end.0,
        }
    }
}

fn failure(folder: &Path, stderr: &str) -> String {
    let lines: Vec<String> = stderr.lines().map(escape_line).collect();
    let shown = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
    let remedy = if stderr.contains("--offline") || stderr.contains("no matching package") {
        let folder = folder.display();
        format!(
            " A check has no network. Ask the person to fetch the libraries once: run `cargo fetch` in {folder}."
        )
    } else {
        String::new()
    };
    format!("cargo failed.{remedy}\n{shown}")
}

fn unwritable(folder: &Path, error: &io::Error) -> String {
    format!(
        "The folder of the build {} cannot be written: {error}. Check the disk.",
        folder.display()
    )
}
