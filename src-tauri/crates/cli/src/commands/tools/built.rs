//! `rouse tools build | check | add | built | source | remove`: tools that people and agents make.
//!
//! Owns the words of a check. The consent page and its acceptance are those of `rouse mcp add`. Pitfall: a relative path;
//! the engine has another working directory.

use rouse_core::extension::{ToolBuild, ToolTestResult};
use rouse_gateway::wire::{
    ChangeResult, ToolBuildDetail, ToolBuildSummary, ToolBuildsResult, ToolsBuildResult,
};
use serde_json::json;

use crate::commands::follow;
use crate::commands::mcp::{InstallOffer, offer_install};
use crate::render::facts::{fact, fact_lines};
use crate::render::table::{new_table, print_rows};
use crate::render::text::{counted, escape, shorten};
use crate::render::time::local_time;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::paths::absolute_path;

/// The characters of a hash in a table.
const SHOWN_HASH: usize = 12;

/// Field paths of the gateway and their names on the command line.
const FIELD_NAMES: [(&str, &str); 6] = [
    ("task", "TASK"),
    ("tool", "--tool"),
    ("payload.model", "--model"),
    ("folder", "FOLDER"),
    ("name", "NAME"),
    ("hash", "--hash"),
];

#[derive(Debug, clap::Args)]
pub(super) struct BuildArgs {
    /// What the tool does, in your words
    task: String,
    /// Built tool to change [default: a new tool]
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Model as provider/model [default: the active model]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct AddArgs {
    /// Folder with tool.toml and tool.js or tool.wasm
    #[arg(value_name = "FOLDER")]
    folder: String,
    /// Hash of the page that you have read [default: print the page and ask]
    #[arg(long, value_name = "HASH")]
    accept: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct SourceArgs {
    /// Built tool
    name: String,
    /// Version by its hash [default: the version checked last]
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
}

/// Starts a run that builds a tool, and follows it until the end.
pub(super) async fn build(args: BuildArgs, engine: &EngineConnection) -> Result<(), CliError> {
    let BuildArgs { task, tool, model } = args;
    let events = follow::subscribe(engine).await?;
    let params = json!({ "task": task, "tool": tool, "model": model });
    let started = engine.fetch("tools.build", params).await;
    let started: ToolsBuildResult =
        started.map_err(|error| error.with_field_names(&FIELD_NAMES))?;
    anstream::eprintln!(
        "An agent builds the tool in the run {}. It asks you before the tool is installed.",
        started.run_id
    );
    follow::wait_for_end(events, &started.run_id, engine).await
}

/// Checks a folder. A failed check is an error.
pub(super) async fn check(folder: &str, engine: &EngineConnection) -> Result<(), CliError> {
    let build = check_folder(folder, engine).await?;
    if engine.json {
        anstream::println!("{}", serde_json::to_string_pretty(&build)?);
    } else {
        print_check(&build);
    }
    if build.passed() {
        return Ok(());
    }
    Err(anyhow::anyhow!("The tool {} did not pass its check.", build.name).into())
}

/// Checks a folder, then shows its consent page and installs the tool after the consent.
pub(super) async fn add(args: AddArgs, engine: &EngineConnection) -> Result<(), CliError> {
    let AddArgs { folder, accept } = args;
    let build = check_folder(&folder, engine).await?;
    if !build.passed() {
        print_check(&build);
        let name = &build.name;
        return Err(anyhow::anyhow!("{name} was not installed: its check did not pass.").into());
    }
    let path = absolute_path("FOLDER", &folder)?;
    let server = json!({ "transport": { "kind": "wasm" } });
    let source = json!({ "kind": "tool", "path": path });
    let params = json!({ "name": build.name, "server": server, "source": source });
    let offer = InstallOffer { name: &build.name, params, accept, verb: "add", secrets: &[] };
    offer_install(engine, offer).await
}

async fn check_folder(folder: &str, engine: &EngineConnection) -> Result<ToolBuild, CliError> {
    engine.require_this_computer("FOLDER")?;
    let params = json!({ "folder": absolute_path("FOLDER", folder)? });
    if !engine.json {
        anstream::eprintln!("Checking {} …", escape(folder));
    }
    let checked = engine.fetch("tools.check", params).await;
    checked.map_err(|error| error.with_field_names(&FIELD_NAMES))
}

/// Lists the built tools.
pub(super) async fn list(engine: &EngineConnection) -> Result<(), CliError> {
    engine
        .show("tools.builds", json!({}), |engine, found: ToolBuildsResult| {
            if found.builds.is_empty() {
                anstream::println!("No built tools. Build one: rouse tools build 'TASK'");
                return;
            }
            print_versions(engine, &found.builds);
        })
        .await
}

/// Shows a version with its tests and files.
pub(super) async fn source(args: SourceArgs, engine: &EngineConnection) -> Result<(), CliError> {
    let params = json!({ "name": args.name, "hash": args.hash });
    let shown = engine.show("tools.source", params, |engine, detail: ToolBuildDetail| {
        let build = &detail.build;
        let mut facts = vec![
            fact("State", build.state.name()),
            fact("Hash", &*build.hash),
            fact("Checked", local_time(engine, build.checked_at.0)),
        ];
        facts.extend(detail.reach.map(|reach| fact("Reach", escape(&reach))));
        facts.extend(detail.folder.map(|folder| fact("Folder", escape(&folder))));
        anstream::println!("{}", build.name);
        for line in fact_lines(&facts) {
            anstream::println!("  {line}");
        }
        print_check(build);
        for file in &build.files {
            anstream::println!("\n{} ({} bytes)", escape(&file.path), file.bytes);
            let text = file.text.as_deref().unwrap_or("(no text)");
            text.lines().for_each(|line| anstream::println!("  {}", escape(line)));
        }
        anstream::println!("\nVersions");
        print_versions(engine, &detail.versions);
    });
    shown.await.map_err(|error| error.with_field_names(&FIELD_NAMES))
}

/// Removes the versions.
pub(super) async fn remove(name: &str, engine: &EngineConnection) -> Result<(), CliError> {
    let removed = engine.show("tools.removeBuilds", json!({ "name": name }), |_, result| {
        let ChangeResult { changed } = result;
        if changed {
            anstream::println!(
                "The versions of {name} are removed. An installed tool stays; remove it: rouse extensions remove {name}"
            );
        } else {
            anstream::println!("There is no built tool {}.", escape(name));
        }
    });
    removed.await.map_err(|error| error.with_field_names(&FIELD_NAMES))
}

fn print_check(build: &ToolBuild) {
    let passed = build.tests.iter().filter(|test| test.passed).count();
    let tests = counted(build.tests.len(), "test");
    let (engine, version) = (&build.engine, &build.engine_version);
    if build.tests.is_empty() {
        anstream::println!("{}: not tested, because of the errors", build.name);
    } else {
        anstream::println!("{}: {passed} of {tests} passed, {engine} {version}", build.name);
    }
    for error in &build.errors {
        anstream::println!("  error: {}", escape(error));
    }
    build.tests.iter().for_each(print_test);
    if build.is_tainted {
        anstream::println!("  The run had read untrusted input before it wrote this version.");
    }
}

fn print_test(test: &ToolTestResult) {
    let state = if test.passed { "passed" } else { "failed" };
    anstream::println!("  {state}: {}", escape(&test.name));
    for line in test.message.iter().chain(&test.log) {
        anstream::println!("    {}", escape(line));
    }
}

fn print_versions(engine: &EngineConnection, builds: &[ToolBuildSummary]) {
    let mut table = new_table(&["TOOL", "STATE", "TESTS", "CHECKED", "HASH", "DESCRIPTION"]);
    for build in builds {
        let description = build.description.as_deref().unwrap_or_default();
        table.add_row([
            build.name.clone(),
            build.state.name().to_owned(),
            format!("{} of {}", build.passed_tests, build.tests),
            local_time(engine, build.checked_at_ms),
            build.hash.chars().take(SHOWN_HASH).collect(),
            shorten(&escape(description), 60),
        ]);
    }
    print_rows(&table);
}
