//! The status of the scheduler.

use rouse_core::Clock as _;
use rouse_gateway::wire::CronStatus;

use super::text::escape;
use super::time::{local_time, local_time_with_distance};
use crate::resolve::engine::EngineConnection;

/// Prints the scheduler in a few lines.
pub(crate) fn print_scheduler(engine: &EngineConnection, status: &CronStatus) {
    if !status.enabled {
        let reason = status.off_reason.as_deref().unwrap_or_default();
        anstream::println!("Jobs do not fire. {reason}");
    } else if let Some(pause) = &status.pause {
        match pause.until_ms {
            Some(at) => anstream::println!("Paused until {}", local_time_with_distance(engine, at)),
            None => anstream::println!("Paused until `rouse cron resume`"),
        }
    }
    match status.next.as_ref().filter(|_| status.enabled) {
        Some(next) => {
            // With a problem, a due slot stays due.
            let is_due = status.problem.is_some() && next.at_ms <= engine.clock.now().0;
            anstream::println!(
                "{}: {} {}",
                if is_due { "Due" } else { "Next" },
                escape(&next.name),
                local_time_with_distance(engine, next.at_ms)
            );
        }
        None if !status.enabled || status.pause.is_some() => {}
        None => anstream::println!("Next: nothing is scheduled"),
    }
    let retries = match status.between_attempts {
        0 => String::new(),
        1 => "1 waits for its next attempt · ".to_owned(),
        count => format!("{count} wait for their next attempt · "),
    };
    anstream::println!(
        "{} running · {retries}{} queued · {} {}, {} on, {} failing",
        status.running,
        status.queued,
        status.jobs,
        if status.jobs == 1 { "job" } else { "jobs" },
        status.enabled_jobs,
        status.failing_jobs
    );
}

/// Warns on standard error while nothing fires. `consequence` describes the effect of the kill switch.
pub(crate) fn warn_if_not_firing(
    engine: &EngineConnection,
    status: &CronStatus,
    consequence: &str,
) {
    if let Some(problem) = &status.problem {
        anstream::eprintln!("Warning: {}", escape(problem));
    }
    if !status.enabled {
        let reason = status.off_reason.as_deref().unwrap_or("firing is switched off");
        anstream::eprintln!("Warning: {consequence}. {reason}");
    } else if let Some(pause) = &status.pause {
        let until = match pause.until_ms {
            None => "`rouse cron resume`".to_owned(),
            Some(at) => local_time(engine, at),
        };
        anstream::eprintln!(
            "Warning: everything is paused until {until}. Slots before that are skipped."
        );
    }
}
