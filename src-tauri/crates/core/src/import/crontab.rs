//! Crontabs: a user's, and a system's with a user before each command.
//!
//! Each line becomes a disabled job that calls `run_command` with the line's own schedule. The person reviews the job
//! and enables it, because a command may behave differently outside cron. Settings apply to the lines below, as in
//! cron: `CRON_TZ` is the zone of the schedule, `TZ` reaches only the command. Values of other settings are dropped
//! unless known to be harmless, because keys live there. The id of a job is a hash of the line. Never guesses the user
//! column from the first word of a command: `mail` and `mysql` are users and programs.
//! Pitfall: the first unescaped `%` ends the command, and the rest is the input.

use std::collections::BTreeMap;

use serde_json::json;

use super::comments::{CommentBlock, has_user_column, name_of};
use super::entry::{ImportEntry, ImportError, ImportFormat, MOST_JOBS, ORIGIN, shortened};
use super::identity::Seen;
use super::shell::reading;
use crate::schedule::CronPattern;
use crate::text::quote_word;

/// Settings whose values are not secret.
const HARMLESS: [&str; 12] = [
    "SHELL",
    "PATH",
    "HOME",
    "LOGNAME",
    "USER",
    "MAILTO",
    "MAILFROM",
    "LANG",
    "CRON_TZ",
    "TZ",
    "RANDOM_DELAY",
    "CRON_WITHIN",
];
const STAYS_OFF: &str = "A shell command. Disabled until you review and enable the job.";

/// A line that is not a comment.
enum Line<'a> {
    Empty,
    Setting(&'a str, String),
    Command(CommandLine<'a>),
    /// Unreadable.
    Broken,
}

/// The parts of a line with a command.
struct CommandLine<'a> {
    schedule: &'a str,
    /// The user of a system crontab.
    user: Option<&'a str>,
    command: &'a str,
}

/// The position of a command in the file.
struct Source<'a> {
    number: usize,
    line: &'a str,
    /// The name from a comment.
    name: Option<String>,
}

/// Reads a text of unknown format.
pub(super) fn recognise(text: &str) -> Result<(ImportFormat, Vec<ImportEntry>), ImportError> {
    let (format, entries) = read(text, ImportFormat::Crontab);
    // A file of start-up lines only is a crontab, too.
    let has_start_up = || lines(text).any(|(_, line)| line.starts_with("@reboot"));
    if entries.iter().any(|entry| entry.job.is_ok()) || has_start_up() {
        Ok((format, entries))
    } else {
        Err(ImportError::NoJobs)
    }
}

/// Returns an entry for each line except comments and settings. A heading with a user column makes `Crontab` a
/// `SystemCrontab`.
pub(super) fn read(text: &str, format: ImportFormat) -> (ImportFormat, Vec<ImportEntry>) {
    let format = if has_user_column(text) { ImportFormat::SystemCrontab } else { format };
    let mut settings = BTreeMap::new();
    let mut seen = Seen::default();
    let mut comments = CommentBlock::default();
    let mut entries = Vec::new();
    for (number, line) in lines(text) {
        // An entry over the limit refuses the whole file.
        if entries.len() > MOST_JOBS {
            break;
        }
        if line.starts_with('#') {
            comments.add(line);
            continue;
        }
        match split(line, format) {
            Line::Empty => comments.clear(),
            Line::Setting(name, value) => {
                comments.clear();
                settings.insert(name.to_owned(), value);
            }
            Line::Command(command) => {
                let name = comments.take_name(is_entry);
                let source = Source { number, line, name };
                entries.push(entry(source, &command, &settings, &mut seen));
            }
            Line::Broken => {
                comments.clear();
                let expected = match format {
                    ImportFormat::SystemCrontab => "five fields, a user and a command",
                    _ => "five fields and a command",
                };
                let reason = format!("expected {expected}, found `{}`", shortened(line, 80));
                entries.push(ImportEntry::refused(format!("line {number}"), reason));
            }
        }
    }
    (format, entries)
}

/// The lines with their numbers, trimmed.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()))
}

