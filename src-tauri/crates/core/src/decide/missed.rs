//! What is told of a slot that was missed: which it was, when, why, and how its job is run now.
//!
//! Who hears of it is decided as for any other end. One could get it wrong by telling each of a job's slots: whoever
//! asks does so once, and again when the job has run since or has gone without a miss for `SETTLED_MS`.

use super::delivery::{Announcement, Ended, announce};
use super::fate::JobFate;
use crate::incident::IncidentStep;
use crate::job::Job;
use crate::run::{Outcome, Run};
use crate::schedule::{Zone, instant_words};
use crate::{DeliveryId, RunState};

/// A job with a longer name is named by its id where a person is to type it.
const LONGEST_NAME: usize = 40;

/// What `run` of `job` tells, which was missed for `reason`; its slot is told as the clock of `zone` shows it.
#[must_use]
pub fn announce_missed(
    job: &Job,
    run: &Run,
    reason: &str,
    zone: Zone,
    key: DeliveryId,
) -> Announcement {
    let told = format!(
        "{} ({}); to run it now: rouse cron run {} --force",
        slots(run, zone),
        uncapitalised(reason),
        typed(job)
    );
    let outcome = Outcome { reason: Some(told), ..Outcome::of(RunState::Missed) };
    let (fate, incident) = (&JobFate::Stays, &IncidentStep::Nothing);
    let job = Some(job);
    announce(&Ended { job, run, outcome: &outcome, fate, incident, previous_result: None }, key)
}

fn slots(run: &Run, zone: Zone) -> String {
    let last = instant_words(run.slot().unwrap_or(run.created_at).0, zone);
    match run.stands_for {
        0 | 1 => last,
        several => format!("{several} slots up to {last}"),
    }
}

fn uncapitalised(reason: &str) -> String {
    let mut letters = reason.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// What stands for the job on a command line, in any shell.
fn typed(job: &Job) -> &str {
    let is_plain = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    let name = job.name.as_str();
    let may_be = name.len() <= LONGEST_NAME && !name.starts_with('-') && name.chars().all(is_plain);
    if may_be && !name.is_empty() { name } else { job.id.as_str() }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{job, job_with, run};
    use super::*;
    use crate::UnixMs;
    use crate::job::Notify;

    fn told(job: &Job, run: &Run) -> Vec<String> {
        let zone = chrono_tz::Europe::Berlin.into();
        let said = announce_missed(job, run, "Too late", zone, DeliveryId::new("d"));
        said.deliveries.into_iter().map(|delivery| delivery.body).collect()
    }

    #[test]
    fn it_says_which_slot_it_was_and_how_it_is_run_now() {
        let how = "(too late); to run it now: rouse cron run Morning --force";
        assert_eq!(told(&job(), &run()), [format!("Missed: 1 Jan 1970 01:01 {how}")]);
        let several = Run { stands_for: 3, first_slot_at: Some(UnixMs(1)), ..run() };
        let said = format!("Missed: 3 slots up to 1 Jan 1970 01:01 {how}");
        assert_eq!(told(&job(), &several), [said]);
    }

    #[test]
    fn a_name_that_is_hard_to_type_is_an_id() {
        for name in ["Every morning", "a; b", "-x", "", &"x".repeat(41)] {
            let job = Job { name: name.to_owned(), ..job() };
            assert!(told(&job, &run())[0].ends_with("rouse cron run job-1 --force"), "{name}");
        }
    }

    #[test]
    fn whoever_wants_to_hear_nothing_hears_nothing() {
        let silent = job_with(|policies| policies.notify = Some(Notify::Never));
        assert_eq!(told(&silent, &run()), [""; 0]);
    }
}
