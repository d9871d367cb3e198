//! The file itself: read at the start and before every change, written whole.
//!
//! The file belongs to the person. What was changed by hand while the engine ran is never overwritten: a change from a
//! client is laid over the file as it is now, and a client that saw an older one is told so.

use std::io;
use std::path::{Path, PathBuf};

use rouse_core::json_fields::FieldError;
use rouse_core::stable_hash::stable_hash;
use rouse_gateway::wire::{ConfigTrouble, UnknownKey};
use rouse_gateway::write_private;
use serde_json::Value;

use super::names::{self, Stranger};
use super::on_disk::{check_size, on_disk};
use super::places::Places;
use super::{Config, OfMachine, patch, read, troubles};

/// The settings could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read or written.
    #[error("cannot use the settings file {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is not TOML.
    #[error(
        "{path} is not valid TOML: {message}. Mend the file, or move it away to start with the defaults."
    )]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
    /// A value that stands in the file, or in a variable that overrides it, is wrong.
    #[error("the settings in {path}, or the variables over them, are wrong: {}", joined(.complaints))]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, by key or variable, and in which line.
        complaints: Vec<Misplaced>,
    },
    /// A value of a change is wrong.
    #[error("{}", joined(.0))]
    Values(Vec<FieldError>),
    /// The file was changed since the client read it.
    #[error("the settings were changed elsewhere since you opened them")]
    Stale,
}

/// A complaint about a key, with the line of the file that it stands in. A variable stands in none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misplaced {
    /// Which key or variable, and what is wrong with it.
    pub complaint: FieldError,
    /// The line.
    pub line: Option<usize>,
}

impl std::fmt::Display for Misplaced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FieldError { path, message } = &self.complaint;
        match self.line {
            Some(line) => write!(f, "{path} (line {line}): {message}"),
            None => write!(f, "{path}: {message}"),
        }
    }
}

/// The settings file and what it says.
pub struct ConfigFile {
    path: PathBuf,
    default_workspace: PathBuf,
    text: String,
    read: Read,
    /// As they were when the file was opened: some of them count from the next time on.
    at_start: Config,
}

/// What a text says.
struct Read {
    config: Config,
    strangers: Vec<Stranger>,
}

impl ConfigFile {
    /// Reads the file at `path`; a missing file means all defaults.
    ///
    /// # Errors
    /// Unreadable, not TOML, or a wrong value; the file is left as it is.
    pub fn open(
        path: &Path,
        default_workspace: &Path,
        machine: OfMachine<'_>,
    ) -> Result<Self, ConfigError> {
        let text = on_disk(path)?;
        let read = parse(path, &text, default_workspace, machine);
        let read = read.map_err(|error| error.of_file(path, &text))?;
        let (path, default_workspace) = (path.to_owned(), default_workspace.to_owned());
        let at_start = read.config.clone();
        let file = Self { path, default_workspace, text, read, at_start };
        file.log_strangers();
        file.log_troubles(machine);
        Ok(file)
    }

    /// The settings in force.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.read.config
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Changes with every change of the content.
    #[must_use]
    pub fn revision(&self) -> String {
        format!("{:016x}", stable_hash(self.text.as_bytes()))
    }

    /// Lays `change` over the file. Comments and unknown keys stay; a wrong value changes nothing. What was changed by
    /// hand since the file was last read comes into force first, and stays when the change itself is refused.
    ///
    /// # Errors
    /// `Stale`, or what is wrong with the file or the change.
    pub fn patch(
        &mut self,
        change: &Value,
        expected: Option<&str>,
        machine: OfMachine<'_>,
    ) -> Result<(), ConfigError> {
        self.read_again(machine)?;
        if expected.is_some_and(|expected| expected != self.revision()) {
            return Err(ConfigError::Stale);
        }
        let mut text = patch::apply(&self.text, change).map_err(ConfigError::Values)?;
        let read = parse(&self.path, &text, &self.default_workspace, machine)?;
        let brought = troubles::brought_by(change, (self.config(), &read.config), machine);
        if !brought.is_empty() {
            return Err(ConfigError::Values(brought));
        }
        patch::keep_as_comments(&mut text, &self.read.strangers, &read.strangers);
        // As it will be read at the next start: what cannot be read is not written.
        let read = parse(&self.path, &text, &self.default_workspace, machine)?;
        let unused = |source| ConfigError::Io { path: self.path.clone(), source };
        check_size(text.len() as u64).map_err(unused)?;
        write_private(&self.path, &text).map_err(unused)?;
        (self.text, self.read) = (text, read);
        Ok(())
    }

