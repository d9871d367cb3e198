//! The settings: `config.toml`, overridden by environment variables.
//!
//! Owns the file, the variables, and the settings of this computer only: folders, hook commands. The document itself is in
//! `rouse_core::settings`. Unknown keys stay in the file and are reported.
//! Pitfall: accepting a relative path; its meaning depends on the directory in which Rouse starts.

mod settings_text;
mod key_lines;
mod keys;
mod environment;
mod hooks;
mod availability;
mod patch;
mod file;
mod values;
mod view;

pub(crate) use availability::unknown_provider;
pub use file::{ConfigError, ConfigFile, SettingError};
pub use keys::{is_setting, suggest_setting};
pub use values::{Config, MachineFacts};
