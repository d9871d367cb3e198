//! The text of a command's approval: the command, the folder and the confinement, writable folders, and unchecked
//! parts.
//!
//! Each fact is a line. Pitfall: a folder's name that reads like such a line, so every line escapes line ends.

use std::time::Duration;

use rouse_core::text::{escape_invisible, escape_line, escape_os_path};
use rouse_core::tool::ToolContext;

use super::call::{Arguments, CallSettings, file_scope};
use super::call_sandbox::describe_access;
use super::confinement::{describe_confinement, is_sandboxed};

const MAX_SCRIPTS_NAMED: usize = 5;

/// Describes a call. `limit` is the time limit, if requested.
pub(super) fn describe(
    arguments: &Arguments,
    context: &ToolContext,
    settings: &CallSettings,
    limit: Option<Duration>,
) -> String {
    let workspace = context.workspace.display();
    let folder = match arguments.cwd.as_deref().filter(|cwd| *cwd != ".") {
        Some(cwd) => format!("in the folder {cwd} of {workspace}"),
        None => format!("in {workspace}"),
    };
    let mut lines = vec![folder];
    if is_sandboxed(&context.sandbox) {
        lines.push(describe_confinement(context));
        // An impossible sandbox is reported by the surroundings, and the call is refused there.
        let sandbox = settings.sandboxes.build(arguments.cwd.as_deref(), context).ok();
        lines.extend(sandbox.map(|sandbox| describe_access(&sandbox)));
    } else {
        // The fingerprint keeps its older text, so that pending approvals stay valid.
        lines.push("outside the sandbox, with your full permissions".to_owned());
    }
    lines.extend(describe_unchecked_scripts(arguments, context, settings));
    lines.extend(limit.map(|limit| format!("for at most {} seconds", limit.as_secs_f64())));
    let lines: Vec<String> = lines.iter().map(|line| escape_line(line)).collect();
    format!("{}\n\n{}", escape_invisible(&arguments.command), lines.join("\n"))
}

/// Names the scripts that may start other programs.
fn describe_unchecked_scripts(
    arguments: &Arguments,
    context: &ToolContext,
    settings: &CallSettings,
) -> Option<String> {
    let scope = file_scope(arguments, context, settings).ok()?;
    let scripts = scope.unchecked_scripts(&arguments.command);
    let named: Vec<String> =
        scripts.iter().take(MAX_SCRIPTS_NAMED).map(|path| escape_os_path(path)).collect();
    let subject = match scripts.len() {
        0 => return None,
        1 => "this script starts",
        _ => "these scripts start",
    };
    Some(format!("Not checked: programs that {subject} ({}).", named.join(", ")))
}
