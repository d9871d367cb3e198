//! The settings file: read at the start and before every change, written whole.
//!
//! The file belongs to the person. A change by a client applies to the present file, so edits by hand are never lost; a
//! client with an older revision is refused.

use std::io;
use std::path::{Path, PathBuf};

use rouse_core::json_fields::FieldError;
use rouse_core::text::stable_hash;
use rouse_gateway::wire::{UnknownKey, UnmetSetting};
use rouse_gateway::write_private;
use serde_json::Value;

use super::key_lines::KeyLines;
use super::keys::{self, UnknownSetting};
use super::settings_text::{check_size, read_text};
use super::values::{Config, MachineFacts, read};
use super::{availability, patch};

/// The settings could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read or written.
    #[error("cannot use the settings file {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The file is not TOML.
    #[error(
        "{path} is not valid TOML: {message}. Correct the file, or move it away to start with the defaults."
    )]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line and the problem.
        message: String,
    },
    /// A value of the file, or of a variable that overrides the file, is invalid.
    #[error("the settings in {path}{} are invalid: {}", variables_note(.errors), joined(.errors))]
    File {
        /// The file.
        path: PathBuf,
        /// The errors by key or variable.
        errors: Vec<SettingError>,
    },
    /// A value of a change is invalid.
    #[error("{}", joined(.0))]
    Values(Vec<FieldError>),
    /// The file was changed since the client read it.
    #[error("the settings were changed elsewhere since you opened them")]
    Stale,
}

/// An error of a key or variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingError {
    /// The key or variable, and the problem.
    pub error: FieldError,
    /// The line of the key in the file; none for a variable.
    pub line: Option<usize>,
}

impl std::fmt::Display for SettingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FieldError { path, message } = &self.error;
        match self.line {
            Some(line) => write!(f, "{path} (line {line}): {message}"),
            None => write!(f, "{path}: {message}"),
        }
    }
}

/// The settings file with its settings.
pub struct ConfigFile {
    path: PathBuf,
    default_workspace: PathBuf,
    text: String,
    parsed: ParsedFile,
    /// The settings at the start; changes of some keys apply at the next start.
    at_start: Config,
}

struct ParsedFile {
    config: Config,
    unknown: Vec<UnknownSetting>,
}

impl ConfigFile {
    /// Reads the file at `path`; a missing file means all defaults.
    ///
    /// # Errors
    /// An unreadable file, invalid TOML or an invalid value; the file stays as it is.
    pub fn open(
        path: &Path,
        default_workspace: &Path,
        machine: MachineFacts<'_>,
    ) -> Result<Self, ConfigError> {
        let text = read_text(path)?;
        let parsed = parse(path, &text, default_workspace, machine);
        let parsed = parsed.map_err(|error| error.with_lines(path, &text))?;
        let (path, default_workspace) = (path.to_owned(), default_workspace.to_owned());
        let at_start = parsed.config.clone();
        let file = Self { path, default_workspace, text, parsed, at_start };
        file.log_unknown_keys();
        file.log_missing_parts(machine);
        Ok(file)
    }

    /// The current settings.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.parsed.config
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A hash of the text.
    #[must_use]
    pub fn revision(&self) -> String {
        format!("{:016x}", stable_hash(self.text.as_bytes()))
    }

    /// Applies `change` to the file. Comments and unknown keys stay; an invalid value changes nothing. Edits by hand since
    /// the last read are applied first, also if the change is refused.
    ///
    /// # Errors
    /// `Stale`, or the errors of the file or the change.
    pub fn patch(
        &mut self,
        change: &Value,
        expected: Option<&str>,
        machine: MachineFacts<'_>,
    ) -> Result<(), ConfigError> {
        self.reload(machine)?;
        if expected.is_some_and(|expected| expected != self.revision()) {
            return Err(ConfigError::Stale);
        }
        let mut text = patch::apply(&self.text, change).map_err(ConfigError::Values)?;
        let parsed = parse(&self.path, &text, &self.default_workspace, machine)?;
        let missing =
            availability::missing_parts_of_change(change, self.config(), &parsed.config, machine);
        if !missing.is_empty() {
            return Err(ConfigError::Values(missing));
        }
        patch::keep_as_comments(&mut text, &self.parsed.unknown, &parsed.unknown);
        // The next start must be able to read the text.
        let parsed = parse(&self.path, &text, &self.default_workspace, machine)?;
        let io_error = |source| ConfigError::Io { path: self.path.clone(), source };
        check_size(text.len() as u64).map_err(io_error)?;
        write_private(&self.path, &text).map_err(io_error)?;
        (self.text, self.parsed) = (text, parsed);
        Ok(())
    }

