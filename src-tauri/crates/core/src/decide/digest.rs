//! One notification for many: in the morning for all that was held while it was quiet, and at once for all that was missed
//! while nothing could fire, or cut off when Rouse stopped.
//!
//! Owns what is said of each job. In the morning it is known by its id and not by its name. A job stands as the newest that it told, but
//! for a pause: as long as that holds, it is what the morning has to know. Whether it holds is a fact about the job, handed
//! in; the words of a notification say too many things to be asked.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::delivery::{LEFT_OUT, WORKS_AGAIN};
use crate::delivery::{Channel, Delivery, NewDelivery};
use crate::quiet::QuietPolicy;
use crate::visible::only_visible;
use crate::{DeliveryId, JobId, RunId, RunState};

/// Jobs that a digest names.
const MOST_NAMES: usize = 4;

/// So many ends of one kind are told of in one notification.
const CROWD: usize = 10;

/// The run that a delivery tells of, and how its job stands by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldRun {
    /// Its job; none for the heartbeat.
    pub job_id: Option<JobId>,
    /// What the job was called then.
    pub job_name: String,
    /// How the run ended.
    pub state: RunState,
    /// Whether its job was paused because of what went wrong, and nobody has switched it on since.
    pub is_paused: bool,
}

/// The digest of what many jobs tell at once of runs that ended as `state`, under the key `id`; none where they are few,
/// or where each end is news of its own.
#[must_use]
pub fn digest_of_crowd(told: &[Delivery], state: RunState, id: DeliveryId) -> Option<NewDelivery> {
    let what = match state {
        RunState::Missed => "jobs missed their time",
        RunState::Interrupted => "jobs were cut off when Rouse stopped",
        _ => return None,
    };
    let title = format!("{} {what}", told.len());
    (told.len() >= CROWD).then(|| NewDelivery { title, ..digest(told, &HashMap::new(), id) })
}

/// The digest of `held`, which are at least two, under the key `id`. Those whose `runs` went wrong are named first, or a job
/// that stopped firing in the night would be overlooked in the morning.
#[must_use]
pub fn digest(held: &[Delivery], runs: &HashMap<RunId, ToldRun>, id: DeliveryId) -> NewDelivery {
    NewDelivery {
        id,
        channel: Channel::Notification,
        to: None,
        title: format!("{} results while you slept", held.len()),
        body: body(held, runs),
        quiet_hours: QuietPolicy::Ignore,
    }
}

/// How a job stands in the morning; what needs somebody more is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Night {
    Fine,
    Recovered,
    LeftOut,
    Failed,
    Paused,
}

impl Night {
    /// By what was told of its newest run.
    fn of(delivery: &Delivery, run: Option<&ToldRun>) -> Self {
        match run {
            Some(run) if run.is_paused => Self::Paused,
            Some(run) if run.state.is_failure() => Self::Failed,
            _ if delivery.body.starts_with(WORKS_AGAIN) => Self::Recovered,
            _ if delivery.body.starts_with(LEFT_OUT) => Self::LeftOut,
            _ => Self::Fine,
        }
    }

    const fn words(self) -> Option<&'static str> {
        match self {
            Self::Fine => None,
            Self::Recovered => Some("works again"),
            Self::LeftOut => Some("left out"),
            Self::Failed => Some("failed"),
            Self::Paused => Some("paused"),
        }
    }
}

/// Whose deliveries stand together.
#[derive(PartialEq, Eq)]
enum Whose<'a> {
    Job(&'a JobId),
    /// Nobody's job: the heartbeat, a budget of everything, a run that is not kept any more.
    Titled(&'a str),
}

/// What a digest says of one job.
struct Line<'a> {
    whose: Whose<'a>,
    title: &'a str,
    count: usize,
    night: Night,
}

impl Line<'_> {
    fn words(&self) -> String {
        let short: String = self.title.chars().take(40).collect();
        let count = (self.count > 1).then(|| self.count.to_string());
        let night = self.night.words().map(str::to_owned);
        let about = count.into_iter().chain(night).collect::<Vec<_>>().join(", ");
        if about.is_empty() { short } else { format!("{short} ({about})") }
    }
}

