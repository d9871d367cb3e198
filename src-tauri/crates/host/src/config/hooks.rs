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
    let of_home = command.first().filter(|program| program.starts_with('~'));
    if let Some(program) = of_home.filter(|_| !is_program) {
        let message = format!("only a shell knows the `~` of {program}; write the whole path");
        fields.complain_once("command", message);
    } else if !is_program {
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

/// Where hooks are and where they may not lead.
pub(super) struct Folders<'a> {
    pub(super) data: &'a Path,
    pub(super) workspace: &'a Path,
    /// The person's; empty when nobody says which it is.
    pub(super) home: String,
}

/// No program may stand where a model can write it. Hooks run in `data`, so that is where a word without a whole path leads
/// from; a word can also be a line for a shell, of which every part is looked at. What goes there in a roundabout way (a
/// pattern, a variable, a script elsewhere) is not seen.
pub(super) fn refuse_workspace(
    hooks: &[HookCommand],
    folders: &Folders<'_>,
    errors: &mut Vec<FieldError>,
) {
    let workspace = leads_to(folders.workspace);
    for (number, hook) in hooks.iter().enumerate() {
        let inside = |path: &String| leads_to(&folders.data.join(path)).starts_with(&workspace);
        let mut paths = hook.command.iter().flat_map(|word| paths_in(word, folders));
        if let Some(part) = paths.find(inside) {
            let message = format!("{part} is in the workspace, where an agent could change it");
            errors.push(FieldError { path: format!("hooks[{number}].command"), message });
        }
    }
}

/// What may be paths in a word: the word, and the parts of it as a line for a shell or a list of folders. A part without a
/// slash is one only where a shell goes into it: else it is a word like others.
fn paths_in(word: &str, folders: &Folders<'_>) -> Vec<String> {
    let (home, here) = (&folders.home, folders.data.display().to_string());
    let word = [("${HOME}", home), ("$HOME", home), ("${PWD}", &here), ("$PWD", &here)]
        .into_iter()
        .chain([("$(pwd)", &here), ("file://", &String::new())])
        .fold(word.to_owned(), |word, (from, to)| word.replace(from, to));
    let kept = folders.kept_whole(&word);
    let glued = glued(&word);
    let mut paths = vec![word];
    paths.extend(paths_among(kept.split(separates), home));
    paths.extend(paths_among(glued.iter().map(String::as_str), home));
    paths
}

fn paths_among<'p>(parts: impl Iterator<Item = &'p str>, home: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut goes_in = false;
    for part in parts {
        // A path can be glued to a flag.
        let path = match part.strip_prefix("~/") {
            Some(rest) => format!("{home}/{rest}"),
            None if part.starts_with('-') => part.find('/').map_or("", |at| &part[at..]).to_owned(),
            None => part.to_owned(),
        };
        if path.contains('/') || (goes_in && !path.is_empty()) {
            paths.push(path.chars().map(shown).collect());
        }
        goes_in = matches!(part, "cd" | "pushd" | "chdir" | "-C") || (goes_in && part.is_empty());
    }
    paths
}

/// The parts of a line as a shell reads them: what stands in quotes belongs to the part that they stand in, whatever it
/// is, and so does a character after a backslash. Beside this the line is looked at as if each quote began a line of its
/// own, since it may.
fn glued(line: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let mut part = parts.pop().unwrap_or_default();
        let next = rest.peek().copied();
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            // `$'…'` and `$"…"` are quotes too.
            (None, '$') if matches!(next, Some('\'' | '"')) => {}
            (None, '\\') => part.extend(rest.next()),
            (Some('"'), '\\') if next.is_some_and(|next| "\"\\$`".contains(next)) => {
                part.extend(rest.next());
            }
            (None, c) if separates(c) => parts.push(std::mem::take(&mut part)),
            (_, c) => part.push(c),
        }
        parts.push(part);
    }
    parts
}

impl Folders<'_> {
    /// The word with nothing that parts it within the names of these folders, or where a backslash says that it does not.
    fn kept_whole(&self, word: &str) -> String {
        let home = Path::new(&self.home);
        let mut names = vec![self.workspace, self.data, home];
        names.extend([self.data, home].into_iter().flat_map(|at| self.workspace.strip_prefix(at)));
        let whole = |text: &str| text.chars().map(hidden).collect::<String>();
        let names = names.into_iter().map(|name| name.display().to_string());
        let word = names
            .filter(|name| name.contains(separates))
            .fold(word.to_owned(), |word, name| word.replace(&name, &whole(&name)));
        let mut pieces = word.split('\\');
        let mut kept = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let mut rest = piece.chars();
            match rest.next().filter(|c| separates(*c) && !"\"'`".contains(*c)) {
                Some(c) => kept.extend(std::iter::once(hidden(c)).chain(rest)),
                None => kept.extend(std::iter::once('\\').chain(piece.chars())),
            }
        }
        kept
    }
}