    /// Whether the file was changed since the last read, and the unknown keys of the present file.
    ///
    /// # Errors
    /// The problem of the present file, as a sentence.
    pub(super) fn present_state(
        &self,
        machine: MachineFacts<'_>,
    ) -> Result<(bool, Vec<UnknownKey>), String> {
        let parse_present = |text: String| {
            if text == self.text {
                return Ok((false, self.unknown_keys()));
            }
            parse(&self.path, &text, &self.default_workspace, machine)
                .map(|parsed| (true, unknown_key_views(&text, &parsed.unknown)))
                .map_err(|error| error.with_lines(&self.path, &text))
        };
        read_text(&self.path).and_then(parse_present).map_err(|error| match &error {
            ConfigError::Io { source, .. } => format!("{error}: {source}"),
            other => other.to_string(),
        })
    }

    /// The unknown keys at the last read.
    pub(super) fn unknown_keys(&self) -> Vec<UnknownKey> {
        unknown_key_views(&self.text, &self.parsed.unknown)
    }

    /// Parts that the settings name and this computer does not have.
    pub(super) fn missing_parts(&self, machine: MachineFacts<'_>) -> Vec<UnmetSetting> {
        let missing = availability::missing_parts(self.config(), machine);
        let lines = if missing.is_empty() { KeyLines::default() } else { KeyLines::of(&self.text) };
        let view = |error: FieldError| {
            let line = self.line_of(&error.path, &lines);
            let key = error.path.clone();
            let text = SettingError { error, line }.to_string();
            UnmetSetting { key, line: line.and_then(|line| u32::try_from(line).ok()), text }
        };
        missing.into_iter().map(view).collect()
    }

    /// The changed keys that apply after a restart.
    pub(super) fn keys_pending_restart(&self) -> Vec<String> {
        let (old, new) = (&self.at_start, self.config());
        let (old_tools, new_tools) = (&old.tools, &new.tools);
        let changed = [
            ("workspace", old.workspaces().0 != new.workspaces().0),
            ("riskyWorkspace.enabled", old.is_risky_workspace() != new.is_risky_workspace()),
            ("riskyWorkspace.root", old.workspaces().1 != new.workspaces().1),
            ("hooks", old.hooks != new.hooks),
            ("gateway.port", old.gateway.port != new.gateway.port),
            ("gateway.names", old.gateway.names != new.gateway.names),
            (
                "tools.readFileMaxBytes",
                old_tools.read_file_max_bytes != new_tools.read_file_max_bytes,
            ),
            ("tools.maxSteps", old_tools.max_steps != new_tools.max_steps),
            (
                "tools.runCommandTimeoutMs",
                old_tools.run_command_timeout_ms != new_tools.run_command_timeout_ms,
            ),
            (
                "tools.allowPrivateHosts",
                old_tools.allow_private_hosts != new_tools.allow_private_hosts,
            ),
        ];
        let changed = changed.into_iter().filter(|(_, is_changed)| *is_changed);
        changed.map(|(key, _)| key.to_owned()).collect()
    }

    /// The error of a start whose workspace cannot be created.
    pub(crate) fn workspace_error(&self, error: &io::Error) -> ConfigError {
        let folder = &self.config().workspace;
        let problem = availability::folder_problem(folder)
            .unwrap_or_else(|| format!("{} cannot be created: {error}", folder.display()));
        let text = format!("{problem}. Name another folder, or remove the key for the default");
        let error = availability::unusable_workspace(self.config(), &text);
        let line = self.line_of(&error.path, &KeyLines::of(&self.text));
        ConfigError::File { path: self.path.clone(), errors: vec![SettingError { error, line }] }
    }

    /// The line of a key; none for an overridden key.
    fn line_of(&self, key: &str, lines: &KeyLines) -> Option<usize> {
        let is_overridden = self.config().overridden.iter().any(|(over, _)| *over == key);
        if is_overridden { None } else { lines.line(key) }
    }

    fn log_missing_parts(&self, machine: MachineFacts<'_>) {
        for UnmetSetting { text, .. } in self.missing_parts(machine) {
            tracing::warn!(file = %self.path.display(), "{text}");
        }
    }

    fn reload(&mut self, machine: MachineFacts<'_>) -> Result<(), ConfigError> {
        let text = read_text(&self.path)?;
        if text != self.text {
            let parsed = parse(&self.path, &text, &self.default_workspace, machine);
            let parsed = parsed.map_err(|error| error.with_lines(&self.path, &text))?;
            (self.text, self.parsed) = (text, parsed);
            self.log_unknown_keys();
        }
        Ok(())
    }

    fn log_unknown_keys(&self) {
        for UnknownKey { key, line, text, .. } in self.unknown_keys() {
            tracing::warn!(file = %self.path.display(), key, line, "{text}");
        }
    }
}