/// The names of the jobs, those that need somebody first, then those that said most: `Mail (paused), Weather (4), Backup and
/// 2 more`.
fn body(held: &[Delivery], runs: &HashMap<RunId, ToldRun>) -> String {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for delivery in held {
        let run = delivery.run_id.as_ref().and_then(|id| runs.get(id));
        // What a run tells under another name is not about its job.
        let run = run.filter(|run| only_visible(&run.job_name) == delivery.title);
        let (title, night) = (delivery.title.as_str(), Night::of(delivery, run));
        let job = run.and_then(|run| run.job_id.as_ref());
        let whose = job.map_or(Whose::Titled(title), Whose::Job);
        match lines.iter_mut().find(|line| line.whose == whose) {
            Some(line) => (line.title, line.count, line.night) = (title, line.count + 1, night),
            None => lines.push(Line { whose, title, count: 1, night }),
        }
    }
    lines.sort_by_key(|line| Reverse((line.night, line.count)));
    let more = lines.len().saturating_sub(MOST_NAMES);
    let named: Vec<String> = lines.iter().take(MOST_NAMES).map(Line::words).collect();
    let named = named.join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnixMs;
    use crate::delivery::DeliveryState;

    fn held(title: &str) -> Delivery {
        Delivery {
            id: DeliveryId::new("d"),
            run_id: None,
            channel: Channel::Notification,
            to: None,
            title: title.to_owned(),
            body: "Done.".to_owned(),
            state: DeliveryState::Held,
            attempts: 0,
            reason: None,
            created_at: UnixMs(0),
            next_attempt_at: None,
            settled_at: None,
            quiet_hours: QuietPolicy::Respect,
            held_until: None,
            digest: None,
        }
    }

    fn of(titles: &[&str]) -> NewDelivery {
        let held: Vec<Delivery> = titles.iter().map(|title| held(title)).collect();
        digest(&held, &HashMap::new(), DeliveryId::new("digest-1"))
    }

    /// A night of deliveries, the oldest first, each of a run of the job `id` called `title`.
    #[derive(Default)]
    struct Told {
        held: Vec<Delivery>,
        runs: HashMap<RunId, ToldRun>,
        paused: Vec<&'static str>,
    }

    impl Told {
        fn tells(mut self, (id, title): (&str, &str), state: RunState, body: &str) -> Self {
            let run = RunId::new(self.held.len().to_string());
            let (run_id, body) = (Some(run.clone()), body.to_owned());
            self.held.push(Delivery { run_id, body, ..held(title) });
            let (job_id, job_name) = (Some(JobId::new(id)), title.to_owned());
            self.runs.insert(run, ToldRun { job_id, job_name, state, is_paused: false });
            self
        }

        fn body(mut self) -> String {
            for run in self.runs.values_mut() {
                let job = run.job_id.as_ref().map_or("", JobId::as_str);
                run.is_paused = self.paused.contains(&job);
            }
            digest(&self.held, &self.runs, DeliveryId::new("d")).body
        }
    }

    const MAIL: (&str, &str) = ("1", "Mail");
    const SYNC: (&str, &str) = ("2", "Sync");

    #[test]
    fn who_needs_somebody_is_named_before_who_said_much() {
        let mut night = Told { paused: vec!["1"], ..Told::default() };
        for id in ["a", "a", "b", "b", "c", "c", "d", "d"] {
            night = night.tells((id, id), RunState::Succeeded, "Done.");
        }
        let night = night
            .tells(MAIL, RunState::Failed, "Failed: Exit code 3.")
            .tells(MAIL, RunState::Failed, "Paused after 2 failures in a row: Exit code 3.")
            .tells(("3", "Tax"), RunState::Failed, "Failed: no network.")
            .tells(("4", "Diary"), RunState::Succeeded, "Paused after all of it, says a model.");
        assert_eq!(night.body(), "Mail (2, paused), Tax (failed), a (2), b (2) and 3 more");
    }

    #[test]
    fn a_job_stands_as_the_newest_that_it_has_told() {
        let (failed, again) = ("Failed: no network.", "Works again after a failure.");
        let night = Told::default()
            .tells(SYNC, RunState::Failed, failed)
            .tells(SYNC, RunState::Succeeded, again)
            .tells(MAIL, RunState::Succeeded, again)
            .tells(MAIL, RunState::Failed, failed);
        assert_eq!(night.body(), "Mail (2, failed), Sync (2, works again)");
    }

    #[test]
    fn a_pause_that_holds_is_told_whatever_came_after_it_and_whatever_it_is_called() {
        for why in ["Paused after a failure: x", "Paused because one run asked too often: x", "x"] {
            let night = Told { paused: vec!["1"], ..Told::default() }
                .tells(MAIL, RunState::Failed, why)
                .tells(SYNC, RunState::Succeeded, "Done.")
                .tells(MAIL, RunState::Succeeded, "Done.");
            assert_eq!(night.body(), "Mail (2, paused), Sync", "{why}");
        }
        let over = Told::default()
            .tells(MAIL, RunState::Failed, "Paused after a failure: x")
            .tells(MAIL, RunState::Succeeded, "Works again after a failure.")
            .tells(SYNC, RunState::Failed, "Paused after a failure: x");
        assert_eq!(
            over.body(),
            "Sync (failed), Mail (2, works again)",
            "somebody has switched it on"
        );
    }

    #[test]
    fn jobs_of_one_name_are_told_apart_and_one_of_two_names_is_one() {
        let namesake = ("3", "Mail");
        let night = Told { paused: vec!["1"], ..Told::default() }
            .tells(MAIL, RunState::Failed, "Paused after a failure: x")
            .tells(namesake, RunState::Succeeded, "Done.")
            .tells(namesake, RunState::Succeeded, "Done.")
            .tells(("1", "Post"), RunState::Succeeded, "Done.");
        assert_eq!(night.body(), "Post (2, paused), Mail (2)");
    }

    #[test]
    fn what_a_run_tells_of_a_budget_of_everything_is_not_about_its_job() {
        let mut night = Told { paused: vec!["1"], ..Told::default() }
            .tells(MAIL, RunState::Failed, "Paused after a failure: x")
            .tells(MAIL, RunState::Failed, "The budget of today is used up.");
        night.held[1].title = "Rouse".to_owned();
        assert_eq!(night.body(), "Mail (paused), Rouse");
    }

    #[test]
    fn says_how_many_and_whose() {
        let told = of(&["Backup", "Weather", "Weather", "Mail"]);
        assert_eq!(told.title, "4 results while you slept");
        assert_eq!(told.body, "Weather (2), Backup, Mail");
        assert_eq!(told.quiet_hours, QuietPolicy::Ignore, "it must not be held itself");
    }

    #[test]
    fn what_was_missed_or_cut_off_says_so_when_it_is_many() {
        let many: Vec<Delivery> = (0..10).map(|n| held(&format!("Look {n}"))).collect();
        let of = |told: &[Delivery], state| {
            digest_of_crowd(told, state, DeliveryId::new("digest-1")).map(|told| told.title)
        };
        assert_eq!(of(&many, RunState::Missed).as_deref(), Some("10 jobs missed their time"));
        let cut_off = "10 jobs were cut off when Rouse stopped";
        assert_eq!(of(&many, RunState::Interrupted).as_deref(), Some(cut_off));
        assert_eq!(of(&many[1..], RunState::Interrupted), None, "few tell by themselves");
        assert_eq!(of(&many, RunState::Failed), None);
    }

    #[test]
    fn a_long_night_is_still_one_line() {
        let told = of(&["a", "b", "c", "d", "e", "f"]);
        assert_eq!(told.body, "a, b, c, d and 2 more");
        assert!(of(&[&"x".repeat(200), "y"]).body.chars().count() < 60);
    }
}
