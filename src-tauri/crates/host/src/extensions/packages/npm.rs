//! Packages of npm: the installation command, and the program of an installed package.
//!
//! Owns the flags that keep an installation to files: no scripts, no settings of the person, a cache of its own. Never
//! starts `npx`. Pitfall: `npm.cmd` on Windows, which a shell interprets; there `node` starts npm's own script.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use rouse_core::extension::package::InstallStep;
use rouse_core::text::escape_line;
use serde::Deserialize;
use serde_json::Value;

use super::registry::{network_variables, npm_registry};
use super::site::{PackageSite, path_text};
use crate::options::EnvReader;
use rouse_tools::find_program;

/// What the person installs for npm packages.
const REMEDY: &str = "Install Node.js from https://nodejs.org, then try again.";

/// The programs of an installation from npm.
pub(super) struct NpmPrograms {
    pub(super) node: String,
    /// The words before npm's own arguments.
    npm: Vec<String>,
}

/// The facts of an installed package.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NpmFacts {
    /// The path of the program in the folder of the installation.
    pub(super) program: PathBuf,
    /// The hash of the package's archive, by npm's lock file.
    pub(super) integrity: Option<String>,
    /// The installed packages, each as `name@version`, by npm's lock file.
    pub(super) components: Vec<String>,
}

/// The part of `package.json` that Rouse reads.
#[derive(Deserialize)]
struct PackageJson {
    version: String,
    bin: Option<PackagePrograms>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PackagePrograms {
    One(String),
    Named(BTreeMap<String, String>),
}

/// Finds Node.js and npm; `node` is the person's choice if not empty.
pub(super) fn find_npm(node: &str, env: &EnvReader) -> Result<NpmPrograms, String> {
    let path = env("PATH").unwrap_or_default();
    let node = if node.is_empty() { "node" } else { node };
    let node =
        find_program(node, Some(path.as_str())).map_err(|error| format!("{error} {REMEDY}"))?;
    let folder = Path::new(&node).parent().unwrap_or(Path::new("/"));
    if cfg!(windows) {
        let script = path_text(&folder.join("node_modules/npm/bin/npm-cli.js"))?;
        return Ok(NpmPrograms { npm: vec![node.clone(), script], node });
    }
    let beside = path_text(&folder.join("npm"))?;
    let npm = find_program(&beside, None).or_else(|_| find_program("npm", Some(path.as_str())));
    let npm = npm.map_err(|error| format!("{error} {REMEDY}"))?;
    Ok(NpmPrograms { node, npm: vec![npm] })
}

/// The command of an installation, which runs in the folder of the new files.
pub(super) fn npm_step(
    programs: &NpmPrograms,
    site: &PackageSite,
    package: &str,
    env: &EnvReader,
) -> Result<InstallStep, String> {
    let cache = path_text(&site.cache.join("npm"))?;
    let settings = path_text(&site.cache.join("npmrc"))?;
    let flags = [
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--omit=dev",
        "--save-exact",
    ];
    let mut words = programs.npm.clone();
    let program = words.remove(0);
    words.extend(flags.map(str::to_owned));
    words.extend(["--cache".to_owned(), cache, "--userconfig".to_owned(), settings.clone()]);
    words.extend(["--globalconfig".to_owned(), format!("{settings}-global")]);
    if let Some(registry) = npm_registry(env)? {
        words.extend(["--registry".to_owned(), registry]);
    }
    words.push(package.to_owned());
    Ok(InstallStep { program, arguments: words, environment: network_variables(env) })
}

/// Writes the files that npm expects: a project, so that npm does not look for one in the folders above, and empty
/// settings.
pub(super) fn prepare_npm(site: &PackageSite) -> std::io::Result<()> {
    std::fs::create_dir_all(&site.new)?;
    let project = "{\"name\":\"rouse-extension\",\"version\":\"1.0.0\",\"private\":true}\n";
    std::fs::write(site.new.join("package.json"), project)?;
    std::fs::write(site.cache.join("npmrc"), "")?;
    std::fs::write(site.cache.join("npmrc-global"), "")
}

/// Reads the installed package in `folder`: the version must be `version`, and the hash `integrity` if given.
pub(super) fn npm_facts(
    folder: &Path,
    package: &str,
    version: &str,
    program: Option<&str>,
    integrity: Option<&str>,
) -> Result<NpmFacts, String> {
    let root = Path::new("node_modules").join(package);
    let path = folder.join(&root).join("package.json");
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("npm installed no package {package}: {error}."))?;
    let found: PackageJson = serde_json::from_str(&text).map_err(|error| {
        format!("The package.json of {package} is invalid: {error}. Choose another package.")
    })?;
    if found.version != version {
        let other = escape_line(&found.version);
        return Err(format!("npm installed {package}@{other} in the place of {version}."));
    }
    let program = root.join(choose_program(package, found.bin, program)?);
    if !folder.join(&program).is_file() {
        let program = escape_line(&program.display().to_string());
        return Err(format!("{package} has no file {program}. Choose another package."));
    }
    let lock = read_lock(folder);
    let entry = &lock["packages"][format!("node_modules/{package}")];
    let locked = entry["integrity"].as_str().map(str::to_owned);
    if let Some(expected) = integrity
        && locked.as_deref() != Some(expected)
    {
        let found = locked.as_deref().map_or_else(|| "none".to_owned(), escape_line);
        return Err(format!(
            "The hash of {package}@{version} is {found}, expected {}. The package was not installed.",
            escape_line(expected)
        ));
    }
    Ok(NpmFacts { program, integrity: locked, components: locked_packages(folder, &lock) })
}

