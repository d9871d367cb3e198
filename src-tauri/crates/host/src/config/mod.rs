//! The settings: `config.toml`, with environment variables over it.
//!
//! Owns the file, the variables, and the values that this computer adds to the document (`rouse_core::settings`): folders,
//! hook commands. Unknown keys stay in the file and are reported.
//! Pitfall: relative paths; they name another folder wherever Rouse is started, so they are refused.

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
