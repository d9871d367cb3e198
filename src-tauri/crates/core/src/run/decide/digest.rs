//! Digests: a single notification for many results, in the morning after quiet hours or after a mass failure.
//!
//! Owns the text. A job is identified by id, not by name, and shown with the newest result; an active pause takes
//! priority. Whether the pause is active is passed in, because the text of a notification is not reliable.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::delivery::{LEFT_OUT, WORKS_AGAIN};
use crate::channel::{MessageKind, Route};
use crate::delivery::{Delivery, NewDelivery};
use crate::text::strip_invisible;
use crate::time::QuietPolicy;
use crate::{DeliveryId, JobId, RunId, RunState};

/// The maximum jobs named in a digest.
const MOST_NAMES: usize = 4;

/// The minimum runs with the same end that share a digest.
const CROWD: usize = 10;

/// The run behind a delivery, and the present status of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestRun {
    /// The job; none for the heartbeat.
    pub job_id: Option<JobId>,
    /// The job's name at that time.
    pub job_name: String,
    /// The final state of the run.
    pub state: RunState,
    /// Whether the job was paused because of the failure and not re-enabled since.
    pub is_paused: bool,
}

/// The digest of many runs that ended as `state` at once; none for a few runs or for a state that deserves single
/// notifications.
#[must_use]
pub fn build_mass_digest(
    deliveries: &[Delivery],
    state: RunState,
    route: &Route,
    id: DeliveryId,
) -> Option<NewDelivery> {
    let what = match state {
        RunState::Missed => "jobs missed their time",
        RunState::Interrupted => "jobs were cut off when Rouse stopped",
        _ => return None,
    };
    let title = format!("{} {what}", deliveries.len());
    (deliveries.len() >= CROWD)
        .then(|| NewDelivery { title, ..build_digest(deliveries, &HashMap::new(), route, id) })
}

/// The digest of at least two `held` deliveries of one route. Jobs that need attention come first.
#[must_use]
pub fn build_digest(
    held: &[Delivery],
    runs: &HashMap<RunId, DigestRun>,
    route: &Route,
    id: DeliveryId,
) -> NewDelivery {
    let has_failure = held.iter().any(|delivery| delivery.kind == MessageKind::Failure);
    NewDelivery {
        approval: None,
        id,
        kind: if has_failure { MessageKind::Failure } else { MessageKind::Report },
        route: route.clone(),
        title: format!("{} results while you slept", held.len()),
        body: body(held, runs),
        text: (!route.channel.is_notification()).then(|| whole_text(held)),
        quiet_hours: QuietPolicy::IGNORE,
    }
}