    /// Whether the file was changed since it was read, and the keys of it that mean nothing.
    ///
    /// # Errors
    /// What is wrong with it as it is now, in words.
    pub(super) fn on_disk_now(
        &self,
        machine: OfMachine<'_>,
    ) -> Result<(bool, Vec<UnknownKey>), String> {
        let look = |text: &str| match text == self.text {
            true => Ok((false, self.unknown())),
            false => parse(&self.path, text, &self.default_workspace, machine)
                .map(|read| (true, told(text, &read.strangers)))
                .map_err(|error| error.of_file(&self.path, text)),
        };
        on_disk(&self.path).and_then(|text| look(&text)).map_err(|error| match &error {
            ConfigError::Io { source, .. } => format!("{error}: {source}"),
            other => other.to_string(),
        })
    }

    /// The keys of the file that mean nothing, as it was read.
    pub(super) fn unknown(&self) -> Vec<UnknownKey> {
        told(&self.text, &self.read.strangers)
    }

    /// What the settings ask for and this computer does not have.
    pub(super) fn troubles(&self, machine: OfMachine<'_>) -> Vec<ConfigTrouble> {
        let found = troubles::of(self.config(), machine);
        let places = if found.is_empty() { Places::default() } else { Places::of(&self.text) };
        let told = |complaint: FieldError| {
            let line = self.line_of(&complaint.path, &places);
            let key = complaint.path.clone();
            let text = Misplaced { complaint, line }.to_string();
            ConfigTrouble { key, line: line.and_then(|line| u32::try_from(line).ok()), text }
        };
        found.into_iter().map(told).collect()
    }

    /// The keys whose new values count from the next start on.
    pub(super) fn later_keys(&self) -> Vec<String> {
        let (old, new) = (&self.at_start, &self.read.config);
        let differ = [
            ("workspace", old.workspaces().0 != new.workspaces().0),
            ("riskyWorkspace.enabled", old.is_risky_workspace() != new.is_risky_workspace()),
            ("riskyWorkspace.root", old.workspaces().1 != new.workspaces().1),
            ("hooks", old.hooks != new.hooks),
            ("gateway.port", old.port != new.port),
        ];
        let differ = differ.into_iter().chain(old.tools.differ_from(&new.tools));
        differ.filter(|(_, differs)| *differs).map(|(key, _)| key.to_owned()).collect()
    }

    /// That there can be no start, because the workspace cannot be made.
    pub(crate) fn without_workspace(&self, error: &io::Error) -> ConfigError {
        let folder = &self.config().workspace;
        let what = troubles::trouble_with_folder(folder)
            .unwrap_or_else(|| format!("{} cannot be made: {error}", folder.display()));
        let what =
            format!("{what}. Name another folder there, or take the key out for the usual one");
        let complaint = troubles::unusable_workspace(self.config(), &what);
        let line = self.line_of(&complaint.path, &Places::of(&self.text));
        ConfigError::File {
            path: self.path.clone(),
            complaints: vec![Misplaced { complaint, line }],
        }
    }

    /// The line of a key; none where a variable says it.
    fn line_of(&self, key: &str, places: &Places) -> Option<usize> {
        let is_over = self.config().overridden.iter().any(|(over, _)| *over == key);
        if is_over { None } else { places.line(key) }
    }

    fn log_troubles(&self, machine: OfMachine<'_>) {
        for ConfigTrouble { text, .. } in self.troubles(machine) {
            tracing::warn!(file = %self.path.display(), "{text}");
        }
    }

