//! The approval card of a command: the command, where and how it runs, what it can write, and what was not checked.
//!
//! Owns the words and their order. Each of them is one line, whatever a folder is called: a name must not look like a
//! sentence of Rouse.

use std::time::Duration;

use rouse_core::tool::ToolContext;
use rouse_core::visible::{visible, visible_line, visible_os_path};

use super::confined::{confinement, is_confined};
use super::room::{self, Rooms};
use super::{Arguments, named};

/// The scripts that a card names.
const MOST_SCRIPTS: usize = 5;

/// The card of a call whose time limit is `limit` when the call asks for one.
pub(super) fn card(
    arguments: &Arguments,
    context: &ToolContext,
    rooms: &Rooms,
    limit: Option<Duration>,
) -> String {
    let workspace = context.workspace.display();
    let place = match arguments.cwd.as_deref().filter(|cwd| *cwd != ".") {
        Some(cwd) => format!("in the folder {cwd} of {workspace}"),
        None => format!("in {workspace}"),
    };
    let mut lines = vec![place, confinement(context)];
    if is_confined(&context.sandbox) {
        // A room that cannot be had is told by the surroundings, and the call is refused there.
        lines.extend(rooms.of(arguments, context).ok().map(|room| room::described(&room)));
    }
    lines.extend(unchecked(arguments, context, rooms));
    lines.extend(limit.map(|limit| format!("for at most {} seconds", limit.as_secs_f64())));
    let lines: Vec<String> = lines.iter().map(|line| visible_line(line)).collect();
    format!("{}\n\n{}", visible(&arguments.command), lines.join("\n"))
}

/// What a person has to know of the scripts that the line runs.
fn unchecked(arguments: &Arguments, context: &ToolContext, rooms: &Rooms) -> Option<String> {
    let named = named(arguments, context, rooms).ok()?;
    let scripts = named.unchecked_scripts(&arguments.command);
    let all: Vec<String> =
        scripts.iter().take(MOST_SCRIPTS).map(|path| visible_os_path(path)).collect();
    match scripts.len() {
        0 => None,
        1 => Some(format!("What this script starts is not checked: {}.", all.join(", "))),
        _ => Some(format!("What these scripts start is not checked: {}.", all.join(", "))),
    }
}
