//! `[[hooks]]`: commands of the person's that are told of a step of a run, or asked about it.
//!
//! Only the file can name one, never a client: whoever could write a hook could run anything. A program is a bare name or
//! a whole path, and not one inside the workspace, where a model writes.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rouse_agent::{HookCommand, HookPoint};
use rouse_core::json_fields::{FieldError, Fields, kind_of};
use rouse_core::schedule::parse_duration;
use serde_json::Value;

/// How long a hook may take when it does not say.
const USUAL: Duration = Duration::from_secs(10);

/// The most that a hook may ask for: everything waits for one that is asked.
const MOST_MS: i64 = 10 * 60_000;

/// Reads the list; what is wrong goes into `errors`.
pub(super) fn read(
    list: Option<Value>,
    errors: &mut Vec<FieldError>,
    asked: &mut Vec<String>,
) -> Vec<HookCommand> {
    let items = match list {
        None => return Vec::new(),
        Some(Value::Array(items)) => items,
        Some(other) => {
            let message =
                format!("expected a list of hooks ([[hooks]]), found {}", kind_of(&other));
            errors.push(FieldError { path: "hooks".to_owned(), message });
            return Vec::new();
        }
    };
    let hook =
        |(number, item)| read_one(Fields::noting(&format!("hooks[{number}]"), item, errors, asked));
    items.into_iter().enumerate().filter_map(hook).collect()
}

fn read_one(mut fields: Fields<'_>) -> Option<HookCommand> {
    let on = fields.choice("on", &HookPoint::ALL);
    if on.is_none() {
        let names: Vec<&str> = HookPoint::ALL.iter().map(|(name, _)| *name).collect();
        fields.complain_once("on", format!("is required: one of {}", names.join(", ")));
    }
    let command = fields.texts("command").unwrap_or_default();
    let is_program = command.first().is_some_and(|program| {
        let path = Path::new(program);
        path.is_absolute() || (path.components().count() == 1 && !program.trim().is_empty())
    });
    if !is_program {
        let expected =
            "expected a list: a program, by its name or its whole path, and its arguments";
        fields.complain_once("command", expected);
    }
    let timeout = match fields.text("timeout").map(|text| parse_duration(&text)) {
        None => Some(USUAL),
        Some(Ok(ms @ 1..=MOST_MS)) => u64::try_from(ms).ok().map(Duration::from_millis),
        Some(_) => {
            fields.complain("timeout", "expected a duration of at most 10m, such as 5s");
            None
        }
    };
    Some(HookCommand { on: on?, command: is_program.then_some(command)?, timeout: timeout? })
}

/// No program may stand where a model can write it. Hooks run in `data`, so that is where a word without a whole path leads
/// from; a word can also be a line for a shell, of which every part is looked at.
pub(super) fn refuse_workspace(
    hooks: &[HookCommand],
    data: &Path,
    workspace: &Path,
    errors: &mut Vec<FieldError>,
) {
    let workspace = leads_to(workspace);
    for (number, hook) in hooks.iter().enumerate() {
        let inside = |part: &&str| leads_to(&data.join(part)).starts_with(&workspace);
        let parts = hook.command.iter().flat_map(|word| {
            let parts = word.split(|c: char| c.is_whitespace() || "\"'`;|&()<>=".contains(c));
            std::iter::once(word.as_str()).chain(parts.filter(|part| !part.is_empty()))
        });
        if let Some(part) = parts.into_iter().find(inside) {
            let message = format!("{part} is in the workspace, where an agent could change it");
            errors.push(FieldError { path: format!("hooks[{number}].command"), message });
        }
    }
}

/// Where a path leads, with links followed as far as there is anything.
fn leads_to(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            part => clean.push(part),
        }
        clean = std::fs::canonicalize(&clean).unwrap_or(clean);
    }
    clean
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hooks(list: Value) -> Result<Vec<HookCommand>, Vec<String>> {
        let mut errors = Vec::new();
        let hooks = read(Some(list), &mut errors, &mut Vec::new());
        refuse_workspace(
            &hooks,
            Path::new("/home/anna"),
            Path::new("/home/anna/notes"),
            &mut errors,
        );
        let said = errors.into_iter().map(|error| format!("{}: {}", error.path, error.message));
        let said: Vec<String> = said.collect();
        if said.is_empty() { Ok(hooks) } else { Err(said) }
    }

    #[test]
    fn hooks_are_read_in_their_order() {
        let list = json!([
            {"on": "before_tool_call", "command": ["/usr/bin/guard", "--strict"], "timeout": "3s"},
            {"on": "run_finished", "command": ["logger"]},
        ]);
        let expected = [
            (HookPoint::BeforeToolCall, vec!["/usr/bin/guard", "--strict"], Duration::from_secs(3)),
            (HookPoint::RunFinished, vec!["logger"], USUAL),
        ];
        let expected = expected.map(|(on, command, timeout)| {
            let command = command.into_iter().map(str::to_owned).collect();
            HookCommand { on, command, timeout }
        });
        assert_eq!(hooks(list), Ok(expected.to_vec()));
        assert_eq!(read(None, &mut Vec::new(), &mut Vec::new()), []);
    }

    #[test]
    fn what_is_wrong_is_said_by_its_place() {
        let good = json!({"on": "run_started", "command": ["x"]});
        for (list, said) in [
            (json!({"on": "run_started"}), "hooks: expected a list of hooks"),
            (
                json!([good, {"command": ["x"]}]),
                "hooks[1].on: is required: one of after_tools_resolved",
            ),
            (json!([{"on": "sometimes", "command": ["x"]}]), "hooks[0].on: expected one of"),
            (json!([{"on": "run_started"}]), "hooks[0].command: expected a list"),
            (json!([{"on": "run_started", "command": []}]), "hooks[0].command: expected a list"),
            (
                json!([{"on": "run_started", "command": ["./x"]}]),
                "hooks[0].command: expected a list",
            ),
            (
                json!([{"on": "run_started", "command": ["bin/x"]}]),
                "hooks[0].command: expected a list",
            ),
            (
                json!([{"on": "run_started", "command": ["x"], "timeout": "1h"}]),
                "hooks[0].timeout: ",
            ),
            (
                json!([{"on": "run_started", "command": ["/home/anna/notes/x"]}]),
                "hooks[0].command: /home/anna/notes/x is in",
            ),
            (
                json!([{"on": "run_started", "command": ["sh", "/home/anna/notes/x"]}]),
                "hooks[0].command: /home/anna/notes/x is in",
            ),
            (
                json!([{"on": "run_started", "command": ["sh", "notes/x"]}]),
                "hooks[0].command: notes/x is in",
            ),
            (
                json!([{"on": "run_started", "command": ["sh", "./bin/../notes/x"]}]),
                "hooks[0].command: ./bin/../notes/x is in",
            ),
            (
                json!([{"on": "run_started", "command": ["sh", "-c", "cd notes && ./x"]}]),
                "hooks[0].command: notes is in",
            ),
            (
                json!([{"on": "run_started", "command": ["sh", "-c", "true; FILE='notes/x' y"]}]),
                "hooks[0].command: notes/x is in",
            ),
        ] {
            let errors = hooks(list.clone()).expect_err("refused");
            assert!(errors.iter().any(|error| error.starts_with(said)), "{list}: {errors:?}");
        }
    }
}