fn unknown_key_views(text: &str, unknown: &[UnknownSetting]) -> Vec<UnknownKey> {
    if unknown.is_empty() {
        return Vec::new();
    }
    let lines = KeyLines::of(text);
    let view = |UnknownSetting { key, .. }: &UnknownSetting| {
        let line = lines.line(key);
        let at = line.map(|line| format!(" (line {line})")).unwrap_or_default();
        let suggestion = keys::suggest_setting(key);
        UnknownKey {
            key: key.clone(),
            line: line.and_then(|line| u32::try_from(line).ok()),
            nearest: keys::nearest_setting(key),
            text: format!("{key}{at} is not a setting and has no effect; {suggestion}"),
        }
    };
    unknown.iter().map(view).collect()
}

impl ConfigError {
    /// Adds file and lines to the errors of values.
    fn with_lines(self, path: &Path, text: &str) -> Self {
        let Self::Values(errors) = self else { return self };
        let lines = KeyLines::of(text);
        let errors = errors.into_iter().map(|error| {
            let line = lines.line(&error.path);
            SettingError { error, line }
        });
        Self::File { path: path.to_owned(), errors: errors.collect() }
    }
}

fn variables_note(errors: &[SettingError]) -> &'static str {
    let is_in_file = errors.iter().all(|error| error.line.is_some());
    if is_in_file { "" } else { ", or the variables over them," }
}

