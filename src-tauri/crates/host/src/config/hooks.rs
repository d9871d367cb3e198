//! `[[hooks]]`: commands at steps of a run.
//!
//! Owns the rules for a hook's program. Only the file names hooks, never a client: a hook can run anything. A program is a
//! bare name or an absolute path. No path of a command may lead into the workspace, where an agent writes.
//! Pitfall: a path that a shell computes (a variable, a pattern, a `cd`) is not seen.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rouse_agent::HookCommand;
use rouse_core::json_fields::FieldError;
use rouse_core::settings::HookSection;

/// The commands of `hooks`. Invalid programs are added to `errors`.
pub(super) fn commands(hooks: &[HookSection], errors: &mut Vec<FieldError>) -> Vec<HookCommand> {
    let mut commands = Vec::new();
    for (number, hook) in hooks.iter().enumerate() {
        if let Some(message) = program_violation(hook.command.first()) {
            errors.push(FieldError { path: format!("hooks[{number}].command"), message });
        }
        let timeout = Duration::from_millis(hook.timeout_ms.unsigned_abs());
        commands.push(HookCommand { on: hook.on, command: hook.command.clone(), timeout });
    }
    commands
}

fn program_violation(program: Option<&String>) -> Option<String> {
    let program = program.map_or("", |program| program.trim());
    let path = Path::new(program);
    if path.is_absolute() || (path.components().count() == 1 && !program.starts_with('~')) {
        return None;
    }
    Some(match program.strip_prefix('~') {
        Some(_) => format!("only a shell expands the `~` of {program}; write the whole path"),
        None => "expected a list: a program, by its name or its whole path, and its arguments"
            .to_owned(),
    })
}

/// Folders that paths of hooks are resolved with.
pub(super) struct HookFolders<'a> {
    /// The working directory of hooks.
    pub(super) data: &'a Path,
    pub(super) workspace: &'a Path,
    /// The home folder of the user; empty if unknown.
    pub(super) home: &'a str,
}

/// Refuses commands with a path into the workspace.
pub(super) fn refuse_workspace_paths(
    hooks: &[HookCommand],
    folders: &HookFolders<'_>,
    errors: &mut Vec<FieldError>,
) {
    let workspace = resolve(folders.workspace);
    for (number, hook) in hooks.iter().enumerate() {
        let is_inside = |path: &String| resolve(&folders.data.join(path)).starts_with(&workspace);
        let mut paths = hook.command.iter().flat_map(|word| paths_in(word, folders));
        if let Some(path) = paths.find(is_inside) {
            let message = format!("{path} is in the workspace, where an agent could change it");
            errors.push(FieldError { path: format!("hooks[{number}].command"), message });
        }
    }
}

/// Paths in a word of a command: the word, and the parts with a slash if the word is a line for a shell.
fn paths_in(word: &str, folders: &HookFolders<'_>) -> Vec<String> {
    let data = folders.data.display().to_string();
    let variables =
        [("${HOME}", folders.home), ("$HOME", folders.home), ("${PWD}", &data), ("$PWD", &data)];
    let expand = |text: &str| {
        variables.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    };
    // An unpaired quote ends no word.
    let by_spaces = || word.split_whitespace().map(str::to_owned).collect();
    let shell_words = shlex::split(word).unwrap_or_else(by_spaces);
    let separates = |c: char| "=:@;|&<>()".contains(c);
    let parts = shell_words.iter().flat_map(|word| {
        let parts = word.split(separates).filter(|part| part.contains('/'));
        parts.map(|part| match part.strip_prefix("~/") {
            Some(rest) => format!("{}/{rest}", folders.home),
            None if part.starts_with('-') => part[part.find('/').unwrap_or(0)..].to_owned(),
            None => expand(part),
        })
    });
    let whole_words = shell_words.iter().filter(|word| word.contains('/')).map(|word| expand(word));
    let whole = std::iter::once(expand(word));
    whole.chain(whole_words).chain(parts).filter(|path| !path.is_empty()).collect()
}

/// The absolute path without `.` and `..`, with the links that exist followed.
fn resolve(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            part => resolved.push(part),
        }
        resolved = std::fs::canonicalize(&resolved).unwrap_or(resolved);
    }
    resolved
}

#[cfg(test)]
mod tests {
    use rouse_core::schedule::Zones;
    use rouse_core::settings::{HookPoint, read_settings};
    use serde_json::{Value, json};

    use super::*;

    fn hooks(list: &Value) -> Result<Vec<HookCommand>, Vec<String>> {
        let mut errors = Vec::new();
        let zones = Zones::built_in(chrono_tz::UTC);
        let hooks = match read_settings(json!({ "hooks": list }), &zones) {
            Ok(settings) => commands(&settings.hooks, &mut errors),
            Err(violations) => return Err(violations.iter().map(ToString::to_string).collect()),
        };
        refuse_workspace_paths(&hooks, &folders("/home/anna", "/home/anna/notes"), &mut errors);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        if errors.is_empty() { Ok(hooks) } else { Err(errors) }
    }

    fn folders<'a>(data: &'a str, workspace: &'a str) -> HookFolders<'a> {
        HookFolders { data: Path::new(data), workspace: Path::new(workspace), home: data }
    }

