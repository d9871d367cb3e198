//! The composition root without a screen: what is started in which order, and stopped in which.
//!
//! Owns the data directory with its one owner, the settings, the system's clock, the outbox, and the wiring of store,
//! agent, scheduler and gateway. It refuses decisions (those are `core`'s), SQL, and every kind of screen: the shell and
//! `rouse serve` both start a [`Host`] and add only what is theirs.

mod host;
mod endpoint;
#[cfg(unix)]
mod open_files;
mod options;
mod runner;
mod hooks;
mod models;
mod secrets;
mod outbox;
mod retention;
mod backup;
mod running_mark;
mod missing_database;
mod routines;
mod search;
mod settings;
mod in_force;
mod config;
mod home;
mod clock;
mod zone_files;
mod machine;
mod notifier;
mod first_start;
mod logging;
mod memory;
mod clean_index;
mod strays;
mod error;
#[cfg(all(test, target_os = "linux"))]
mod own_bus;

pub use backup::{
    Backup, BackupError, BackupFolder, RestoreError, RestoreReport, restore, workspace_of,
};
pub use clock::SystemClock;
pub use config::{
    Config, ConfigError, ConfigFile, Misplaced, OfMachine, is_setting, setting_meant,
};
pub use error::HostError;
pub use home::{Exposure, Home, HomeError};
pub use host::Host;
pub use logging::{Logging, say_aside, start as start_logging};
pub use memory::share_one_heap;
pub use missing_database::missing_database;
pub use notifier::{Notifier, NotifyError};
pub use options::{Env, HostOptions, variable_not_utf8};
pub use rouse_store::{DAMAGED, DAMAGED_AT_REST};
pub use rouse_tools::{Layers, ReaderProgram, SandboxError, read_page_if_asked, sandbox_available};
