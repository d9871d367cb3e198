//! The file itself: read once, changed only through `patch`, written whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::json_fields::FieldError;
use serde_json::Value;

use super::{Config, Env, patch, read};
use crate::home::write_private;

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
    /// A value is wrong.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
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
    pub fn open(path: &Path, default_workspace: &Path, env: Env<'_>) -> Result<Self, ConfigError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(ConfigError::Io { path: path.to_owned(), source }),
        };
        let config = parse(path, &text, default_workspace, env)?;
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
        let hash = self.text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }

    /// Lays `change` over the file. Comments and unknown keys stay; a wrong value changes nothing.
    ///
    /// # Errors
    /// `Stale`, or what is wrong with the change.
    pub fn patch(
        &mut self,
        change: &Value,
        expected: Option<&str>,
        env: Env<'_>,
    ) -> Result<(), ConfigError> {
        if expected.is_some_and(|expected| expected != self.revision()) {
            return Err(ConfigError::Stale);
        }
        let text = patch::apply(&self.text, change).map_err(ConfigError::Values)?;
        let config = parse(&self.path, &text, &self.default_workspace, env)?;
        write_private(&self.path, &text)
            .map_err(|source| ConfigError::Io { path: self.path.clone(), source })?;
        (self.text, self.config) = (text, config);
        Ok(())
    }
}

fn parse(
    path: &Path,
    text: &str,
    default_workspace: &Path,
    env: Env<'_>,
) -> Result<Config, ConfigError> {
    let table: toml::Table = toml::from_str(text).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    let document = serde_json::to_value(table).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    read(document, default_workspace, env).map_err(ConfigError::Values)
}
