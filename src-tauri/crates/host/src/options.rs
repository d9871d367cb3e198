//! What the composition root is told from outside.

use std::ffi::OsString;
use std::sync::Arc;

use rouse_agent::{ChosenModel, Hook};
use rouse_core::Clock;
use rouse_core::time::Timer;
use rouse_gateway::UiFiles;
use rouse_gateway::wire::EngineMode;
use rouse_tools::ReaderProgram;

use crate::clock::SystemClock;
use crate::home::Home;
use crate::notifier::Notifier;

/// Reads one environment variable.
pub type Env = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The variables that choose the data directory, the settings and the log.
const VARIABLES: [&str; 19] = [
    "ROUSE_HOME",
    "XDG_DATA_HOME",
    "LOCALAPPDATA",
    "ROUSE_LOG",
    "ROUSE_LOG_PAYLOADS",
    "ROUSE_SKIP_CRON",
    "ROUSE_KEYRING",
    "ROUSE_LOCAL_MODELS",
    "ROUSE_RUN_ID",
    "HEARTBEAT_ENABLED",
    "HEARTBEAT_INTERVAL_MS",
    "FILE_WORKSPACE_ROOT",
    "CODEX_CWD",
    "FILE_WORKSPACE_MODE",
    "RISKY_WORKSPACE_MODE",
    "RISKY_WORKSPACE_ROOT",
    "READ_FILE_MAX_BYTES",
    "RUN_COMMAND_TIMEOUT_MS",
    "MAX_MULTI_ACT_STEPS",
];

/// The complaint about the first variable that is set to something other than UTF-8. Reading it as unset would use other data
/// or other settings than the person asked for.
#[must_use]
pub fn variable_not_utf8(read: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let unreadable = |name: &&&str| read(name).is_some_and(|value| value.to_str().is_none());
    let name = VARIABLES.iter().find(unreadable)?;
    let value = read(name).unwrap_or_default();
    Some(format!(
        "The environment variable {name} is not UTF-8 text: `{}`. Set it to UTF-8 text, or unset it.",
        value.to_string_lossy()
    ))
}

/// Everything a host needs to know.
pub struct HostOptions {
    /// The data directory.
    pub home: Home,
    /// The app or `rouse serve`.
    pub mode: EngineMode,
    /// The port to listen on; the configured one when absent.
    pub port: Option<u16>,
    /// The UI's files.
    pub ui: Arc<dyn UiFiles>,
    /// Native notifications; without them, those of a desktop app that is attached.
    pub notifier: Option<Arc<dyn Notifier>>,
    /// Wall time, monotonic time, zone.
    pub clock: Arc<dyn Clock>,
    /// What wakes the scheduler and the outbox; the system's timer when absent.
    pub timer: Option<Arc<dyn Fn() -> Box<dyn Timer> + Send + Sync>>,
    /// Environment variables.
    pub env: Env,
    /// The one model there is, whatever the settings say; looked for when absent.
    pub model: Option<ChosenModel>,
    /// The program that is started to read a page of the web; this one once more.
    pub reader: ReaderProgram,
    /// Hooks in this process: told and asked before those of the settings.
    pub hooks: Vec<Arc<dyn Hook>>,
}

impl HostOptions {
    /// A host without a screen.
    #[must_use]
    pub fn headless(home: Home, mode: EngineMode, port: Option<u16>, ui: Arc<dyn UiFiles>) -> Self {
        Self {
            home,
            mode,
            port,
            ui,
            notifier: None,
            clock: Arc::new(SystemClock::default()),
            timer: None,
            env: Arc::new(|name| std::env::var(name).ok()),
            model: None,
            reader: ReaderProgram::default(),
            hooks: Vec::new(),
        }
    }

    /// A host with native notifications.
    #[must_use]
    pub fn desktop(home: Home, ui: Arc<dyn UiFiles>, notifier: Arc<dyn Notifier>) -> Self {
        Self { notifier: Some(notifier), ..Self::headless(home, EngineMode::App, None, ui) }
    }
}
