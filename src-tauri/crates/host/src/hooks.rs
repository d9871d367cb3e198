//! The hooks of this process and of the settings, and their notification about runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{
    CommandHook, Hook, HookCommand, HookContext, HookProcessConfig, Hooks, RunFinishedEvent,
    RunStartedEvent,
};
use rouse_core::Run;
use rouse_scheduler::RunHooks;
use rouse_tools::{PROCESS_MARKER, kill_orphans};

use crate::config::Config;
use crate::options::HostOptions;
use crate::orphans::instance_id;

/// The time for pending hook calls at shutdown.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Builds the hooks: first the given hooks, then those of the settings. The latter run in the data directory, where
/// no model writes.
pub(crate) fn build(options: &HostOptions, config: &Config) -> Hooks {
    let process = HookProcessConfig {
        folder: options.home.root().to_owned(),
        marker_variable: PROCESS_MARKER,
        instance: instance_id(&options.home),
        kill_marked: kill_orphans,
    };
    let hook = |command: &HookCommand| {
        let hook = CommandHook::new(command.clone(), process.clone(), Arc::clone(&options.clock));
        Arc::new(hook) as Arc<dyn Hook>
    };
    Hooks::new(options.hooks.iter().cloned().chain(config.hooks.iter().map(hook)).collect())
}

/// Forwards run events of the scheduler to the hooks.
pub(crate) struct RunHookForwarder {
    hooks: Hooks,
    /// The folder of the run's tools.
    workspace: PathBuf,
}

impl RunHooks for RunHookForwarder {
    fn started(&self, run: &Run) {
        self.hooks.run_started(self.start_event(run));
    }

    fn finished(&self, run: &Run) {
        self.hooks.run_finished(RunFinishedEvent {
            run: self.start_event(run),
            state: run.state.name().to_owned(),
            attempts: run.attempt,
            summary: run.summary.clone(),
            error: run.error.clone(),
            reason: run.reason.clone(),
        });
    }
}

impl RunHookForwarder {
    pub(crate) fn new(hooks: &Hooks, config: Config) -> Self {
        Self { hooks: hooks.clone(), workspace: config.workspace }
    }

    fn start_event(&self, run: &Run) -> RunStartedEvent {
        RunStartedEvent {
            run_id: run.id.to_string(),
            job_id: run.job_id.as_ref().map(ToString::to_string),
            job_name: run.job_name.clone(),
            trigger: run.trigger.name().to_owned(),
            context: HookContext::of(&run.id, run.job_id.as_ref(), &self.workspace),
        }
    }
}