/// Whether a commented line without the `#` is a setting or a disabled command.
fn is_entry(line: &str) -> bool {
    match split(line, ImportFormat::Crontab) {
        Line::Setting(..) => true,
        Line::Command(command) => pattern(command.schedule).is_ok() || line.starts_with("@reboot"),
        Line::Empty | Line::Broken => false,
    }
}

fn split(line: &str, format: ImportFormat) -> Line<'_> {
    if line.is_empty() {
        return Line::Empty;
    }
    if let Some((name, value)) = setting(line) {
        return Line::Setting(name, value);
    }
    // A minus before the minute only disables cron's log.
    let line = line.strip_prefix('-').unwrap_or(line);
    let fields = if line.starts_with('@') { 1 } else { 5 };
    let mut end = 0;
    for _ in 0..fields {
        let begin = end + (line[end..].len() - line[end..].trim_start().len());
        end = begin + line[begin..].find(char::is_whitespace).unwrap_or(line.len() - begin);
    }
    let (schedule, rest) = (&line[..end], line[end..].trim_start());
    let (user, command) = match format {
        ImportFormat::SystemCrontab => match rest.split_once(char::is_whitespace) {
            Some((user, command)) => (Some(user), command.trim_start()),
            None => return Line::Broken,
        },
        _ => (None, rest),
    };
    if command.is_empty() {
        return Line::Broken;
    }
    Line::Command(CommandLine { schedule, user, command })
}

/// `NAME = value`, the value perhaps in quotes.
fn setting(line: &str) -> Option<(&str, String)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim().trim_matches(['"', '\'']);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let value = value.trim();
    let inner =
        ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    is_name.then(|| (name, inner.unwrap_or(value).to_owned()))
}

/// The job of a command line, or the reason of a refusal.
fn entry(
    source: Source<'_>,
    parts: &CommandLine<'_>,
    settings: &BTreeMap<String, String>,
    seen: &mut Seen,
) -> ImportEntry {
    let Source { number, line, name } = source;
    let (command, input) = without_percent(parts.command);
    if command.trim().is_empty() {
        let found = shortened(line, 80);
        let reason = format!("expected a command before the %, found `{found}`");
        return ImportEntry::refused(format!("line {number}"), reason);
    }
    let name = name.unwrap_or_else(|| name_of(&command));
    let expr = match pattern(parts.schedule) {
        Ok(expr) => expr,
        Err(reason) => return ImportEntry::refused(format!("line {number}: {name}"), reason),
    };
    let zone = settings.get("CRON_TZ").filter(|zone| !zone.is_empty()).cloned();
    let mut notes = vec![STAYS_OFF.to_owned()];
    notes.extend(odd_days(&expr));
    notes.extend(hidden_values(settings));
    notes.extend(zone_of_the_command(settings));
    notes.extend(unsupported(settings));
    notes.extend(
        parts
            .user
            .map(|user| format!("The file runs the command as `{user}`; Rouse runs it as you.")),
    );
    let kept: BTreeMap<&str, Option<&str>> = settings
        .iter()
        .map(|(name, value)| (name.as_str(), is_harmless(name).then_some(value.as_str())))
        .collect();
    let mut job = json!({
        "id": seen.id_of(format!("{zone:?}\n{expr}\n{}", parts.command)),
        "name": name,
        "description": "From a crontab.",
        "enabled": false,
        "schedule": { "kind": "cron", "expr": expr },
        "sessionTarget": "isolated",
        "payload": {
            "kind": "toolCall",
            "tool": "run_command",
            "arguments": { "command": in_its_shell(settings, &command, input.as_deref()), "cwd": folder(settings) },
            "notifyWhen": "failure",
        },
    });
    if let Some(zone) = zone {
        job["schedule"]["tz"] = zone.into();
    }
    job[ORIGIN] = json!({ "format": "crontab", "line": number, "text": line, "environment": kept });
    ImportEntry { name, line: Some(number), job: Ok(job), notes, is_faithful: false }
}

/// The note that names the dropped settings.
fn hidden_values(settings: &BTreeMap<String, String>) -> Option<String> {
    let hidden: Vec<&str> =
        settings.keys().filter(|name| !is_harmless(name)).map(String::as_str).collect();
    let names = hidden.join(", ");
    (!hidden.is_empty()).then(|| format!("Values that may be secret are left out: {names}."))
}

