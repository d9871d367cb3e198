//! Packages of PyPI: the installation commands, and the program of an installed package.
//!
//! Owns the flags that keep an installation to files: only wheels, only accepted hashes, no settings of the person, a
//! cache of its own. Uses `uv` if installed, else `venv` and `pip`. Pitfall: a script's first line, which names the folder of the installation;
//! the start command therefore names the interpreter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rouse_core::extension::package::InstallStep;
use rouse_core::text::escape_line;

use super::npm::no_program;
use super::registry::{network_variables, python_index};
use super::requirements::{PIP_REPORT, REQUIREMENTS, UV_ANSWER, WANTED};
use super::site::{PackageSite, path_text};
use crate::options::EnvReader;
use rouse_tools::find_program;

/// What the person installs for PyPI packages.
const REMEDY: &str = "Install Python from https://www.python.org or uv from https://docs.astral.sh/uv, then try again.";

/// The interpreter in the folder of an installation.
const INTERPRETER: &str = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };

/// Keeps a server from writing compiled files into its package.
pub(super) const NO_COMPILED_FILES: (&str, &str) = ("PYTHONDONTWRITEBYTECODE", "1");

/// The programs of an installation from PyPI.
pub(super) enum PythonPrograms {
    /// `uv`, with the interpreter if the person chose one.
    Uv { uv: String, python: Option<String> },
    /// The interpreter, with its `venv` and `pip`.
    Python(String),
}

/// The origin of the versions inside a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolution {
    /// The installer resolves them, and Rouse writes the requirements file.
    New,
    /// The accepted requirements file has them.
    Accepted,
}

/// The paths in the commands of an installation.
struct StepPaths {
    new: String,
    cache: String,
    interpreter: String,
    wanted: String,
    pip_report: String,
    uv_answer: String,
    requirements: String,
}

impl StepPaths {
    fn new(site: &PackageSite) -> Result<Self, String> {
        let staged = |name: &str| path_text(&site.staging.join(name));
        Ok(Self {
            new: path_text(&site.new)?,
            cache: path_text(&site.cache)?,
            interpreter: interpreter_of(&site.new)?,
            wanted: staged(WANTED)?,
            pip_report: staged(PIP_REPORT)?,
            uv_answer: staged(UV_ANSWER)?,
            requirements: staged(REQUIREMENTS)?,
        })
    }
}

/// The facts of an installed package.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PythonFacts {
    /// The arguments that start the program; paths are relative to the folder of the installation.
    pub(super) program: PythonProgram,
    /// The installed packages, each as `name==version`.
    pub(super) components: Vec<String>,
}

/// How the interpreter starts the program of a package.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PythonProgram {
    /// A script in the folder of the installation.
    Script(PathBuf),
    /// A function, for systems whose scripts are programs of their own.
    Code(String),
}

/// Finds `uv` or Python; `python` is the person's choice if not empty.
pub(super) fn find_python(python: &str, env: &EnvReader) -> Result<PythonPrograms, String> {
    let path = env("PATH").unwrap_or_default();
    let find = |name: &str| find_program(name, Some(path.as_str()));
    let chosen = match python {
        "" => None,
        python => Some(find(python).map_err(|error| format!("{error} {REMEDY}"))?),
    };
    if let Ok(uv) = find("uv") {
        return Ok(PythonPrograms::Uv { uv, python: chosen });
    }
    let found = chosen.map_or_else(|| find("python3").or_else(|_| find("python")), Ok);
    found.map(PythonPrograms::Python).map_err(|error| format!("{error} {REMEDY}"))
}

/// The absolute path of the interpreter of an installation.
pub(super) fn interpreter_of(folder: &Path) -> Result<String, String> {
    path_text(&folder.join(INTERPRETER))
}

/// The commands of an installation. `package` is `name==version`. The last command installs the requirements.
pub(super) fn python_steps(
    programs: &PythonPrograms,
    site: &PackageSite,
    package: &str,
    resolution: Resolution,
    env: &EnvReader,
) -> Result<Vec<InstallStep>, String> {
    let paths = StepPaths::new(site)?;
    let index = python_index(env)?;
    let mut environment = network_variables(env);
    let [venv, resolve, install] = match programs {
        PythonPrograms::Uv { uv, python } => {
            let commands = uv_arguments(&paths, python.as_deref(), index.as_deref());
            commands.map(|words| step(uv, &words, &environment))
        }
        PythonPrograms::Python(python) => {
            let no_settings = if cfg!(windows) { "nul" } else { "/dev/null" };
            environment.insert("PIP_CONFIG_FILE".to_owned(), no_settings.to_owned());
            let venv = step(python, &["-m", "venv", &paths.new], &environment);
            let commands = pip_arguments(&paths, package, index.as_deref());
            let [resolve, install] =
                commands.map(|words| step(&paths.interpreter, &words, &environment));
            [venv, resolve, install]
        }
    };
    Ok(match resolution {
        Resolution::New => vec![venv, resolve, install],
        Resolution::Accepted => vec![venv, install],
    })
}

