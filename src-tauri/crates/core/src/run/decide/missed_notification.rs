//! The notification of a missed slot: which slot, when, why, and the command that runs the job now.
//!
//! Recipients are chosen as for any other outcome. Pitfall: notifying of every slot; the caller notifies once, and again
//! after a run or after `SETTLED_MS` without a miss.

use super::delivery::{Announcement, FinishedRun, announce};
use super::job_effect::JobEffect;
use crate::channel::ChannelDirectory;
use crate::incident::IncidentStep;
use crate::job::Job;
use crate::run::{Outcome, Run};
use crate::schedule::{Zone, instant_words};
use crate::{DeliveryId, RunState};

/// A job with a longer name is named by id in the command.
const LONGEST_NAME: usize = 40;

/// The announcement of `run` of `job`, missed for `reason`. The slot is shown in `zone`.
#[must_use]
pub fn announce_missed(
    job: &Job,
    run: &Run,
    reason: &str,
    zone: Zone,
    key: DeliveryId,
    channels: &ChannelDirectory,
) -> Announcement {
    let reason = format!(
        "{} ({}); to run it now: rouse cron run {} --force",
        slots(run, zone),
        lowercase_first(reason),
        shell_word(job)
    );
    let outcome = Outcome { reason: Some(reason), ..Outcome::of(RunState::Missed) };
    let (job_effect, incident) = (&JobEffect::Keep, &IncidentStep::Nothing);
    let job = Some(job);
    let outcome = &outcome;
    let previous_result = None;
    let ended = FinishedRun { job, run, outcome, job_effect, incident, previous_result, channels };
    announce(&ended, key)
}

fn slots(run: &Run, zone: Zone) -> String {
    let last = instant_words(run.slot().unwrap_or(run.created_at).0, zone);
    match run.slot_count {
        0 | 1 => last,
        several => format!("{several} slots up to {last}"),
    }
}

fn lowercase_first(reason: &str) -> String {
    let mut letters = reason.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// The job as an argument of a command line, in any shell.
fn shell_word(job: &Job) -> &str {
    let is_plain = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    let name = job.name.as_str();
    let may_be = name.len() <= LONGEST_NAME && !name.starts_with('-') && name.chars().all(is_plain);
    if may_be && !name.is_empty() { name } else { job.id.as_str() }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{job, job_with, no_channels, run};
    use super::*;
    use crate::UnixMs;
    use crate::job::Notify;

    fn bodies(job: &Job, run: &Run) -> Vec<String> {
        let zone = chrono_tz::Europe::Berlin.into();
        let announcement =
            announce_missed(job, run, "Too late", zone, DeliveryId::new("d"), no_channels());
        announcement.deliveries.into_iter().map(|delivery| delivery.body).collect()
    }

    #[test]
    fn missed_notification_names_slot_and_command() {
        let how = "(too late); to run it now: rouse cron run Morning --force";
        assert_eq!(bodies(&job(), &run()), [format!("Missed: 1 Jan 1970 01:01 {how}")]);
        let several = Run { slot_count: 3, first_slot_at: Some(UnixMs(1)), ..run() };
        let expected = format!("Missed: 3 slots up to 1 Jan 1970 01:01 {how}");
        assert_eq!(bodies(&job(), &several), [expected]);
    }

    #[test]
    fn unsafe_name_is_replaced_by_the_id() {
        for name in ["Every morning", "a; b", "-x", "", &"x".repeat(41)] {
            let job = Job { name: name.to_owned(), ..job() };
            assert!(bodies(&job, &run())[0].ends_with("rouse cron run job-1 --force"), "{name}");
        }
    }

    #[test]
    fn notify_never_sends_nothing() {
        let silent = job_with(|policies| policies.notify = Some(Notify::Never));
        assert_eq!(bodies(&silent, &run()), [""; 0]);
    }
}
