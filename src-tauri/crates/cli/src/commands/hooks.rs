//! `rouse hooks`: the hooks of the settings file and their last calls.

use rouse_core::schedule::format_duration;
use rouse_gateway::wire::{HookView, HooksListResult};
use serde_json::json;

use crate::render::table::{new_table, print_rows};
use crate::render::text::{escape, shorten};
use crate::render::time::local_time;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::settings::{hook_problem, read_settings};

pub(crate) async fn run(engine: &EngineConnection) -> Result<(), CliError> {
    if engine.json {
        return engine.show("hooks.list", json!({}), |_, _: HooksListResult| ()).await;
    }
    let settings = read_settings(engine).await?;
    engine
        .show("hooks.list", json!({}), |engine, found: HooksListResult| {
            print_hooks(engine, &found.hooks);
            for problem in (0..found.hooks.len()).filter_map(|at| hook_problem(&settings, at)) {
                anstream::eprintln!("Warning: {}", escape(problem));
            }
        })
        .await
}

fn print_hooks(engine: &EngineConnection, hooks: &[HookView]) {
    if hooks.is_empty() {
        anstream::println!(
            "No hooks. The settings file, which `rouse config get` names, defines hooks."
        );
        return;
    }
    let mut table = new_table(&["ON", "COMMAND", "TIMEOUT", "LAST CALL"]);
    for hook in hooks {
        table.add_row([
            hook.on.clone(),
            shorten(&hook.command.join(" "), 60),
            format_duration(i64::try_from(hook.timeout_ms).unwrap_or(i64::MAX)),
            last_call(engine, hook),
        ]);
    }
    print_rows(&table);
}

fn last_call(engine: &EngineConnection, hook: &HookView) -> String {
    let Some(last) = &hook.last else { return "none yet".to_owned() };
    let at = local_time(engine, last.at_ms);
    match &last.problem {
        Some(problem) => escape(&format!("failed {at}: {}", shorten(problem, 120))),
        None => format!("{at}, {} times", hook.calls),
    }
}