fn step(program: &str, words: &[&str], environment: &BTreeMap<String, String>) -> InstallStep {
    InstallStep {
        program: program.to_owned(),
        arguments: words.iter().map(|word| (*word).to_owned()).collect(),
        environment: environment.clone(),
    }
}

/// The arguments of `uv`: create the environment, resolve, install.
fn uv_arguments<'a>(
    paths: &'a StepPaths,
    python: Option<&'a str>,
    index: Option<&'a str>,
) -> [Vec<&'a str>; 3] {
    let general = ["--no-config", "--no-progress", "--cache-dir", paths.cache.as_str()];
    let index = index.map(|index| ["--default-index", index]);
    let mut venv = vec!["venv"];
    venv.extend(general);
    venv.extend(python.into_iter().flat_map(|python| ["--python", python]));
    venv.extend(["--no-python-downloads", &paths.new]);
    let mut resolve = vec!["pip", "compile"];
    resolve.extend(general);
    resolve.extend(["--quiet", "--python", &paths.interpreter, "--no-build"]);
    resolve.extend(["--generate-hashes", "--no-header", "--no-annotate"]);
    resolve.extend(index.into_iter().flatten());
    resolve.extend(["--output-file", &paths.uv_answer, &paths.wanted]);
    let mut install = vec!["pip", "install"];
    install.extend(general);
    install.extend(["--python", &paths.interpreter, "--no-build", "--link-mode", "copy"]);
    install.extend(index.into_iter().flatten());
    install.extend(["--require-hashes", "--no-deps", "-r", &paths.requirements]);
    [venv, resolve, install]
}

/// The arguments of the interpreter: resolve, install.
fn pip_arguments<'a>(
    paths: &'a StepPaths,
    package: &'a str,
    index: Option<&'a str>,
) -> [Vec<&'a str>; 2] {
    let mut general = vec![
        "--only-binary",
        ":all:",
        "--no-input",
        "--cache-dir",
        &paths.cache,
        "--disable-pip-version-check",
    ];
    general.extend(index.into_iter().flat_map(|index| ["--index-url", index]));
    let mut resolve = vec!["-m", "pip", "install", "--dry-run", "--ignore-installed"];
    resolve.extend(["--report", &paths.pip_report]);
    resolve.extend(&general);
    resolve.push(package);
    let mut install = vec!["-m", "pip", "install", "--require-hashes", "--no-deps"];
    install.extend(&general);
    install.extend(["-r", &paths.requirements]);
    [resolve, install]
}

/// Reads the installed package in `folder`.
pub(super) fn python_facts(
    folder: &Path,
    package: &str,
    version: &str,
    program: Option<&str>,
) -> Result<PythonFacts, String> {
    let unreadable =
        |error: std::io::Error| format!("The installed packages cannot be read: {error}.");
    let mut components = Vec::new();
    let mut own = None;
    for entry in std::fs::read_dir(site_packages(folder)?).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A name of another form is no record of a package.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some((name, found)) =
            name.strip_suffix(".dist-info").and_then(|name| name.split_once('-'))
        else {
            continue;
        };
        components.push(format!("{}=={}", escape_line(name), escape_line(found)));
        if normal_name(name) == normal_name(package) {
            own = Some((entry.path(), found.to_owned()));
        }
    }
    components.sort();
    let (record, found) =
        own.ok_or_else(|| format!("The installation has no package {package}."))?;
    if !found.eq_ignore_ascii_case(version) {
        let found = escape_line(&found);
        return Err(format!(
            "The installed version of {package} is {found}, not {version}. Write {package}=={found}."
        ));
    }
    // A package without programs has no such file.
    let entries = std::fs::read_to_string(record.join("entry_points.txt")).unwrap_or_default();
    let program = choose_program(folder, package, &console_scripts(&entries), program)?;
    Ok(PythonFacts { program, components })
}

/// The folder of the installed packages.
fn site_packages(folder: &Path) -> Result<PathBuf, String> {
    if cfg!(windows) {
        return Ok(folder.join("Lib").join("site-packages"));
    }
    let versions = std::fs::read_dir(folder.join("lib")).into_iter().flatten().flatten();
    let mut found = versions.map(|version| version.path().join("site-packages"));
    found
        .find(|path| path.is_dir())
        .ok_or_else(|| "The installation has no folder of packages.".to_owned())
}

