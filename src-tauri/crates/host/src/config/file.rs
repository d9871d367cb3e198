//! The file itself: read at the start and before every change, written whole.
//!
//! The file belongs to the person. What was changed by hand while the engine ran is never overwritten: a change from a
//! client is laid over the file as it is now, and a client that saw an older one is told so.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::json_fields::FieldError;
use rouse_core::stable_hash::stable_hash;
use rouse_gateway::write_private;
use serde_json::Value;

use super::{Config, OfMachine, patch, read};

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
        /// What is wrong, by key or variable.
        complaints: Vec<FieldError>,
    },
    /// A value of a change is wrong.
    #[error("{}", joined(.0))]
    Values(Vec<FieldError>),
    /// The file was changed since the client read it.
    #[error("the settings were changed elsewhere since you opened them")]
    Stale,
}

/// The settings file and what it says.
pub struct ConfigFile {
    path: PathBuf,
    default_workspace: PathBuf,
    text: String,
    config: Config,
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
        let config =
            parse(path, &text, default_workspace, machine).map_err(|error| error.of_file(path))?;
        Ok(Self {
            path: path.to_owned(),
            default_workspace: default_workspace.to_owned(),
            text,
            config,
        })
    }

    /// The settings in force.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
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
        let text = patch::apply(&self.text, change).map_err(ConfigError::Values)?;
        let config = parse(&self.path, &text, &self.default_workspace, machine)?;
        write_private(&self.path, &text)
            .map_err(|source| ConfigError::Io { path: self.path.clone(), source })?;
        (self.text, self.config) = (text, config);
        Ok(())
    }

    /// Whether the file was changed since it was read.
    ///
    /// # Errors
    /// What is wrong with it as it is now, in words.
    pub(super) fn on_disk_now(&self, machine: OfMachine<'_>) -> Result<bool, String> {
        let look = || {
            let text = on_disk(&self.path)?;
            if text == self.text {
                return Ok(false);
            }
            parse(&self.path, &text, &self.default_workspace, machine).map(|_| true)
        };
        look().map_err(|error| error.of_file(&self.path).to_string())
    }

    fn read_again(&mut self, machine: OfMachine<'_>) -> Result<(), ConfigError> {
        let text = on_disk(&self.path)?;
        if text != self.text {
            let config = parse(&self.path, &text, &self.default_workspace, machine);
            let config = config.map_err(|error| error.of_file(&self.path))?;
            (self.text, self.config) = (text, config);
        }
        Ok(())
    }
}

impl ConfigError {
    /// Complaints about values that stand in the file at `path`, and not in a change.
    fn of_file(self, path: &Path) -> Self {
        match self {
            Self::Values(complaints) => Self::File { path: path.to_owned(), complaints },
            other => other,
        }
    }
}

fn joined(complaints: &[FieldError]) -> String {
    complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The text of the file; a missing one is empty.
fn on_disk(path: &Path) -> Result<String, ConfigError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(ConfigError::Io { path: path.to_owned(), source }),
    }
}

fn parse(
    path: &Path,
    text: &str,
    default_workspace: &Path,
    machine: OfMachine<'_>,
) -> Result<Config, ConfigError> {
    let table: toml::Table = toml::from_str(text).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    let document = serde_json::to_value(table).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    read(document, default_workspace, machine).map_err(ConfigError::Values)
}

#[cfg(test)]
mod tests {
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
        work(OfMachine { env: &|_| None, zones: &Zones::built_in(chrono_tz::UTC) })
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
    }

    #[test]
    fn a_wrong_value_is_named_with_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        fs::write(&path, "[cron]\nmaxConcurrentRuns = 0\n").expect("a file");
        let error = open(&path).err().expect("refused").to_string();
        let named = ["config.toml", "cron.maxConcurrentRuns"];
        assert!(named.iter().all(|name| error.contains(name)), "{error}");
    }
}