/// The working directory under cron (crontab(5), `HOME`).
fn folder(settings: &BTreeMap<String, String>) -> &str {
    settings.get("HOME").filter(|home| !home.is_empty()).map_or("~/", String::as_str)
}

/// The command for the system's shell, with cron's path, home, language, zone, shell and input.
fn in_its_shell(settings: &BTreeMap<String, String>, command: &str, input: Option<&str>) -> String {
    let is_told =
        |name: &str| matches!(name, "PATH" | "HOME" | "LANG" | "TZ") || name.starts_with("LC_");
    let exported = settings.iter().filter(|(name, _)| is_told(name));
    let mut whole: String =
        exported.map(|(name, value)| format!("export {name}={}; ", quote_word(value))).collect();
    let mut own = command.to_owned();
    if let Some(shell) = settings.get("SHELL").filter(|shell| *shell != "/bin/sh") {
        own = format!("{} -c {}", quote_word(shell), quote_word(command));
    }
    whole += &match input {
        Some(input) => reading(&own, input),
        None => own,
    };
    whole
}

/// The note on a `TZ` that looks like the schedule's zone.
fn zone_of_the_command(settings: &BTreeMap<String, String>) -> Option<String> {
    let zone = settings.get("TZ").filter(|_| !settings.contains_key("CRON_TZ"))?;
    Some(format!(
        "TZ={zone} reaches only the command; as with cron, the schedule follows the system's zone. Set CRON_TZ to change that zone."
    ))
}

/// Notes on settings that Rouse does not support, with the replacement.
fn unsupported(settings: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    let is_set = |name: &str| settings.get(name).is_some_and(|value| !value.is_empty());
    let notes = [
        ("MAILTO", "Nothing is mailed: a failure is a notification, and the output is in the run."),
        (
            "RANDOM_DELAY",
            "RANDOM_DELAY is not imported; spread the starts with a jitter (`--jitter 10m`).",
        ),
        (
            "CRON_WITHIN",
            "CRON_WITHIN is not imported; set the maximum lateness with `--max-lateness 2h`.",
        ),
    ];
    notes.into_iter().filter(move |(name, _)| is_set(name)).map(|(_, words)| words.to_owned())
}

fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || name.starts_with("LC_")
}

/// The pattern in the job format, or why there is none.
fn pattern(schedule: &str) -> Result<String, String> {
    if schedule.eq_ignore_ascii_case("@reboot") {
        return Err("@reboot fires when the computer starts, and Rouse has no such trigger. Let the system start the \
                    command (a service or an autostart entry)."
            .to_owned());
    }
    let expr = schedule.split_whitespace().collect::<Vec<_>>().join(" ");
    match CronPattern::parse(&expr) {
        Ok(_) => Ok(expr),
        Err(error) => Err(error.to_string()),
    }
}

/// The note on day fields: cron requires both when a field begins with `*`; Rouse takes either.
fn odd_days(expr: &str) -> Option<String> {
    let fields: Vec<&str> = expr.split(' ').collect();
    let [_, _, day, _, weekday] = fields.as_slice() else { return None };
    let is_step = |field: &str| field.starts_with('*') && field != "*";
    let both = *day != "*" && *weekday != "*";
    (both && (is_step(day) || is_step(weekday))).then(|| {
        format!("cron fires on days that match both `{day}` and `{weekday}`, Rouse on days that match either; write `+{weekday}` to require both.")
    })
}

/// The command and the input: the text after the first `%`, with further `%` as line feeds.
fn without_percent(rest: &str) -> (String, Option<String>) {
    let mut parts = vec![String::new()];
    let mut letters = rest.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'%') => {
                letters.next();
                parts.last_mut().expect("BUG: never empty").push('%');
            }
            '%' => parts.push(String::new()),
            other => parts.last_mut().expect("BUG: never empty").push(other),
        }
    }
    let input = (parts.len() > 1).then(|| parts[1..].join("\n"));
    (parts.swap_remove(0).trim_end().to_owned(), input)
}
