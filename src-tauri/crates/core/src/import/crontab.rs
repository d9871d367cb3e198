//! A user's crontab. A system's has a user before each command, which is told and left in place.
//!
//! Each line becomes a call of `run_command` with the line's own schedule. It stays off whatever was asked: what ran as
//! cron had it runs here in another surrounding, so a person looks at it and switches it on. Settings above a line count
//! for it as cron has them: `CRON_TZ` is the zone of its schedule, `TZ` is only told to the command. Values of other
//! settings are left out unless they are known to be harmless, because keys live there. A line gets an id from what it
//! says. One could get this wrong by the rule for `%`: the first that is not escaped ends the command, and what
//! follows is what the command reads.

use std::collections::BTreeMap;

use serde_json::json;

use super::identity::Seen;
use super::shell::{quoted, reading};
use super::{Entry, ImportError, MOST_JOBS, ORIGIN, shortened};
use crate::schedule::CronPattern;

/// Settings whose values are nobody's secret.
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
const STAYS_OFF: &str =
    "A shell command. It stays off until you have looked at it and switched it on.";

/// Users whose names stand in the system crontabs that distributions bring along. Another user's is recognised by the
/// heading that such a file has.
const SYSTEM_USERS: [&str; 12] = [
    "root", "www-data", "nobody", "daemon", "postgres", "mysql", "backup", "mail", "news", "munin",
    "logcheck", "nagios",
];

/// A line that is neither empty nor a comment.
enum Line<'a> {
    Setting(&'a str, String),
    Command {
        schedule: &'a str,
        rest: &'a str,
    },
    /// Neither.
    Broken,
}

/// Reads a text that nobody said is a crontab.
pub(super) fn recognise(text: &str) -> Result<Vec<Entry>, ImportError> {
    let entries = read(text);
    if entries.iter().any(|entry| entry.job.is_ok()) {
        return Ok(entries);
    }
    // A file of nothing but start-up lines is one as well.
    let has_start_up = lines(text).any(|(_, line)| line.starts_with("@reboot"));
    if has_start_up { Ok(entries) } else { Err(ImportError::NoJobs) }
}

