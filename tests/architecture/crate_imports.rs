//! Allowed imports per crate, checked against `cargo metadata`.
//!
//! Owns three tables: crate imports, libraries with a single user, and complete dependency lists of the inner crates.
//! Dev-dependencies are free. Pitfall: reading manifests as text misses renamed and target-specific dependencies.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::source_files;

/// Crates and the crates that they may import. Every crate must be listed.
const ALLOWED_IMPORTS: &[(&str, &[&str])] = &[
    ("rouse-core", &[]),
    ("rouse-store", &["rouse-core"]),
    ("rouse-scheduler", &["rouse-core", "rouse-store"]),
    ("rouse-agent", &["rouse-core", "rouse-store"]),
    ("rouse-tools", &["rouse-core"]),
    ("rouse-mcp", &["rouse-core"]),
    ("rouse-channels", &["rouse-core"]),
    ("rouse-wasm", &["rouse-core"]),
    ("rouse-gateway", &["rouse-core", "rouse-store", "rouse-scheduler", "rouse-agent"]),
    (
        "rouse-host",
        &[
            "rouse-core",
            "rouse-store",
            "rouse-scheduler",
            "rouse-agent",
            "rouse-tools",
            "rouse-mcp",
            "rouse-channels",
            "rouse-wasm",
            "rouse-gateway",
        ],
    ),
    ("rouse-cli", &["rouse-core", "rouse-gateway", "rouse-host"]),
    ("rouse-testkit", &["rouse-core"]),
    ("rouse-desktop", &["rouse-core", "rouse-gateway", "rouse-host"]),
    ("xtask", &[]),
];

/// System tests may import every crate; no crate imports them.
const TESTS: &str = "rouse-tests";

/// Libraries and the crates that may use them; `*` matches the rest of a name.
const LIBRARY_USERS: &[(&str, &[&str])] = &[
    ("tauri*", &["rouse-desktop"]),
    ("tray-icon", &["rouse-desktop"]),
    ("notify-rust", &["rouse-desktop"]),
    ("sqlx*", &["rouse-store"]),
    ("libsqlite3-sys", &["rouse-store", "rouse-testkit"]),
    ("croner", &["rouse-core"]),
    ("cel", &["rouse-agent"]),
    ("axum*", &["rouse-gateway"]),
    ("tower-http", &["rouse-gateway"]),
    ("hyper*", &["rouse-gateway"]),
    ("tokio-tungstenite", &["rouse-gateway"]),
    ("ts-rs", &["rouse-core", "rouse-gateway"]),
    ("clap*", &["rouse-cli"]),
    ("comfy-table", &["rouse-cli"]),
    ("rig-*", &["rouse-agent"]),
    ("rmcp", &["rouse-mcp"]),
    ("lettre", &["rouse-channels"]),
    ("wasmtime*", &["rouse-wasm"]),
    ("reqwest", &["rouse-agent", "rouse-tools", "rouse-mcp"]),
];

/// The inner crates list every dependency, so no library brings IO in.
const CLOSED_DEPENDENCIES: &[(&str, &[&str])] = &[
    (
        "rouse-core",
        &[
            "chrono",
            "chrono-tz",
            "croner",
            "jiff",
            "jsonschema",
            "pulldown-cmark",
            "regex-automata",
            "regex-syntax",
            "schemars",
            "serde",
            "serde_json",
            "serde_path_to_error",
            "sha2",
            "strsim",
            "strum",
            "thiserror",
            "ts-rs",
            "uuid",
        ],
    ),
    // sqlx runs on tokio, where the only writer waits for its lock. sqlx returns the results of several statements as
    // a stream, which needs futures-util.
    (
        "rouse-store",
        &[
            "chrono",
            "futures-util",
            "serde",
            "serde_json",
            "sqlx",
            "thiserror",
            "tokio",
            "tracing",
            "uuid",
        ],
    ),
    ("rouse-scheduler", &["rustix", "serde_json", "thiserror", "tokio", "tokio-util", "tracing"]),
    ("xtask", &[]),
];

/// The maximum number of crates.
const MAX_CRATES: usize = 12;

/// A workspace member and its normal dependencies.
#[derive(Clone)]
pub(crate) struct Package {
    name: String,
    in_crates: bool,
    imports: Vec<String>,
}

/// The members of this workspace.
pub(crate) fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(source_files::root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"].as_array().expect("a list of packages").iter().map(package).collect()
}

fn package(json: &Value) -> Package {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let crates = source_files::root().join("src-tauri").join("crates");
    let imports = json["dependencies"].as_array().expect("a list of dependencies").iter();
    Package {
        name: text(&json["name"]),
        in_crates: Path::new(&text(&json["manifest_path"])).starts_with(crates),
        imports: imports
            .filter(|import| import["kind"].is_null())
            .map(|import| text(&import["name"]))
            .collect(),
    }
}

/// Every import that the tables do not allow.
pub(crate) fn violations(packages: &[Package]) -> Vec<String> {
    let in_crates = packages.iter().filter(|package| package.in_crates).count();
    let too_many =
        format!("{in_crates} crates under src-tauri/crates; the maximum is {MAX_CRATES}");
    let excess = (in_crates > MAX_CRATES).then_some(too_many);
    excess.into_iter().chain(packages.iter().flat_map(package_violations)).collect()
}