fn joined<T: ToString>(errors: &[T]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The error with its line number. Never quotes the line, which may hold an API key.
fn syntax_message(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().map_or("", |span| &text[..text.floor_char_boundary(span.start)]);
    format!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

fn parse(
    path: &Path,
    text: &str,
    default_workspace: &Path,
    machine: MachineFacts<'_>,
) -> Result<ParsedFile, ConfigError> {
    let table: toml::Table = toml::from_str(text).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        message: syntax_message(&error, text),
    })?;
    let document = serde_json::to_value(&table).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    let config = read(document, default_workspace, machine).map_err(ConfigError::Values)?;
    Ok(ParsedFile { config, unknown: keys::unknown_settings(&table) })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rouse_core::schedule::Zones;
    use serde_json::json;

    use super::*;

    fn open(path: &Path) -> Result<ConfigFile, ConfigError> {
        with_machine(|machine| ConfigFile::open(path, Path::new("/workspace"), machine))
    }

    fn patch(
        file: &mut ConfigFile,
        change: &Value,
        expected: Option<&str>,
    ) -> Result<(), ConfigError> {
        with_machine(|machine| file.patch(change, expected, machine))
    }

    /// Without variables, in UTC.
    fn with_machine<T>(work: impl FnOnce(MachineFacts<'_>) -> T) -> T {
        work(MachineFacts {
            env: &|_| None,
            zones: &Zones::built_in(chrono_tz::UTC),
            secrets: None,
            recipients: None,
        })
    }

    #[test]
    fn edit_by_hand_is_kept_and_applied() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        let mut file = open(&path).expect("the defaults");
        let seen = file.revision();
        let by_hand =
            |file: &ConfigFile| with_machine(|machine| file.view(machine)).changed_by_hand;
        assert!(!by_hand(&file));
        fs::write(&path, "# by hand\n[cron]\nmaxConcurrentRuns = 7\n").expect("a file");
        assert!(by_hand(&file) && with_machine(|machine| file.view(machine)).problem.is_none());
        let change = json!({ "cron": { "enabled": false } });
        let refused = patch(&mut file, &change, Some(&seen));
        assert!(matches!(refused, Err(ConfigError::Stale)), "{refused:?}");
        assert_eq!(file.config().cron.max_concurrent_runs, 7, "the edit by hand applies");
        let seen = file.revision();
        patch(&mut file, &change, Some(&seen)).expect("a good change");
        let text = fs::read_to_string(&path).expect("the file");
        assert_eq!(text, "# by hand\n[cron]\nmaxConcurrentRuns = 7\nenabled = false\n");
    }

    #[test]
    fn invalid_file_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        let mut file = open(&path).expect("the defaults");
        fs::write(&path, "[cron\n").expect("a file");
        let refused = patch(&mut file, &json!({ "cron": { "enabled": false } }), None);
        assert!(matches!(refused, Err(ConfigError::Syntax { .. })), "{refused:?}");
        assert_eq!(fs::read_to_string(&path).expect("the file"), "[cron\n");
        let view = with_machine(|machine| file.view(machine));
        assert!(view.changed_by_hand && view.problem.is_some_and(|words| words.contains("TOML")));
        assert!(file.config().cron.enabled, "the last valid settings stay");

        let bare = "[providers.work]\nkeySecret = sk-LiveKey\n";
        fs::write(&path, bare).expect("a file");
        let words = with_machine(|machine| file.view(machine)).problem.expect("a problem");
        assert!(words.contains("line 2: ") && !words.contains("LiveKey"), "{words}");
    }

    #[test]
    fn folder_or_huge_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        let file = open(&path).expect("the defaults");
        let problem = || with_machine(|machine| file.view(machine)).problem.expect("a problem");
        fs::create_dir(&path).expect("a folder");
        assert!(problem().contains("not a regular file"), "{}", problem());
        fs::remove_dir(&path).expect("removed");
        fs::write(&path, "#".repeat((1 << 20) + 1)).expect("a file");
        assert!(problem().contains("larger than 1 MB"), "{}", problem());
        assert!(matches!(open(&path), Err(ConfigError::Io { .. })));
        fs::remove_file(&path).expect("removed");
        let mut file = open(&path).expect("the defaults");
        let long = json!({ "heartbeat": { "prompt": "x".repeat(1 << 20) } });
        let refused = patch(&mut file, &long, None);
        assert!(matches!(refused, Err(ConfigError::Io { .. })), "{refused:?}");
        assert!(!path.exists(), "an unreadable text is not written");
    }

    #[test]
    fn unknown_key_is_reported_with_its_line_and_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        let text = "colour = 1 # mine\n[heartbeat]\nevry = \"1h\"\n[quietHours]\nfrom = \"22:00\"\nto = \"07:00\"\ntheirs = { a = [1] }\n[[hooks]]\non = \"run_started\"\ncommand = [\"x\"]\ntimeot = \"1s\"\n";
        fs::write(&path, text).expect("a file");
        let mut file = open(&path).expect("settings");
        let view = |file: &ConfigFile| with_machine(|machine| file.view(machine));
        let unknown = |file: &ConfigFile| {
            let keys = view(file).unknown_keys.into_iter();
            keys.map(|key| (key.key, key.line, key.nearest)).collect::<Vec<_>>()
        };
        let entry = |key: &str, line: u32, nearest: Option<&str>| {
            (key.to_owned(), Some(line), nearest.map(str::to_owned))
        };
        let outside_quiet_hours = [
            entry("colour", 1, None),
            entry("heartbeat.evry", 3, Some("heartbeat.every")),
            entry("hooks[0].timeot", 11, Some("hooks[0].timeout")),
        ];
        let mut all = outside_quiet_hours.to_vec();
        all.push(entry("quietHours.theirs", 7, None));
        assert_eq!(unknown(&file), all);
        assert_eq!(
            view(&file).unknown_keys[1].text,
            "heartbeat.evry (line 3) is not a setting and has no effect; did you mean heartbeat.every?"
        );
        let hours = json!({ "quietHours": { "from": "21:00", "days": ["fri"] } });
        patch(&mut file, &hours, None).expect("a good change");
        assert_eq!(unknown(&file).len(), 4, "unknown keys stay");

        patch(&mut file, &json!({ "quietHours": null }), None).expect("a good change");
        assert_eq!(
            unknown(&file),
            [
                outside_quiet_hours[0].clone(),
                outside_quiet_hours[1].clone(),
                entry("hooks[0].timeot", 7, Some("hooks[0].timeout")),
            ]
        );
        let now = fs::read_to_string(&path).expect("the file");
        assert!(now.contains("colour = 1 # mine\n") && now.contains("evry = \"1h\"\n"), "{now}");
        assert!(now.ends_with("# quietHours.theirs = { a = [1] }\n"), "{now}");
        fs::write(&path, "[model]\nnam = \"m\"\n").expect("a change by hand");
        assert_eq!(unknown(&file), [entry("model.nam", 2, Some("model.name"))]);
        fs::write(&path, "[model\n").expect("a change by hand");
        assert!(view(&file).problem.is_some());
    }

    #[test]
    fn unknown_key_with_control_characters_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        let controls: String = (0..0x20_u8).chain([0x7f]).map(char::from).collect();
        let unknown = toml::Table::from_iter([(controls.clone(), toml::Value::from(controls))]);
        let hours = "[quietHours]\nfrom = \"22:00\"\nto = \"07:00\"\n";
        fs::write(&path, format!("{hours}{unknown}")).expect("a file");
        let mut file = open(&path).expect("settings");
        patch(&mut file, &json!({ "quietHours": null }), None).expect("a good change");
        let now = fs::read_to_string(&path).expect("the file");
        assert!(now.contains("# quietHours.\"\\u0000"), "{now}");
        open(&path).expect("the next start reads the file");
    }

    #[test]
    fn invalid_value_is_reported_with_file_and_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        fs::write(&path, "[cron]\nmaxConcurrentRuns = 0\n").expect("a file");
        let error = open(&path).err().expect("refused").to_string();
        let named = "config.toml are invalid: cron.maxConcurrentRuns (line 2): must be between";
        assert!(error.contains(named), "{error}");
    }
}