/// Every held message with its first sentence, as a list.
fn whole_text(held: &[Delivery]) -> String {
    let line = |delivery: &Delivery| format!("- **{}**: {}", delivery.title, delivery.body);
    held.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The status of a job in a digest, ordered by need for attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum JobStatus {
    Fine,
    Recovered,
    LeftOut,
    Failed,
    Paused,
}

impl JobStatus {
    /// The status by the newest delivery.
    fn of(delivery: &Delivery, run: Option<&DigestRun>) -> Self {
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

/// The key under which deliveries are grouped.
#[derive(PartialEq, Eq)]
enum LineOwner<'a> {
    Job(&'a JobId),
    /// No job: the heartbeat, a budget of everything, a run that was deleted.
    Titled(&'a str),
}

/// The line of a job.
struct DigestLine<'a> {
    owner: LineOwner<'a>,
    title: &'a str,
    count: usize,
    status: JobStatus,
}

impl DigestLine<'_> {
    fn words(&self) -> String {
        let short: String = self.title.chars().take(40).collect();
        let count = (self.count > 1).then(|| self.count.to_string());
        let status = self.status.words().map(str::to_owned);
        let about = count.into_iter().chain(status).collect::<Vec<_>>().join(", ");
        if about.is_empty() { short } else { format!("{short} ({about})") }
    }
}

/// The jobs by need for attention, then by number of results: `Mail (paused), Weather (4), Backup and 2 more`.
fn body(held: &[Delivery], runs: &HashMap<RunId, DigestRun>) -> String {
    let mut lines: Vec<DigestLine<'_>> = Vec::new();
    for delivery in held {
        let run = delivery.run_id.as_ref().and_then(|id| runs.get(id));
        // A run may notify under another name; then the delivery is not about the job of the run.
        let run = run.filter(|run| strip_invisible(&run.job_name) == delivery.title);
        let (title, status) = (delivery.title.as_str(), JobStatus::of(delivery, run));
        let job = run.and_then(|run| run.job_id.as_ref());
        let owner = job.map_or(LineOwner::Titled(title), LineOwner::Job);
        match lines.iter_mut().find(|line| line.owner == owner) {
            Some(line) => (line.title, line.count, line.status) = (title, line.count + 1, status),
            None => lines.push(DigestLine { owner, title, count: 1, status }),
        }
    }
    lines.sort_by_key(|line| Reverse((line.status, line.count)));
    let more = lines.len().saturating_sub(MOST_NAMES);
    let named: Vec<String> = lines.iter().take(MOST_NAMES).map(DigestLine::words).collect();
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
            kind: MessageKind::Report,
            approval: None,
            route: Route::notification(),
            title: title.to_owned(),
            body: "Done.".to_owned(),
            text: None,
            state: DeliveryState::Held,
            attempts: 0,
            sent_parts: 0,
            unconfirmed: 0,
            reason: None,
            created_at: UnixMs(0),
            first_attempt_at: None,
            next_attempt_at: None,
            settled_at: None,
            quiet_hours: QuietPolicy::RESPECT,
            held_until: None,
            digest: None,
        }
    }

    fn of(titles: &[&str]) -> NewDelivery {
        let held: Vec<Delivery> = titles.iter().map(|title| held(title)).collect();
        build_digest(&held, &HashMap::new(), &Route::notification(), DeliveryId::new("digest-1"))
    }

    /// A status of deliveries, the oldest first, each of a run of the job `id` called `title`.
    #[derive(Default)]
    struct DigestFixture {
        held: Vec<Delivery>,
        runs: HashMap<RunId, DigestRun>,
        paused: Vec<&'static str>,
    }

    impl DigestFixture {
        fn ended(mut self, (id, title): (&str, &str), state: RunState, body: &str) -> Self {
            let run = RunId::new(self.held.len().to_string());
            let (run_id, body) = (Some(run.clone()), body.to_owned());
            self.held.push(Delivery { run_id, body, ..held(title) });
            let (job_id, job_name) = (Some(JobId::new(id)), title.to_owned());
            self.runs.insert(run, DigestRun { job_id, job_name, state, is_paused: false });
            self
        }

        fn body(mut self) -> String {
            for run in self.runs.values_mut() {
                let job = run.job_id.as_ref().map_or("", JobId::as_str);
                run.is_paused = self.paused.contains(&job);
            }
            build_digest(&self.held, &self.runs, &Route::notification(), DeliveryId::new("d")).body
        }
    }

    const MAIL: (&str, &str) = ("1", "Mail");
    const SYNC: (&str, &str) = ("2", "Sync");

    #[test]
    fn job_that_needs_attention_is_named_first() {
        let mut status = DigestFixture { paused: vec!["1"], ..DigestFixture::default() };
        for id in ["a", "a", "b", "b", "c", "c", "d", "d"] {
            status = status.ended((id, id), RunState::Succeeded, "Done.");
        }
        let status = status
            .ended(MAIL, RunState::Failed, "Failed: Exit code 3.")
            .ended(MAIL, RunState::Failed, "Paused after 2 failures in a row: Exit code 3.")
            .ended(("3", "Tax"), RunState::Failed, "Failed: no network.")
            .ended(("4", "Diary"), RunState::Succeeded, "Paused after all of it, says a model.");
        assert_eq!(status.body(), "Mail (2, paused), Tax (failed), a (2), b (2) and 3 more");
    }

    #[test]
    fn job_is_shown_with_its_newest_result() {
        let (failed, again) = ("Failed: no network.", "Works again after a failure.");
        let status = DigestFixture::default()
            .ended(SYNC, RunState::Failed, failed)
            .ended(SYNC, RunState::Succeeded, again)
            .ended(MAIL, RunState::Succeeded, again)
            .ended(MAIL, RunState::Failed, failed);
        assert_eq!(status.body(), "Mail (2, failed), Sync (2, works again)");
    }

    #[test]
    fn holding_pause_is_shown_over_later_results() {
        for why in [
            "Paused after a failure: x",
            "Paused because a run requested too many approvals: x",
            "x",
        ] {
            let status = DigestFixture { paused: vec!["1"], ..DigestFixture::default() }
                .ended(MAIL, RunState::Failed, why)
                .ended(SYNC, RunState::Succeeded, "Done.")
                .ended(MAIL, RunState::Succeeded, "Done.");
            assert_eq!(status.body(), "Mail (2, paused), Sync", "{why}");
        }
        let over = DigestFixture::default()
            .ended(MAIL, RunState::Failed, "Paused after a failure: x")
            .ended(MAIL, RunState::Succeeded, "Works again after a failure.")
            .ended(SYNC, RunState::Failed, "Paused after a failure: x");
        assert_eq!(over.body(), "Sync (failed), Mail (2, works again)", "a person enabled the job");
    }

    #[test]
    fn jobs_are_identified_by_id_not_by_name() {
        let namesake = ("3", "Mail");
        let status = DigestFixture { paused: vec!["1"], ..DigestFixture::default() }
            .ended(MAIL, RunState::Failed, "Paused after a failure: x")
            .ended(namesake, RunState::Succeeded, "Done.")
            .ended(namesake, RunState::Succeeded, "Done.")
            .ended(("1", "Post"), RunState::Succeeded, "Done.");
        assert_eq!(status.body(), "Post (2, paused), Mail (2)");
    }

    #[test]
    fn global_budget_delivery_is_not_about_its_job() {
        let mut status = DigestFixture { paused: vec!["1"], ..DigestFixture::default() }
            .ended(MAIL, RunState::Failed, "Paused after a failure: x")
            .ended(MAIL, RunState::Failed, "The budget of today is used up.");
        status.held[1].title = "Rouse".to_owned();
        assert_eq!(status.body(), "Mail (paused), Rouse");
    }

    #[test]
    fn digest_names_count_and_jobs() {
        let morning = of(&["Backup", "Weather", "Weather", "Mail"]);
        assert_eq!(morning.title, "4 results while you slept");
        assert_eq!(morning.body, "Weather (2), Backup, Mail");
        assert_eq!(morning.quiet_hours, QuietPolicy::IGNORE, "the digest is not held");
    }

    #[test]
    fn mass_digest_names_missed_and_interrupted_runs() {
        let many: Vec<Delivery> = (0..10).map(|n| held(&format!("Look {n}"))).collect();
        let of = |deliveries: &[Delivery], state| {
            build_mass_digest(
                deliveries,
                state,
                &Route::notification(),
                DeliveryId::new("digest-1"),
            )
            .map(|digest| digest.title)
        };
        assert_eq!(of(&many, RunState::Missed).as_deref(), Some("10 jobs missed their time"));
        let cut_off = "10 jobs were cut off when Rouse stopped";
        assert_eq!(of(&many, RunState::Interrupted).as_deref(), Some(cut_off));
        assert_eq!(of(&many[1..], RunState::Interrupted), None, "few runs notify singly");
        assert_eq!(of(&many, RunState::Failed), None);
    }

    #[test]
    fn digest_of_many_jobs_is_one_line() {
        let digest = of(&["a", "b", "c", "d", "e", "f"]);
        assert_eq!(digest.body, "a, b, c, d and 2 more");
        assert!(of(&[&"x".repeat(200), "y"]).body.chars().count() < 60);
    }
}