fn package_violations(package: &Package) -> Vec<String> {
    if package.name == TESTS {
        return Vec::new();
    }
    let Some((importer, allowed)) =
        ALLOWED_IMPORTS.iter().find(|(importer, _)| *importer == package.name)
    else {
        return vec![format!("{} is not in the table of crates", package.name)];
    };
    package
        .imports
        .iter()
        .filter_map(|import| import_violation(importer, allowed, import))
        .collect()
}

fn import_violation(importer: &str, allowed: &[&str], import: &str) -> Option<String> {
    let is_crate = import == TESTS || import == "xtask" || import.starts_with("rouse-");
    if is_crate {
        return (!allowed.contains(&import))
            .then(|| format!("{importer} imports {import}; allowed: {allowed:?}"));
    }
    let closed = CLOSED_DEPENDENCIES.iter().find(|(closed, _)| *closed == importer);
    if closed.is_some_and(|(_, libraries)| !libraries.contains(&import)) {
        return Some(format!("{importer} imports {import}, which is not in its list"));
    }
    let (library, users) = LIBRARY_USERS.iter().find(|(library, _)| matches(library, import))?;
    (!users.contains(&importer))
        .then(|| format!("{importer} imports {import}; only {users:?} may use {library}"))
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn importer(name: &str, imports: &[&str]) -> Package {
        let imports = imports.iter().map(ToString::to_string).collect();
        Package { name: name.into(), in_crates: true, imports }
    }

    #[track_caller]
    fn assert_refused(name: &str, import: &str) {
        assert_eq!(
            violations(&[importer(name, &[import])]).len(),
            1,
            "{name} may not import {import}"
        );
    }

    #[test]
    fn forbidden_imports_are_refused() {
        for (name, import) in [
            ("rouse-core", "tokio"),
            ("rouse-core", "sqlx"),
            ("rouse-core", "tauri"),
            ("rouse-core", "reqwest"),
            ("rouse-core", "rouse-store"),
            ("rouse-store", "rouse-scheduler"),
            ("rouse-store", "reqwest"),
            ("rouse-scheduler", "rouse-agent"),
            ("rouse-scheduler", "rouse-tools"),
            ("rouse-scheduler", "rouse-gateway"),
            ("rouse-scheduler", "tauri"),
            ("rouse-scheduler", "chrono"),
            ("rouse-cli", "hyper-util"),
            ("rouse-agent", "rouse-scheduler"),
            ("rouse-agent", "rouse-tools"),
            ("rouse-tools", "rouse-store"),
            ("rouse-tools", "rouse-agent"),
            ("rouse-mcp", "rouse-agent"),
            ("rouse-wasm", "rouse-store"),
            ("rouse-gateway", "tauri-plugin-opener"),
            ("rouse-gateway", "sqlx"),
            ("rouse-gateway", "rouse-tools"),
            ("rouse-host", "clap"),
            ("rouse-host", "tauri"),
            ("rouse-cli", "rouse-store"),
            ("rouse-cli", "tauri"),
            ("rouse-cli", "sqlx"),
            ("rouse-desktop", "rouse-store"),
            ("rouse-desktop", "sqlx"),
            ("rouse-testkit", "rouse-store"),
            ("xtask", "anyhow"),
        ] {
            assert_refused(name, import);
        }
    }

    #[test]
    fn only_tests_import_testkit_and_tests() {
        for (name, _) in ALLOWED_IMPORTS {
            assert_refused(name, "rouse-testkit");
            assert_refused(name, TESTS);
        }
        assert_eq!(
            violations(&[importer(TESTS, &["rouse-testkit", "rouse-store", "tauri"])]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn allowed_imports_pass() {
        let allowed = [
            importer("rouse-core", &["chrono", "uuid"]),
            importer("rouse-store", &["rouse-core", "sqlx"]),
            importer("rouse-host", &["rouse-gateway", "tokio"]),
            importer(
                "rouse-desktop",
                &["rouse-host", "tauri", "tauri-plugin-opener", "notify-rust"],
            ),
        ];
        assert_eq!(violations(&allowed), Vec::<String>::new());
    }

    #[test]
    fn unlisted_crate_and_excess_crate_are_refused() {
        assert_eq!(
            violations(&[importer("rouse-common", &[])]),
            ["rouse-common is not in the table of crates"]
        );
        let crates = vec![importer("rouse-core", &[]); MAX_CRATES + 1];
        assert_eq!(violations(&crates), ["13 crates under src-tauri/crates; the maximum is 12"]);
        assert_eq!(violations(&crates[1..]), Vec::<String>::new());
    }

    #[test]
    fn real_workspace_is_read() {
        let packages = packages();
        let core = packages.iter().find(|package| package.name == "rouse-core").expect("core");
        assert!(core.in_crates);
        assert!(core.imports.contains(&"chrono-tz".to_owned()));
        assert!(!core.imports.contains(&"proptest".to_owned()), "a dev-dependency counts");
        assert!(packages.iter().any(|package| package.name == "xtask" && !package.in_crates));
    }
}