    #[test]
    fn hooks_keep_the_order_of_the_file() {
        let list = json!([
            {"on": "before_tool_call", "command": ["/usr/bin/guard", "--strict"], "timeout": "3s"},
            {"on": "run_finished", "command": ["logger", "what is in notes"]},
        ]);
        let expected = [
            (HookPoint::BeforeToolCall, vec!["/usr/bin/guard", "--strict"], 3),
            (HookPoint::RunFinished, vec!["logger", "what is in notes"], 10),
        ];
        let expected = expected.map(|(on, command, seconds)| {
            let command = command.into_iter().map(str::to_owned).collect();
            HookCommand { on, command, timeout: Duration::from_secs(seconds) }
        });
        assert_eq!(hooks(&list), Ok(expected.to_vec()));
        assert_eq!(hooks(&json!([])), Ok(Vec::new()));
    }

    #[test]
    fn invalid_hook_is_reported_by_its_key() {
        let valid = json!({"on": "run_started", "command": ["x"]});
        let with_command = |command: Value| json!([{"on": "run_started", "command": command}]);
        for (list, error) in [
            (
                json!({"on": "run_started"}),
                "hooks: expected a list of tables ([[hooks]]), found an object",
            ),
            (
                json!([valid, {"command": ["x"]}]),
                "hooks[1].on: is required: expected one of after_tools_resolved",
            ),
            (json!([{"on": "sometimes", "command": ["x"]}]), "hooks[0].on: expected one of"),
            (json!([{"on": "run_started"}]), "hooks[0].command: is required: expected a list"),
            (
                with_command(json!(["~/bin/x"])),
                "hooks[0].command: only a shell expands the `~` of ~/bin/x; write the whole path",
            ),
            (with_command(json!([])), "hooks[0].command: expected a list"),
            (with_command(json!(["./x"])), "hooks[0].command: expected a list"),
            (with_command(json!(["bin/x"])), "hooks[0].command: expected a list"),
            (
                json!([{"on": "run_started", "command": ["x"], "timeout": "1h"}]),
                "hooks[0].timeout: expected a duration",
            ),
        ] {
            let errors = hooks(&list).expect_err("refused");
            assert!(errors.iter().any(|found| found.starts_with(error)), "{list}: {errors:?}");
        }
    }

    #[test]
    fn command_with_a_path_into_the_workspace_is_refused() {
        for (command, path) in [
            (json!(["/home/anna/notes/x"]), "/home/anna/notes/x"),
            (json!(["sh", "/home/anna/notes/x"]), "/home/anna/notes/x"),
            (json!(["sh", "notes/x"]), "notes/x"),
            (json!(["sh", "./bin/../notes/x"]), "./bin/../notes/x"),
            (json!(["sh", "-c", "true; FILE='notes/x' y"]), "notes/x"),
            (json!(["sh", "-c", "sh $PWD/notes/x"]), "/home/anna/notes/x"),
            (json!(["env", "-C/home/anna/notes", "./x"]), "/home/anna/notes"),
            (json!(["env", "PATH=/bin:/home/anna/notes", "x"]), "/home/anna/notes"),
            (json!(["curl", "-d@notes/x"]), "notes/x"),
            (json!(["curl", "file:///home/anna/notes/x"]), "///home/anna/notes/x"),
            (json!(["sh", "-c", "sh no'tes/x'"]), "notes/x"),
            (json!(["sh", "-c", "echo it's; sh /home/anna/notes/x"]), "/home/anna/notes/x"),
            (json!(["sh", "-c", "sh \"notes\"/x"]), "notes/x"),
        ] {
            let list = json!([{"on": "run_started", "command": command}]);
            let errors = hooks(&list).expect_err("refused");
            let expected = format!("hooks[0].command: {path} is in the workspace");
            assert!(errors[0].starts_with(&expected), "{list}: {errors:?}");
        }
    }

    #[test]
    fn workspace_path_with_quotes_and_spaces_is_recognised() {
        let is_refused = |folders: &HookFolders<'_>, line: &str| {
            let command = ["sh", "-c", line].map(str::to_owned).to_vec();
            let hook = HookCommand { on: HookPoint::RunStarted, command, timeout: Duration::ZERO };
            let mut errors = Vec::new();
            refuse_workspace_paths(&[hook], folders, &mut errors);
            !errors.is_empty()
        };
        let quote = folders("/srv/data", "/srv/data/it's");
        for line in ["sh \"it's/here.sh\"", "sh it\\'s/here.sh", "sh 'it'\\''s'/here.sh"] {
            assert!(is_refused(&quote, line), "{line}");
        }
        for line in ["echo it's", "sh 'other folder'/x", "sh its/here.sh"] {
            assert!(!is_refused(&quote, line), "{line}");
        }
        let spaces = folders("/srv/two words", "/srv/two words/my (own) notes");
        for line in [
            "sh '/srv/two words/my (own) notes/x'",
            "sh $PWD/my\\ \\(own\\)\\ notes/x",
            "sh \"$HOME/my (own) notes/x\"",
            "sh \"my (own)\"' 'notes/x",
            "sh \"my (own) notes\"/x",
        ] {
            assert!(is_refused(&spaces, line), "{line}");
        }
    }
}
