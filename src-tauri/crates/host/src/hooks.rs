//! The hooks of the settings, and what they are told of runs.

use std::sync::Arc;

use rouse_agent::{CommandHook, Hook, HookCommand, Hooks, RunEnded, RunSeen};
use rouse_core::{Clock, Outcome, Run};

use crate::config::Config;
use crate::home::Home;

/// The hooks that the settings name. They run in the data directory, where no model writes.
pub(crate) fn of(config: &Config, home: &Home, clock: &Arc<dyn Clock>) -> Hooks {
    let hook = |command: &HookCommand| {
        let (folder, clock) = (home.root().to_owned(), Arc::clone(clock));
        Arc::new(CommandHook::new(command.clone(), folder, clock)) as Arc<dyn Hook>
    };
    Hooks::new(config.hooks.iter().map(hook).collect())
}

/// A run that begins, as hooks are told it.
pub(crate) fn seen(run: &Run) -> RunSeen {
    RunSeen {
        run_id: run.id.to_string(),
        job_id: run.job_id.as_ref().map(ToString::to_string),
        job_name: run.job_name.clone(),
        attempt: run.attempt,
    }
}

/// The same run at its end.
pub(crate) fn ended(run: RunSeen, outcome: &Outcome) -> RunEnded {
    RunEnded { run, state: outcome.state.name().to_owned(), summary: outcome.summary.clone() }
}
