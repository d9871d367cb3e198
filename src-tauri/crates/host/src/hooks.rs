//! The hooks of the settings, and what they are told of runs.

use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{CommandHook, Hook, HookCommand, HookPlace, Hooks, RunEnded, RunSeen};
use rouse_core::{Clock, Run};
use rouse_scheduler::RunHooks;
use rouse_tools::{MARK, end_strays};

use crate::config::Config;
use crate::home::Home;
use crate::strays::instance;

/// How long hooks have to do with what they were told last, when Rouse stops.
pub(crate) const END_FOR: Duration = Duration::from_secs(2);

/// The hooks that the settings name. They run in the data directory, where no model writes.
pub(crate) fn of(config: &Config, home: &Home, clock: &Arc<dyn Clock>) -> Hooks {
    let place = HookPlace {
        folder: home.root().to_owned(),
        mark: MARK,
        instance: instance(home),
        end_marked: end_strays,
    };
    let hook = |command: &HookCommand| {
        let hook = CommandHook::new(command.clone(), place.clone(), Arc::clone(clock));
        Arc::new(hook) as Arc<dyn Hook>
    };
    Hooks::new(config.hooks.iter().map(hook).collect())
}

/// Passes on to the hooks what the scheduler tells of runs.
pub(crate) struct OfRuns(pub(crate) Hooks);

impl RunHooks for OfRuns {
    fn started(&self, run: &Run) {
        self.0.run_started(seen(run));
    }

    fn finished(&self, run: &Run) {
        self.0.run_finished(RunEnded {
            run: seen(run),
            state: run.state.name().to_owned(),
            attempts: run.attempt,
            summary: run.summary.clone(),
            error: run.error.clone(),
            reason: run.reason.clone(),
        });
    }
}

fn seen(run: &Run) -> RunSeen {
    RunSeen {
        run_id: run.id.to_string(),
        job_id: run.job_id.as_ref().map(ToString::to_string),
        job_name: run.job_name.clone(),
        trigger: run.trigger.name().to_owned(),
    }
}
