//! What the composition root is told from outside.

use std::sync::Arc;

use rouse_agent::{ChosenModel, Hook};
use rouse_core::Clock;
use rouse_core::time::Timer;
use rouse_gateway::UiFiles;
use rouse_gateway::wire::EngineMode;

use crate::clock::SystemClock;
use crate::home::Home;
use crate::notifier::Notifier;

/// Reads one environment variable.
pub type Env = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

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
            hooks: Vec::new(),
        }
    }

    /// A host with native notifications.
    #[must_use]
    pub fn desktop(home: Home, ui: Arc<dyn UiFiles>, notifier: Arc<dyn Notifier>) -> Self {
        Self { notifier: Some(notifier), ..Self::headless(home, EngineMode::App, None, ui) }
    }
}
