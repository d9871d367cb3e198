//! The options of a host.

use std::ffi::OsString;
use std::sync::Arc;

use rouse_agent::{ChosenModel, Hook};
use rouse_core::Clock;
use rouse_core::time::Timer;
use rouse_gateway::UiFiles;
use rouse_gateway::wire::EngineMode;
use rouse_scheduler::timer::WallTimer;
use rouse_tools::ReaderProgram;
#[cfg(feature = "wasm")]
use rouse_wasm::CompilerProgram;

use crate::clock::SystemClock;
use crate::error::HostError;
use crate::home::Home;
use crate::notifier::Notifier;

/// Reads one environment variable.
pub type EnvReader = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The variables that set the data directory, the settings and the log.
const ENVIRONMENT_VARIABLES: [&str; 20] = [
    "ROUSE_HOME",
    "ROUSE_ON",
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

/// The error for the first variable with a value other than UTF-8.
///
/// Treating such a variable as unset would use the wrong data directory or settings.
#[must_use]
pub fn variable_not_utf8(read: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let unreadable = |name: &&&str| read(name).is_some_and(|value| value.to_str().is_none());
    let name = ENVIRONMENT_VARIABLES.iter().find(unreadable)?;
    let value = read(name).unwrap_or_default();
    Some(format!(
        "The environment variable {name} is not UTF-8 text: `{}`. Set it to UTF-8 text, or unset it.",
        value.to_string_lossy()
    ))
}

/// The options of a host.
pub struct HostOptions {
    /// The data directory.
    pub home: Home,
    /// The app or `rouse serve`.
    pub mode: EngineMode,
    /// The port to listen on; the configured port if absent.
    pub port: Option<u16>,
    /// The UI's files.
    pub ui: Arc<dyn UiFiles>,
    /// Native notifications; if absent, those of an attached desktop app.
    pub notifier: Option<Arc<dyn Notifier>>,
    /// Wall time, monotonic time, zone.
    pub clock: Arc<dyn Clock>,
    /// The timer of the scheduler and the outbox; the system's timer if absent.
    pub timer: Option<Arc<dyn Fn() -> Box<dyn Timer> + Send + Sync>>,
    /// Environment variables.
    pub env: EnvReader,
    /// The only model, overriding the settings; discovered if absent.
    pub model: Option<ChosenModel>,
    /// The program that reads a web page; this program by default.
    pub reader: ReaderProgram,
    /// The program that compiles tools in WebAssembly and JavaScript; this program by default.
    #[cfg(feature = "wasm")]
    pub wasm_compiler: CompilerProgram,
    /// Hooks in this process, called before the hooks of the settings.
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
            #[cfg(feature = "wasm")]
            wasm_compiler: CompilerProgram::default(),
            hooks: Vec::new(),
        }
    }

    /// A host with native notifications.
    #[must_use]
    pub fn desktop(home: Home, ui: Arc<dyn UiFiles>, notifier: Arc<dyn Notifier>) -> Self {
        Self { notifier: Some(notifier), ..Self::headless(home, EngineMode::App, None, ui) }
    }

    /// A timer for the scheduler or the outbox.
    pub(crate) fn build_timer(&self) -> Result<Box<dyn Timer>, HostError> {
        self.timer.as_ref().map_or_else(|| system_timer(&self.clock), |build| Ok(build()))
    }
}

#[cfg(target_os = "linux")]
fn system_timer(_: &Arc<dyn Clock>) -> Result<Box<dyn Timer>, HostError> {
    Ok(Box::new(WallTimer::new().map_err(HostError::Timer)?))
}

#[cfg(not(target_os = "linux"))]
fn system_timer(clock: &Arc<dyn Clock>) -> Result<Box<dyn Timer>, HostError> {
    Ok(Box::new(WallTimer::new(Arc::clone(clock))))
}
