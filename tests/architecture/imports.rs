//! Who may import whom: the table of rooms, read against `cargo metadata`.
//!
//! Owns three tables: which rooms a room may import, which libraries have one home, and what the two innermost rooms may
//! use at all. Only normal dependencies count; a test may import what it likes. One could get it wrong by reading the
//! manifests as text: renamed and target-specific dependencies would slip through.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::tree;

/// Rooms and the rooms they may import. A crate that is not here has no place in the house.
const ROOMS: &[(&str, &[&str])] = &[
    ("rouse-core", &[]),
    ("rouse-store", &["rouse-core"]),
    ("rouse-scheduler", &["rouse-core", "rouse-store"]),
    ("rouse-agent", &["rouse-core", "rouse-store"]),
    ("rouse-tools", &["rouse-core"]),
    ("rouse-mcp", &["rouse-core"]),
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
            "rouse-wasm",
            "rouse-gateway",
        ],
    ),
    ("rouse-cli", &["rouse-core", "rouse-gateway", "rouse-host"]),
    ("rouse-testkit", &["rouse-core"]),
    ("rouse-desktop", &["rouse-core", "rouse-gateway", "rouse-host"]),
    ("xtask", &[]),
];

/// Whole-system tests see every room, and are seen by none.
const TESTS: &str = "rouse-tests";

/// Libraries and the rooms they live in; a `*` stands for the rest of the name.
const HOMES: &[(&str, &[&str])] = &[
    ("tauri*", &["rouse-desktop"]),
    ("tray-icon", &["rouse-desktop"]),
    ("notify-rust", &["rouse-desktop"]),
    ("sqlx*", &["rouse-store"]),
    ("libsqlite3-sys", &["rouse-store", "rouse-testkit"]),
    // Its dialect is ours; core holds itself beside it in tests alone.
    ("croner", &[]),
    ("cel", &["rouse-agent"]),
    ("axum*", &["rouse-gateway"]),
    ("tower-http", &["rouse-gateway"]),
    ("hyper*", &["rouse-gateway"]),
    ("tokio-tungstenite", &["rouse-gateway"]),
    ("ts-rs", &["rouse-gateway"]),
    ("clap*", &["rouse-cli"]),
    ("comfy-table", &["rouse-cli"]),
    ("rig-*", &["rouse-agent"]),
    ("rmcp", &["rouse-mcp"]),
    ("wasmtime*", &["rouse-wasm"]),
    ("reqwest", &["rouse-agent", "rouse-tools", "rouse-mcp"]),
];

/// The innermost rooms name everything they use: no IO can come in by way of a library.
const CLOSED: &[(&str, &[&str])] = &[
    (
        "rouse-core",
        &[
            "chrono",
            "chrono-tz",
            "html-escape",
            "jiff",
            "regex-automata",
            "regex-syntax",
            "serde",
            "serde_json",
            "serde_path_to_error",
            "sha2",
            "strsim",
            "thiserror",
            "uuid",
        ],
    ),
    // tokio is what sqlx runs on; the one writer waits for its lock there. What several statements answer together, sqlx
    // hands over as a stream, which takes futures-util to read.
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

/// More crates than this, and a wall stands where a module would do.
const MOST_CRATES: usize = 11;

/// A workspace member and what it imports outside of its tests.
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
        .current_dir(tree::root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"].as_array().expect("a list of packages").iter().map(package).collect()
}

fn package(json: &Value) -> Package {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let crates = tree::root().join("src-tauri").join("crates");
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
pub(crate) fn offenders(packages: &[Package]) -> Vec<String> {
    let in_crates = packages.iter().filter(|package| package.in_crates).count();
    let too_many =
        format!("{in_crates} crates under src-tauri/crates; {MOST_CRATES} is the ceiling");
    let crowd = (in_crates > MOST_CRATES).then_some(too_many);
    crowd.into_iter().chain(packages.iter().flat_map(of_package)).collect()
}

fn of_package(package: &Package) -> Vec<String> {
    if package.name == TESTS {
        return Vec::new();
    }
    let Some((room, may)) = ROOMS.iter().find(|(room, _)| *room == package.name) else {
        return vec![format!("{} is not in the table of rooms", package.name)];
    };
    package.imports.iter().filter_map(|import| reason_against(room, may, import)).collect()
}

fn reason_against(room: &str, may: &[&str], import: &str) -> Option<String> {
    let is_room = import == TESTS || import == "xtask" || import.starts_with("rouse-");
    if is_room {
        return (!may.contains(&import))
            .then(|| format!("{room} imports {import}; it may import {may:?}"));
    }
    let closed = CLOSED.iter().find(|(closed, _)| *closed == room);
    if closed.is_some_and(|(_, allowed)| !allowed.contains(&import)) {
        return Some(format!("{room} imports {import}, which is not on its list"));
    }
    let (library, homes) = HOMES.iter().find(|(library, _)| matches(library, import))?;
    (!homes.contains(&room))
        .then(|| format!("{room} imports {import}; {library} lives in {homes:?}"))
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(name: &str, imports: &[&str]) -> Package {
        let imports = imports.iter().map(ToString::to_string).collect();
        Package { name: name.into(), in_crates: true, imports }
    }

    #[track_caller]
    fn refused(name: &str, import: &str) {
        assert_eq!(offenders(&[room(name, &[import])]).len(), 1, "{name} may not import {import}");
    }

    #[test]
    fn every_wall_of_the_design_holds() {
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
            refused(name, import);
        }
    }

    #[test]
    fn nothing_but_tests_imports_the_testkit_or_the_tests() {
        for (name, _) in ROOMS {
            refused(name, "rouse-testkit");
            refused(name, TESTS);
        }
        assert_eq!(
            offenders(&[room(TESTS, &["rouse-testkit", "rouse-store", "tauri"])]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_the_table_allows_passes() {
        let fine = [
            room("rouse-core", &["chrono", "uuid"]),
            room("rouse-store", &["rouse-core", "sqlx"]),
            room("rouse-host", &["rouse-gateway", "tokio"]),
            room("rouse-desktop", &["rouse-host", "tauri", "tauri-plugin-opener", "notify-rust"]),
        ];
        assert_eq!(offenders(&fine), Vec::<String>::new());
    }

    #[test]
    fn a_crate_without_a_room_and_a_twelfth_crate_are_refused() {
        assert_eq!(
            offenders(&[room("rouse-common", &[])]),
            ["rouse-common is not in the table of rooms"]
        );
        let crates = vec![room("rouse-core", &[]); MOST_CRATES + 1];
        assert_eq!(offenders(&crates), ["12 crates under src-tauri/crates; 11 is the ceiling"]);
        assert_eq!(offenders(&crates[1..]), Vec::<String>::new());
    }

    #[test]
    fn the_real_workspace_is_read() {
        let packages = packages();
        let core = packages.iter().find(|package| package.name == "rouse-core").expect("core");
        assert!(core.in_crates);
        assert!(core.imports.contains(&"chrono-tz".to_owned()));
        assert!(!core.imports.contains(&"proptest".to_owned()), "a test's import counts");
        assert!(packages.iter().any(|package| package.name == "xtask" && !package.in_crates));
    }
}
