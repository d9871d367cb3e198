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
/// from; a word can also be a line for a shell, of which every part is looked at. What goes there in a roundabout way (a
/// pattern, a variable, a script elsewhere) is not seen.
pub(super) fn refuse_workspace(
    hooks: &[HookCommand],
    data: &Path,
    workspace: &Path,
    errors: &mut Vec<FieldError>,
) {
    let workspace = leads_to(workspace);
    for (number, hook) in hooks.iter().enumerate() {
        let inside = |path: &String| leads_to(&data.join(path)).starts_with(&workspace);
        if let Some(part) = hook.command.iter().flat_map(|word| paths_in(word, data)).find(inside) {
            let message = format!("{part} is in the workspace, where an agent could change it");
            errors.push(FieldError { path: format!("hooks[{number}].command"), message });
        }
    }
}

/// What may be paths in a word: the word, and the parts of it as a line for a shell or a list of folders. A part without a
/// slash is one only where a shell goes into it: else it is a word like others.
fn paths_in(word: &str, data: &Path) -> Vec<String> {
    let home = std::env::var("HOME").unwrap_or_default();
    let here = data.display().to_string();
    let word = [("${HOME}", &home), ("$HOME", &home), ("${PWD}", &here), ("$PWD", &here)]
        .into_iter()
        .chain([("$(pwd)", &here), ("file://", &String::new())])
        .fold(word.to_owned(), |word, (from, to)| word.replace(from, to));
    let mut paths = vec![word.clone()];
    let mut goes_in = false;
    for part in word.split(|c: char| c.is_whitespace() || "\"'`;|&()<>=:@{},".contains(c)) {
        // A path can be glued to a flag.
        let path = match part.strip_prefix("~/") {
            Some(rest) => format!("{home}/{rest}"),
            None if part.starts_with('-') => part.find('/').map_or("", |at| &part[at..]).to_owned(),
            None => part.to_owned(),
        };
        if path.contains('/') || (goes_in && !path.is_empty()) {
            paths.push(path);
        }
        goes_in = matches!(part, "cd" | "pushd" | "chdir" | "-C") || (goes_in && part.is_empty());
    }
    paths
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
            {"on": "run_finished", "command": ["logger", "what is in notes"]},
        ]);
        let expected = [
            (HookPoint::BeforeToolCall, vec!["/usr/bin/guard", "--strict"], Duration::from_secs(3)),
            (HookPoint::RunFinished, vec!["logger", "what is in notes"], USUAL),
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
            (
                json!([{"on": "run_started", "command": ["sh", "-c", "sh $PWD/notes/x"]}]),
                "hooks[0].command: /home/anna/notes/x is in",
            ),
            (
                json!([{"on": "run_started", "command": ["env", "-C/home/anna/notes", "./x"]}]),
                "hooks[0].command: /home/anna/notes is in",
            ),
            (
                json!([{"on": "run_started", "command": ["env", "PATH=/bin:/home/anna/notes", "x"]}]),
                "hooks[0].command: /home/anna/notes is in",
            ),
            (
                json!([{"on": "run_started", "command": ["curl", "-d@notes/x", "file:///home/anna/notes/x"]}]),
                "hooks[0].command: notes/x is in",
            ),
        ] {
            let errors = hooks(list.clone()).expect_err("refused");
            assert!(errors.iter().any(|error| error.starts_with(said)), "{list}: {errors:?}");
        }
    }
}