/// What parts a line for a shell or a list of folders.
fn separates(c: char) -> bool {
    c.is_whitespace() || "\"'`;|&()<>=:@{},".contains(c)
}

/// Where characters begin that nobody writes: a separator that is part of a name is kept as one of them.
const HIDDEN: u32 = 0xF_0000;

fn hidden(c: char) -> char {
    let hidden = char::from_u32(HIDDEN + u32::from(c)).filter(|_| separates(c));
    hidden.unwrap_or(c)
}

fn shown(c: char) -> char {
    let shown = u32::from(c).checked_sub(HIDDEN).and_then(char::from_u32);
    shown.filter(|c| separates(*c)).unwrap_or(c)
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
        let folders = Folders {
            data: Path::new("/home/anna"),
            workspace: Path::new("/home/anna/notes"),
            home: "/home/anna".to_owned(),
        };
        refuse_workspace(&hooks, &folders, &mut errors);
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
            (
                json!([{"on": "run_started", "command": ["~/bin/x"]}]),
                "hooks[0].command: only a shell knows the `~` of ~/bin/x; write the whole path",
            ),
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
            (
                json!([{"on": "run_started", "command": ["sh", "-c", "sh no'tes/x'"]}]),
                "hooks[0].command: notes/x is in",
            ),
            (
                json!([{"on": "run_started", "command": ["sh", "-c", "sh \"notes\"/x"]}]),
                "hooks[0].command: notes/x is in",
            ),
            (
                json!([{"on": "run_started", "command": ["sh", "-c", "cd \"no\"\\t$'es' && ./x"]}]),
                "hooks[0].command: notes is in",
            ),
        ] {
            let errors = hooks(list.clone()).expect_err("refused");
            assert!(errors.iter().any(|error| error.starts_with(said)), "{list}: {errors:?}");
        }
    }

    /// A quote that belongs to a name, and one that a shell takes away.
    #[test]
    fn a_workspace_with_a_quote_in_its_path_is_refused_as_well() {
        let folders = Folders {
            data: Path::new("/srv/data"),
            workspace: Path::new("/srv/data/it's"),
            home: "/srv".to_owned(),
        };
        let refused = |command: &[&str]| {
            let command = command.iter().map(ToString::to_string).collect();
            let hook = HookCommand { on: HookPoint::RunStarted, command, timeout: USUAL };
            let mut errors = Vec::new();
            refuse_workspace(&[hook], &folders, &mut errors);
            !errors.is_empty()
        };
        for line in
            ["sh \"it's/here.sh\"", "sh it\\'s/here.sh", "sh 'it'\\''s'/here.sh", "cd \"it's\""]
        {
            assert!(refused(&["sh", "-c", line]), "{line}");
        }
        assert!(refused(&["sh", "it's/here.sh"]) && refused(&["/srv/data/it's/here.sh"]));
        for fine in ["echo it's", "sh 'other folder'/x", "sh its/here.sh"] {
            assert!(!refused(&["sh", "-c", fine]), "{fine}");
        }
    }

    #[test]
    fn a_workspace_with_a_space_in_its_path_is_refused_as_well() {
        let folders = Folders {
            data: Path::new("/srv/two words/data"),
            workspace: Path::new("/srv/two words/data/my (own) notes"),
            home: "/srv/two words".to_owned(),
        };
        for line in [
            "sh '/srv/two words/data/my (own) notes/x'",
            "sh $PWD/my\\ \\(own\\)\\ notes/x",
            "sh \"$HOME/data/my (own) notes/x\"",
            "cd \"my (own) notes\" && ./x",
            "cd my' (own) 'notes && ./x",
            "sh \"my (own)\"' 'notes/x",
            "sh \"my (own) notes\"/x",
            "sh ~/data/my\\ \\(own\\)\\ notes/x",
        ] {
            let command = ["sh", "-c", line].map(str::to_owned).to_vec();
            let hook = HookCommand { on: HookPoint::RunStarted, command, timeout: USUAL };
            let mut errors = Vec::new();
            refuse_workspace(&[hook], &folders, &mut errors);
            assert_eq!(errors.len(), 1, "{line}");
        }
    }
}