    fn read_again(&mut self, machine: OfMachine<'_>) -> Result<(), ConfigError> {
        let text = on_disk(&self.path)?;
        if text != self.text {
            let read = parse(&self.path, &text, &self.default_workspace, machine);
            let read = read.map_err(|error| error.of_file(&self.path, &text))?;
            (self.text, self.read) = (text, read);
            self.log_strangers();
        }
        Ok(())
    }

    fn log_strangers(&self) {
        for UnknownKey { key, line, text, .. } in self.unknown() {
            tracing::warn!(file = %self.path.display(), key, line, "{text}");
        }
    }
}

/// Strange keys in words, with their lines.
fn told(text: &str, strangers: &[Stranger]) -> Vec<UnknownKey> {
    if strangers.is_empty() {
        return Vec::new();
    }
    let places = Places::of(text);
    let tell = |Stranger { key, .. }: &Stranger| {
        let line = places.line(key);
        let at = line.map(|line| format!(" (line {line})")).unwrap_or_default();
        let meant = names::setting_meant(key);
        UnknownKey {
            key: key.clone(),
            line: line.and_then(|line| u32::try_from(line).ok()),
            nearest: names::nearest_setting(key),
            text: format!("{key}{at} is not a setting and has no effect; {meant}"),
        }
    };
    strangers.iter().map(tell).collect()
}

impl ConfigError {
    /// Complaints about values that stand in the file at `path`, whose text this is, and not in a change.
    fn of_file(self, path: &Path, text: &str) -> Self {
        let Self::Values(complaints) = self else { return self };
        let places = Places::of(text);
        let complaints = complaints.into_iter().map(|complaint| {
            let line = places.line(&complaint.path);
            Misplaced { complaint, line }
        });
        Self::File { path: path.to_owned(), complaints: complaints.collect() }
    }
}