/// One entry for each line that is no comment and no setting.
pub(super) fn read(text: &str) -> Vec<Entry> {
    let mut settings = BTreeMap::new();
    let mut seen = Seen::default();
    let mut entries = Vec::new();
    let has_users = has_user_column(text);
    for (number, line) in lines(text) {
        if entries.len() > MOST_JOBS {
            // The whole file is refused for it; there is no sense in reading on.
            break;
        }
        match split(line) {
            Line::Setting(name, value) => {
                settings.insert(name.to_owned(), value);
            }
            Line::Command { schedule, rest } => {
                let mut entry = command(number, line, schedule, rest, &settings, &mut seen);
                if entry.job.is_ok() {
                    entry.notes.extend(user_column(rest, has_users));
                }
                entries.push(entry);
            }
            Line::Broken => entries.push(Entry::refused(
                format!("line {number}"),
                format!("expected five fields and a command, found `{}`", shortened(line, 80)),
            )),
        }
    }
    entries
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn split(line: &str) -> Line<'_> {
    if let Some((name, value)) = setting(line) {
        return Line::Setting(name, value);
    }
    // A minus before the minute only keeps cron from logging.
    let line = line.strip_prefix('-').unwrap_or(line);
    let fields = if line.starts_with('@') { 1 } else { 5 };
    let mut end = 0;
    for _ in 0..fields {
        let begin = end + (line[end..].len() - line[end..].trim_start().len());
        end = begin + line[begin..].find(char::is_whitespace).unwrap_or(line.len() - begin);
    }
    let (schedule, rest) = (&line[..end], line[end..].trim_start());
    if rest.is_empty() { Line::Broken } else { Line::Command { schedule, rest } }
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

fn command(
    number: usize,
    line: &str,
    schedule: &str,
    rest: &str,
    settings: &BTreeMap<String, String>,
    seen: &mut Seen,
) -> Entry {
    let (command, input) = without_percent(rest);
    if command.trim().is_empty() {
        let found = shortened(line, 80);
        let reason = format!("expected a command before the %, found `{found}`");
        return Entry::refused(format!("line {number}"), reason);
    }
    let name = shortened(&command, 60);
    let expr = match pattern(schedule) {
        Ok(expr) => expr,
        Err(reason) => return Entry::refused(format!("line {number}: {name}"), reason),
    };
    let zone = settings.get("CRON_TZ").filter(|zone| !zone.is_empty()).cloned();
    let mut notes = vec![STAYS_OFF.to_owned()];
    notes.extend(odd_days(&expr));
    let hidden: Vec<&str> =
        settings.keys().filter(|name| !is_harmless(name)).map(String::as_str).collect();
    if !hidden.is_empty() {
        notes.push(format!("Values that may be secret are left out: {}.", hidden.join(", ")));
    }
    notes.extend(zone_of_the_command(settings));
    notes.extend(unsupported(settings));
    let kept: BTreeMap<&str, Option<&str>> = settings
        .iter()
        .map(|(name, value)| (name.as_str(), is_harmless(name).then_some(value.as_str())))
        .collect();
    let mut job = json!({
        "id": seen.id_of(format!("{zone:?}\n{expr}\n{rest}")),
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
    Entry { name, line: Some(number), job: Ok(job), notes, is_faithful: false }
}

/// Where cron would run it (crontab(5), `HOME`).
fn folder(settings: &BTreeMap<String, String>) -> &str {
    settings.get("HOME").filter(|home| !home.is_empty()).map_or("~/", String::as_str)
}

/// The command as the system's shell has to be told it: with the path, the home, the language, the zone, the shell
/// and the input that cron would give.
fn in_its_shell(settings: &BTreeMap<String, String>, command: &str, input: Option<&str>) -> String {
    let is_told =
        |name: &str| matches!(name, "PATH" | "HOME" | "LANG" | "TZ") || name.starts_with("LC_");
    let exported = settings.iter().filter(|(name, _)| is_told(name));
    let mut whole: String =
        exported.map(|(name, value)| format!("export {name}={}; ", quoted(value))).collect();
    let mut own = command.to_owned();
    if let Some(shell) = settings.get("SHELL").filter(|shell| *shell != "/bin/sh") {
        own = format!("{} -c {}", quoted(shell), quoted(command));
    }
    whole += &match input {
        Some(input) => reading(&own, input),
        None => own,
    };
    whole
}

/// What to know of a `TZ` that looks like the schedule's zone.
fn zone_of_the_command(settings: &BTreeMap<String, String>) -> Option<String> {
    let zone = settings.get("TZ").filter(|_| !settings.contains_key("CRON_TZ"))?;
    Some(format!(
        "TZ={zone} is told to the command alone; as with cron, its schedule goes by the system's zone. CRON_TZ would set that."
    ))
}

/// Settings that cron goes by and Rouse does not, with what there is instead.
fn unsupported(settings: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    let is_set = |name: &str| settings.get(name).is_some_and(|value| !value.is_empty());
    let told = [
        (
            "MAILTO",
            "Nothing is mailed: a failure is a notification, and what a command writes stands in its run.",
        ),
        (
            "RANDOM_DELAY",
            "RANDOM_DELAY is not taken over; spread its starts with a jitter (`--jitter 10m`).",
        ),
        (
            "CRON_WITHIN",
            "CRON_WITHIN is not taken over; a start that is too late is given up with `--max-lateness 2h`.",
        ),
    ];
    told.into_iter().filter(move |(name, _)| is_set(name)).map(|(_, words)| words.to_owned())
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

/// Whether a comment heads the columns as a system crontab has them: `# m h dom mon dow user command`.
fn has_user_column(text: &str) -> bool {
    text.lines().filter_map(|line| line.trim().strip_prefix('#')).any(|heading| {
        let words: Vec<&str> = heading.split_whitespace().collect();
        words.contains(&"dow") && words.ends_with(&["user", "command"])
            || words.ends_with(&["user-name", "command", "to", "be", "executed"])
    })
}

/// What to know of a command that seems to begin with the user of a system crontab.
fn user_column(rest: &str, has_users: bool) -> Option<String> {
    let (user, command) = rest.split_once(char::is_whitespace)?;
    let is_user = has_users || SYSTEM_USERS.contains(&user);
    (is_user && !command.trim().is_empty()).then(|| {
        format!("`{user}` looks like the user of a system crontab and would be run as the command: take it out first. The rest then runs as you.")
    })
}

/// cron takes both day fields together when one of them begins with `*`; Rouse takes either.
fn odd_days(expr: &str) -> Option<String> {
    let fields: Vec<&str> = expr.split(' ').collect();
    let [_, _, day, _, weekday] = fields.as_slice() else { return None };
    let is_step = |field: &str| field.starts_with('*') && field != "*";
    let both = *day != "*" && *weekday != "*";
    (both && (is_step(day) || is_step(weekday))).then(|| {
        format!("cron fires it on days that match both `{day}` and `{weekday}`, Rouse on days that match either; write `+{weekday}` to have both.")
    })
}

/// The command, and what it reads: everything after the first `%`, where each further one is a new line.
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
