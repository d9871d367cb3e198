//! The hooks of this process and of the settings, and what they are told of runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{
    CommandHook, Hook, HookCommand, HookContext, HookPlace, Hooks, RunEnded, RunSeen,
};
use rouse_core::Run;
use rouse_scheduler::RunHooks;
use rouse_tools::{MARK, end_strays};

use crate::config::Config;
use crate::options::HostOptions;
use crate::strays::instance;

/// How long hooks have to do with what they were told last, when Rouse stops.
pub(crate) const END_FOR: Duration = Duration::from_secs(2);

/// The hooks that were handed over, then those that the settings name. The latter run in the data directory, where no
/// model writes.
pub(crate) fn of(options: &HostOptions, config: &Config) -> Hooks {
    let place = HookPlace {
        folder: options.home.root().to_owned(),
        mark: MARK,
        instance: instance(&options.home),
        end_marked: end_strays,
    };
    let hook = |command: &HookCommand| {
        let hook = CommandHook::new(command.clone(), place.clone(), Arc::clone(&options.clock));
        Arc::new(hook) as Arc<dyn Hook>
    };
    Hooks::new(options.hooks.iter().cloned().chain(config.hooks.iter().map(hook)).collect())
}

/// Passes on to the hooks what the scheduler tells of runs.
pub(crate) struct OfRuns {
    hooks: Hooks,
    /// The folder that the tools of runs see.
    workspace: PathBuf,
}

impl RunHooks for OfRuns {
    fn started(&self, run: &Run) {
        self.hooks.run_started(self.seen(run));
    }

    fn finished(&self, run: &Run) {
        self.hooks.run_finished(RunEnded {
            run: self.seen(run),
            state: run.state.name().to_owned(),
            attempts: run.attempt,
            summary: run.summary.clone(),
            error: run.error.clone(),
            reason: run.reason.clone(),
        });
    }
}

impl OfRuns {
    pub(crate) fn new(hooks: &Hooks, config: Config) -> Self {
        Self { hooks: hooks.clone(), workspace: config.workspace }
    }

    fn seen(&self, run: &Run) -> RunSeen {
        RunSeen {
            run_id: run.id.to_string(),
            job_id: run.job_id.as_ref().map(ToString::to_string),
            job_name: run.job_name.clone(),
            trigger: run.trigger.name().to_owned(),
            context: HookContext::of(&run.id, run.job_id.as_ref(), &self.workspace),
        }
    }
}
