//! The composition root without a screen: start order and shutdown order of the engine.
//!
//! Owns the data directory and its lock, the settings, the system clock, the outbox, and the wiring of store, agent,
//! scheduler and gateway. Never takes decisions (`core` does), never holds SQL or UI: the shell and `rouse serve`
//! both start a [`Host`].

mod host;
mod endpoint;
#[cfg(unix)]
mod open_files;
mod options;
mod runner;
mod hooks;
mod models;
mod secrets;
mod extensions;
mod zip_archive;
mod skills;
mod conformance;
mod outbox;
mod receiver;
mod retention;
mod backup;
mod engine_marker;
mod database_loss;
mod routines;
mod search;
mod settings;
mod apply_settings;
mod channels;
mod config;
mod home;
mod clock;
mod zone_files;
mod machine;
mod notifier;
mod first_start;
mod logging;
mod memory;
mod redacted_index;
mod orphans;
mod error;

pub use backup::{
    Backup, BackupError, BackupFolder, RestoreError, RestoreReport, restore, workspace_of,
};
pub use clock::SystemClock;
pub use config::{
    Config, ConfigError, ConfigFile, MachineFacts, SettingError, is_setting, suggest_setting,
};
pub use conformance::visit_mcp_server;
pub use database_loss::database_loss;
pub use error::HostError;
#[cfg(not(feature = "wasm"))]
pub use extensions::run_wasm_compiler;
pub use home::{Exposure, Home, HomeError};
pub use host::Host;
pub use logging::{Logging, print_error_line, start as start_logging};
pub use memory::share_one_heap;
pub use notifier::{Notifier, NotifyError};
pub use options::{EnvReader, HostOptions, variable_not_utf8};
pub use receiver::PAIRING_WAIT;
pub use rouse_channels::{AppriseLineError, ImportedChannel, is_signing_key, read_apprise_line};
pub use rouse_store::{DAMAGED_WHILE_RUNNING, DAMAGED_WHILE_STOPPED};
pub use rouse_tools::{
    IS_SANDBOX_PREVIEW, PROCESS_MARKER, ReaderProgram, SandboxError, SandboxGuarantees,
    expand_granted_path, find_program, probe_sandbox, run_page_reader,
};
#[cfg(feature = "wasm")]
pub use rouse_wasm::{CompilerProgram, run_wasm_compiler};
