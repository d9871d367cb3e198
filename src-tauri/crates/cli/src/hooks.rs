//! `rouse hooks`: the commands of the settings file that are told of runs or asked about them, and how they do.

use rouse_core::Clock as _;
use rouse_core::schedule::format_duration;
use rouse_gateway::wire::{HookView, HooksListResult};
use serde_json::json;

use crate::config;
use crate::exit::Failure;
use crate::output::{instant, plain, print, short, table};
use crate::session::Session;
use crate::troubles;

pub(crate) async fn run(session: &Session) -> Result<(), Failure> {
    if session.json {
        return session.show("hooks.list", json!({}), |_, _: HooksListResult| Ok(())).await;
    }
    let view = config::in_force(session).await?;
    session
        .show("hooks.list", json!({}), |session, found: HooksListResult| {
            print_table(session, &found.hooks);
            let wrong = (0..found.hooks.len()).filter_map(|place| troubles::of_hook(&view, place));
            wrong.for_each(|what| anstream::eprintln!("Warning: {}", plain(what)));
            Ok(())
        })
        .await
}

fn print_table(session: &Session, hooks: &[HookView]) {
    if hooks.is_empty() {
        anstream::println!(
            "No hooks. The settings file names them; `rouse config get` says where it is."
        );
        return;
    }
    let mut table = table(&["ON", "COMMAND", "AT MOST", "LAST"]);
    for hook in hooks {
        table.add_row([
            hook.on.clone(),
            short(&hook.command.join(" "), 60),
            format_duration(i64::try_from(hook.timeout_ms).unwrap_or(i64::MAX)),
            last(session, hook),
        ]);
    }
    print(&table);
}

fn last(session: &Session, hook: &HookView) -> String {
    let Some(last) = &hook.last else { return "not needed yet".to_owned() };
    let at = instant(last.at_ms, session.clock.now().0, session.clock.zone());
    match &last.problem {
        Some(problem) => plain(&format!("failed {at}: {}", short(problem, 120))),
        None => format!("{at}, {} times", hook.calls),
    }
}