/// The programs of `entry_points.txt`, each with its function (`module:function`).
fn console_scripts(text: &str) -> BTreeMap<String, String> {
    let mut scripts = BTreeMap::new();
    let mut is_inside = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_inside = line == "[console_scripts]";
        } else if let Some((name, function)) = line.split_once('=').filter(|_| is_inside) {
            // An extra of the package may follow in brackets.
            let function = function.split('[').next().unwrap_or_default();
            scripts.insert(name.trim().to_owned(), function.trim().to_owned());
        }
    }
    scripts
}

/// The program `wanted`, the only one, or the one called like the package.
fn choose_program(
    folder: &Path,
    package: &str,
    scripts: &BTreeMap<String, String>,
    wanted: Option<&str>,
) -> Result<PythonProgram, String> {
    let names: Vec<String> = scripts.keys().map(|name| escape_line(name)).collect();
    let found = match wanted {
        Some(wanted) => scripts.get_key_value(wanted),
        None if scripts.len() == 1 => scripts.first_key_value(),
        None => scripts.iter().find(|(name, _)| normal_name(name) == normal_name(package)),
    };
    let (name, function) = found.ok_or_else(|| no_program(package, &names))?;
    let invalid = || format!("The program of {package} is invalid. Choose another package.");
    if cfg!(windows) {
        return function_code(function).map(PythonProgram::Code).ok_or_else(invalid);
    }
    let script = Path::new("bin").join(name);
    let is_inside = !name.contains(['/', '\\']) && folder.join(&script).is_file();
    if is_inside { Ok(PythonProgram::Script(script)) } else { Err(invalid()) }
}

/// The code that calls `module:function`; none for another text.
fn function_code(function: &str) -> Option<String> {
    let (module, attribute) = function.split_once(':')?;
    let is_path = |path: &str| {
        let is_name = |name: &str| {
            !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        path.split('.').all(is_name)
    };
    (is_path(module) && is_path(attribute))
        .then(|| format!("import sys, {module}; sys.exit({module}.{attribute}())"))
}

/// The name of a package in the form in which PyPI compares names.
pub(super) fn normal_name(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY_POINTS: &str = "[gui_scripts]\nother = a:b\n\n[console_scripts]\nmcp-server-time = mcp_server_time:main\nhelper=mcp_server_time.cli:run [cli]\n";

    #[cfg(unix)]
    fn installed() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let packages = folder.path().join("lib/python3.12/site-packages");
        let record = packages.join("mcp_server_time-2025.9.25.dist-info");
        for path in [&record, &packages.join("pytz-2025.2.dist-info"), &folder.path().join("bin")] {
            std::fs::create_dir_all(path).expect("a folder");
        }
        std::fs::write(record.join("entry_points.txt"), ENTRY_POINTS).expect("written");
        for script in ["mcp-server-time", "helper"] {
            std::fs::write(folder.path().join("bin").join(script), "").expect("written");
        }
        folder
    }

    #[cfg(unix)]
    #[test]
    fn installed_package_has_program_and_components() {
        let folder = installed();
        let facts =
            |version, program| python_facts(folder.path(), "MCP.server-time", version, program);
        let found = facts("2025.9.25", None).expect("facts");
        assert_eq!(found.program, PythonProgram::Script("bin/mcp-server-time".into()));
        assert_eq!(found.components, ["mcp_server_time==2025.9.25", "pytz==2025.2"]);
        let helper = facts("2025.9.25", Some("helper")).expect("facts").program;
        assert_eq!(helper, PythonProgram::Script("bin/helper".into()));
        let error = facts("2025.9.25", Some("none")).expect_err("no program");
        assert!(error.contains("has the programs helper, mcp-server-time."), "{error}");
        let error = facts("2025.9.26", None).expect_err("another version");
        assert!(error.contains("is 2025.9.25, not 2025.9.26"), "{error}");
    }

    #[test]
    fn only_console_scripts_are_programs() {
        let scripts = console_scripts(ENTRY_POINTS);
        let names: Vec<&str> = scripts.keys().map(String::as_str).collect();
        assert_eq!(names, ["helper", "mcp-server-time"]);
        assert_eq!(scripts["helper"], "mcp_server_time.cli:run");
    }

    #[test]
    fn function_becomes_code_only_if_it_is_a_name() {
        let code = "import sys, a.b; sys.exit(a.b.main())";
        assert_eq!(function_code("a.b:main").as_deref(), Some(code));
        for text in ["a", "a:b()", "a;x:b", "a:1b", ":b"] {
            assert_eq!(function_code(text), None, "{text}");
        }
    }
}