/// The path of the program `wanted`, of the only one, or of the one called like the package.
fn choose_program(
    package: &str,
    programs: Option<PackagePrograms>,
    wanted: Option<&str>,
) -> Result<PathBuf, String> {
    let bare = package.rsplit('/').next().unwrap_or(package);
    let mut programs = match programs {
        Some(PackagePrograms::One(path)) => BTreeMap::from([(bare.to_owned(), path)]),
        Some(PackagePrograms::Named(programs)) => programs,
        None => BTreeMap::new(),
    };
    let names: Vec<String> = programs.keys().map(|name| escape_line(name)).collect();
    let only = programs.keys().next().filter(|_| names.len() == 1).cloned();
    let name = wanted.map(str::to_owned).or(only).unwrap_or_else(|| bare.to_owned());
    let path = programs.remove(&name).ok_or_else(|| no_program(package, &names))?;
    let path = Path::new(path.trim_start_matches("./"));
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    if is_inside {
        Ok(path.to_owned())
    } else {
        Err(format!(
            "The program of {package} lies outside of the package. Choose another package."
        ))
    }
}

/// The error about the choice of a program.
pub(super) fn no_program(package: &str, names: &[String]) -> String {
    match names {
        [] => format!("{package} has no program to start. Choose another package."),
        names => format!(
            "{package} has the programs {}. Choose one with --program NAME.",
            names.join(", ")
        ),
    }
}

/// npm's lock file; `null` without a readable file.
fn read_lock(folder: &Path) -> Value {
    // silent-ok: an npm without a lock file names no packages, and every installed file is hashed anyway.
    let text = std::fs::read_to_string(folder.join("package-lock.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The packages of the lock file that are installed. Packages for another system are only in the file.
fn locked_packages(folder: &Path, lock: &Value) -> Vec<String> {
    let packages = lock["packages"].as_object().into_iter().flatten();
    let components: BTreeSet<String> = packages
        .filter(|(path, _)| folder.join(path).is_dir())
        .filter_map(|(path, entry)| {
            let (_, name) = path.rsplit_once("node_modules/")?;
            let version = entry["version"].as_str()?;
            Some(format!("{}@{}", escape_line(name), escape_line(version)))
        })
        .collect();
    components.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A folder with the installed package `@scope/files`.
    fn installed(bin: Value) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("node_modules/@scope/files");
        std::fs::create_dir_all(root.join("dist")).expect("a folder");
        std::fs::write(root.join("dist/a.js"), "").expect("written");
        let package = json!({ "name": "@scope/files", "version": "1.2.3", "bin": bin });
        std::fs::write(root.join("package.json"), package.to_string()).expect("written");
        std::fs::create_dir_all(root.join("node_modules/dep")).expect("a folder");
        let lock = json!({ "packages": {
            "": { "version": "1.0.0" },
            "node_modules/@scope/files": { "version": "1.2.3", "integrity": "sha512-x" },
            "node_modules/@scope/files/node_modules/dep": { "version": "2.0.0\n" },
            "node_modules/for-another-system": { "version": "3.0.0", "optional": true },
        } });
        std::fs::write(folder.path().join("package-lock.json"), lock.to_string()).expect("written");
        folder
    }

    fn facts(bin: Value, program: Option<&str>) -> Result<NpmFacts, String> {
        npm_facts(installed(bin).path(), "@scope/files", "1.2.3", program, Some("sha512-x"))
    }

    #[test]
    fn program_of_a_package_is_chosen() {
        let path = PathBuf::from("node_modules/@scope/files/dist/a.js");
        for (bin, wanted) in [
            (json!("./dist/a.js"), None),
            (json!({ "mcp-files": "dist/a.js" }), None),
            (json!({ "files": "dist/a.js", "other": "b.js" }), None),
            (json!({ "one": "dist/a.js", "two": "b.js" }), Some("one")),
        ] {
            let integrity = Some("sha512-x".to_owned());
            let components = ["@scope/files@1.2.3", "dep@2.0.0⟨U+000A⟩"].map(str::to_owned).into();
            let expected = NpmFacts { program: path.clone(), integrity, components };
            assert_eq!(facts(bin.clone(), wanted), Ok(expected), "{bin}");
        }
    }

    #[test]
    fn unusable_program_is_refused() {
        for (bin, wanted, reason) in [
            (json!(null), None, "has no program to start"),
            (json!({ "one": "a.js", "two": "b.js" }), None, "has the programs one, two."),
            (json!({ "one": "a.js" }), Some("two"), "has the programs one."),
            (json!("../../evil.js"), None, "outside of the package"),
            (json!("/etc/evil.js"), None, "outside of the package"),
            (json!("dist/missing.js"), None, "has no file"),
        ] {
            let error = facts(bin, wanted).expect_err(reason);
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn other_version_or_hash_is_refused() {
        let folder = installed(json!("dist/a.js"));
        let facts =
            |version, integrity| npm_facts(folder.path(), "@scope/files", version, None, integrity);
        let error = facts("1.2.4", None).expect_err("another version");
        assert!(error.contains("installed @scope/files@1.2.3 in the place of 1.2.4"), "{error}");
        let error = facts("1.2.3", Some("sha512-y")).expect_err("another hash");
        assert!(error.contains("is sha512-x, expected sha512-y"), "{error}");
        assert!(facts("1.2.3", None).is_ok());
    }
}