fn joined<T: ToString>(complaints: &[T]) -> String {
    complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What is wrong and where, without the line itself: a key may stand there.
fn unquoted(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().map_or("", |span| &text[..text.floor_char_boundary(span.start)]);
    format!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

fn parse(
    path: &Path,
    text: &str,
    default_workspace: &Path,
    machine: OfMachine<'_>,
) -> Result<Read, ConfigError> {
    let table: toml::Table = toml::from_str(text).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        message: unquoted(&error, text),
    })?;
    let document = serde_json::to_value(&table).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    let mut asked = Vec::new();
    let config = read(document, default_workspace, machine, &mut asked);
    let config = config.map_err(ConfigError::Values)?;
    Ok(Read { config, strangers: names::strangers(&table, &asked) })
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

    /// With no variables, in UTC.
    fn with_machine<T>(work: impl FnOnce(OfMachine<'_>) -> T) -> T {
        work(OfMachine { env: &|_| None, zones: &Zones::built_in(chrono_tz::UTC), secrets: None })
    }

    #[test]
    fn what_was_changed_by_hand_is_kept_and_comes_into_force() {
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
        assert_eq!(file.config().cron.max_concurrent_runs, 7, "it is in force all the same");
        let seen = file.revision();
        patch(&mut file, &change, Some(&seen)).expect("a good change");
        let text = fs::read_to_string(&path).expect("the file");
        assert_eq!(text, "# by hand\n[cron]\nmaxConcurrentRuns = 7\nenabled = false\n");
    }

    #[test]
    fn a_file_that_was_broken_by_hand_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        let mut file = open(&path).expect("the defaults");
        fs::write(&path, "[cron\n").expect("a file");
        let refused = patch(&mut file, &json!({ "cron": { "enabled": false } }), None);
        assert!(matches!(refused, Err(ConfigError::Syntax { .. })), "{refused:?}");
        assert_eq!(fs::read_to_string(&path).expect("the file"), "[cron\n");
        let view = with_machine(|machine| file.view(machine));
        assert!(view.changed_by_hand && view.problem.is_some_and(|words| words.contains("TOML")));
        assert!(file.config().cron.enabled, "what was in force stays in force");

        let bare = "[providers.work]\nkeySecret = sk-LiveKey\n";
        fs::write(&path, bare).expect("a file");
        let words = with_machine(|machine| file.view(machine)).problem.expect("a problem");
        assert!(words.contains("line 2: ") && !words.contains("LiveKey"), "{words}");
    }

    #[test]
    fn what_is_no_file_or_beyond_anybodys_settings_is_refused() {
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
        assert!(!path.exists(), "what cannot be read is not written");
    }

    #[test]
    fn an_unknown_key_is_told_with_its_place_and_never_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        let text = "colour = 1 # mine\n[heartbeat]\nevry = \"1h\"\n[quietHours]\nfrom = \"22:00\"\nto = \"07:00\"\ntheirs = { a = [1] }\n[[hooks]]\non = \"run_started\"\ncommand = [\"x\"]\ntimeot = \"1s\"\n";
        fs::write(&path, text).expect("a file");
        let mut file = open(&path).expect("settings all the same");
        let view = |file: &ConfigFile| with_machine(|machine| file.view(machine));
        let told = |file: &ConfigFile| {
            let keys = view(file).unknown_keys.into_iter();
            keys.map(|key| (key.key, key.line, key.nearest)).collect::<Vec<_>>()
        };
        let stranger = |key: &str, line: u32, nearest: Option<&str>| {
            (key.to_owned(), Some(line), nearest.map(str::to_owned))
        };
        let outside = [
            stranger("colour", 1, None),
            stranger("heartbeat.evry", 3, Some("heartbeat.every")),
            stranger("hooks[0].timeot", 11, Some("hooks[0].timeout")),
        ];
        let mut all = outside.to_vec();
        all.push(stranger("quietHours.theirs", 7, None));
        assert_eq!(told(&file), all);
        assert_eq!(
            view(&file).unknown_keys[1].text,
            "heartbeat.evry (line 3) is not a setting and has no effect; did you mean heartbeat.every?"
        );
        let hours = json!({ "quietHours": { "from": "21:00", "days": ["fri"] } });
        patch(&mut file, &hours, None).expect("a good change");
        assert_eq!(told(&file).len(), 4, "beside what is written they stay");

        patch(&mut file, &json!({ "quietHours": null }), None).expect("a good change");
        assert_eq!(
            told(&file),
            [
                outside[0].clone(),
                outside[1].clone(),
                stranger("hooks[0].timeot", 7, Some("hooks[0].timeout")),
            ]
        );
        let now = fs::read_to_string(&path).expect("the file");
        assert!(now.contains("colour = 1 # mine\n") && now.contains("evry = \"1h\"\n"), "{now}");
        assert!(now.ends_with("# quietHours.theirs = { a = [1] }\n"), "{now}");
        fs::write(&path, "[model]\nnam = \"m\"\n").expect("a change by hand");
        assert_eq!(told(&file), [stranger("model.nam", 2, Some("model.name"))]);
        fs::write(&path, "[model\n").expect("a change by hand");
        assert!(view(&file).problem.is_some());
    }

    #[test]
    fn a_strange_key_is_kept_as_a_comment_whatever_its_letters() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        let controls: String = (0..0x20_u8).chain([0x7f]).map(char::from).collect();
        let strange = toml::Table::from_iter([(controls.clone(), toml::Value::from(controls))]);
        let hours = "[quietHours]\nfrom = \"22:00\"\nto = \"07:00\"\n";
        fs::write(&path, format!("{hours}{strange}")).expect("a file");
        let mut file = open(&path).expect("settings all the same");
        patch(&mut file, &json!({ "quietHours": null }), None).expect("a good change");
        let now = fs::read_to_string(&path).expect("the file");
        assert!(now.contains("# quietHours.\"\\u0000"), "{now}");
        open(&path).expect("the next start reads it");
    }

    #[test]
    fn a_wrong_value_is_named_with_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        fs::write(&path, "[cron]\nmaxConcurrentRuns = 0\n").expect("a file");
        let error = open(&path).err().expect("refused").to_string();
        let named = ["config.toml", "cron.maxConcurrentRuns (line 2): must be between"];
        assert!(named.iter().all(|name| error.contains(name)), "{error}");
    }
}
