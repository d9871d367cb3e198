//! Whom a finished run tells, and what.
//!
//! Execution and delivery are two facts: this decides only what is put into the outbox with the outcome. A
//! notification never carries more than the first sentence, because it may be read on a lock screen. A job that fails
//! again and again of the same is told of once, when it begins, and once when it is over; only `notify: always` asks for
//! every run. One could get it wrong by asking only `is_failure`: a run that was cut off did not fail, yet somebody who
//! wants to hear of failures wants to hear of it, too.

use super::fate::JobFate;
use super::incident::{SETTLED_MS, unchecked};
use crate::condition::Verdict;
use crate::delivery::{Channel, NewDelivery};
use crate::incident::{Ailment, IncidentStep};
use crate::job::{Job, Notify, NotifyWhen, Payload};
use crate::quiet::QuietPolicy;
use crate::run::{Outcome, Run};
use crate::schedule::format_duration;
use crate::visible::only_visible;
use crate::words::{without_marks, without_ticks};
use crate::{DeliveryId, RunState};

/// Most characters of a notification's text.
const MOST_CHARACTERS: usize = 180;

/// What is committed together with the outcome of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Announcement {
    /// Rows for the outbox.
    pub deliveries: Vec<NewDelivery>,
    /// A line for the main session.
    pub system_event: Option<String>,
}

/// The end of a run with all that decides whom it tells.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    /// Its job; none for the heartbeat.
    pub job: Option<&'a Job>,
    /// The run.
    pub run: &'a Run,
    /// How it ended.
    pub outcome: &'a Outcome,
    /// What becomes of its job.
    pub fate: &'a JobFate,
    /// What it does to the incidents of its job.
    pub incident: &'a IncidentStep,
    /// What the same `toolCall` answered the time before.
    pub previous_result: Option<&'a serde_json::Value>,
}

/// Decides what the end of a run tells.
#[must_use]
pub fn announce(ended: &Ended<'_>, key: DeliveryId) -> Announcement {
    let delivery = is_told(ended).then(|| NewDelivery {
        id: key,
        channel: channel_of(ended.job),
        to: recipient_of(ended.job),
        title: title_of(ended),
        body: notification_body(ended),
        quiet_hours: ended.job.map(|job| job.policies.quiet_hours.clone()).unwrap_or_default(),
    });
    Announcement {
        deliveries: delivery.into_iter().collect(),
        system_event: ended.job.and_then(|job| line_for_main(job, ended.outcome)),
    }
}

/// What is told of the reminder `text` of the job called `name`, when no model has told it: the same as where there is
/// none. `job` is what is left of it; a job that is gone silences nothing.
#[must_use]
pub fn remind(key: DeliveryId, name: &str, text: &str, job: Option<&Job>) -> Option<NewDelivery> {
    let policies = job.map(|job| &job.policies);
    let notify = policies.and_then(|policies| policies.notify).unwrap_or_default();
    wants_by_policy(notify, RunState::Succeeded).then(|| NewDelivery {
        id: key,
        channel: Channel::Notification,
        to: None,
        title: title_by_job(name, None),
        body: first_sentence(text, MOST_CHARACTERS),
        quiet_hours: policies.map_or(QuietPolicy::Respect, |policies| policies.quiet_hours.clone()),
    })
}

/// What is queued for the main session: the event that the job is about, else the summary of what a model did. It is
/// committed with the outcome, so that a crash neither loses the line nor queues it twice.
fn line_for_main(job: &Job, outcome: &Outcome) -> Option<String> {
    match &job.payload {
        Payload::SystemEvent { text, .. } => match (outcome.state, &outcome.reason) {
            (RunState::Succeeded, _) => Some(text.clone()),
            (RunState::Missed, Some(reason)) => {
                let (prefix, name) = (job.main_prefix(), &job.name);
                Some(format!("{prefix} {name}: missed: {reason}. It was to say: {text}"))
            }
            _ => None,
        },
        Payload::AgentTurn(_) | Payload::ToolCall(_) => summary_line(job, outcome),
    }
}

fn is_told(ended: &Ended<'_>) -> bool {
    let notify = ended.job.and_then(|job| job.policies.notify).unwrap_or_default();
    // A job that stops firing says so, whatever it was told about its runs.
    if matches!(ended.fate, JobFate::IsPaused(_)) {
        return true;
    }
    if let Some(stop) = &ended.outcome.budget {
        // Whoever keeps it tells the same budget once a day, whatever became of each run.
        return !ended.run.is_watched() && (stop.is_of_everything || notify != Notify::Never);
    }
    match ended.incident {
        IncidentStep::GoesOn { .. } => notify == Notify::Always,
        IncidentStep::Recovers { .. } => notify != Notify::Never,
        IncidentStep::Opens { .. } | IncidentStep::ComesBack { .. } | IncidentStep::Nothing => {
            tells_by_itself(ended)
        }
    }
}

/// Whether the outcome is worth a notification, whatever there was before.
fn tells_by_itself(ended: &Ended<'_>) -> bool {
    let (outcome, state) = (ended.outcome, ended.outcome.state);
    let Some(job) = ended.job else {
        // Who has written in the chat or tries out a tool reads the answer there.
        return !ended.run.is_watched() && (state == RunState::Succeeded || state.is_failure());
    };
    if outcome.lacks_model() {
        return job.policies.notify.unwrap_or_default() != Notify::Never;
    }
    let by_payload = went_wrong(state)
        || match &job.payload {
            Payload::ToolCall(call) => match &call.notify_when {
                NotifyWhen::Always => true,
                NotifyWhen::Failure => false,
                NotifyWhen::Changed => outcome.result.as_ref() != ended.previous_result,
                // A condition that could not be checked is told, as the incident that it is: nobody must wait in vain
                // for what it was to tell.
                NotifyWhen::Cel { .. } => outcome.verdict != Some(Verdict::NotMet),
            },
            Payload::AgentTurn(turn) => turn.deliver != Some(false),
            // The event itself is delivered (or not) by what the main session makes of it.
            Payload::SystemEvent { .. } => outcome.result.is_some(),
        };
    by_payload && wants_by_policy(job.policies.notify.unwrap_or_default(), state)
}

const fn went_wrong(state: RunState) -> bool {
    matches!(
        state,
        RunState::Failed | RunState::TimedOut | RunState::Interrupted | RunState::Missed
    )
}

const fn wants_by_policy(notify: Notify, state: RunState) -> bool {
    match notify {
        Notify::Always => !matches!(state, RunState::Skipped | RunState::Cancelled),
        Notify::Findings => matches!(state, RunState::Succeeded) || went_wrong(state),
        Notify::Failure => went_wrong(state),
        Notify::Never => false,
    }
}

fn channel_of(job: Option<&Job>) -> Channel {
    match job.map(|job| &job.payload) {
        Some(Payload::AgentTurn(turn)) if turn.deliver == Some(true) => {
            turn.channel.as_deref().map_or(Channel::Notification, Channel::from_name)
        }
        _ => Channel::Notification,
    }
}

fn recipient_of(job: Option<&Job>) -> Option<String> {
    match job.map(|job| &job.payload) {
        Some(Payload::AgentTurn(turn)) => turn.to.clone(),
        _ => None,
    }
}

/// The job's name; a budget of everything is no job's.
fn title_of(ended: &Ended<'_>) -> String {
    match &ended.outcome.budget {
        Some(stop) if stop.is_of_everything => "Rouse".to_owned(),
        _ => title_by_job(&ended.run.job_name, None),
    }
}

/// The title of what a job tells, or of what its run says under a title of its own. The job's name always stands first, and
/// a name that begins with Rouse's is quoted, so that nobody can imitate Rouse's own titles.
#[must_use]
pub fn title_by_job(job_name: &str, title: Option<&str>) -> String {
    const OWN: &str = "rouse";
    let letters = job_name.chars().filter(|letter| letter.is_alphanumeric());
    let start: String = letters.flat_map(char::to_lowercase).take(OWN.len()).collect();
    let name = if start == OWN { format!("Job “{job_name}”") } else { job_name.to_owned() };
    match title.filter(|title| *title != job_name) {
        Some(title) => format!("{name}: {title}"),
        None => name,
    }
}

fn notification_body(ended: &Ended<'_>) -> String {
    let outcome = ended.outcome;
    if let Some(stop) = outcome.budget.as_ref().filter(|_| ended.fate.pause_reason().is_none()) {
        // Figures and a date of Rouse's own, which nobody else has worded.
        return stop.words.clone();
    }
    let text = match (ended.fate, ended.incident) {
        (JobFate::IsPaused(reason), _) => Some(match &outcome.error {
            Some(error) => format!("{reason}: {}", without_ticks(error)),
            None => format!("{reason}."),
        }),
        (_, IncidentStep::Recovers { of, failures, after_ms }) => {
            Some(recovery(ended, *of, *failures, *after_ms))
        }
        (_, IncidentStep::ComesBack { failures, after_ms, .. }) => {
            Some(comes_back(ended, *failures, *after_ms))
        }
        _ => of_outcome(ended),
    };
    let sentence = text.map(|text| first_sentence(&text, MOST_CHARACTERS)).unwrap_or_default();
    if sentence.is_empty() { "Done.".to_owned() } else { sentence }
}

fn of_outcome(ended: &Ended<'_>) -> Option<String> {
    let outcome = ended.outcome;
    match outcome.state {
        RunState::Failed => {
            outcome.error.as_deref().map(|error| format!("Failed: {}", without_ticks(error)))
        }
        RunState::TimedOut => Some("Ran out of time.".to_owned()),
        RunState::Interrupted => Some("Was cut off when Rouse stopped.".to_owned()),
        RunState::NothingToReport => Some("Nothing to report.".to_owned()),
        RunState::Skipped => {
            outcome.reason.as_deref().map(|reason| format!("{LEFT_OUT}{}", without_ticks(reason)))
        }
        RunState::Missed => {
            outcome.reason.as_deref().map(|reason| format!("Missed: {}", without_ticks(reason)))
        }
        _ => match &outcome.verdict {
            Some(Verdict::Broken(reason)) => Some(without_ticks(&unchecked(reason))),
            _ => outcome.summary.as_deref().map(|summary| as_seen(ended.job, summary)),
        },
    }
}

/// What a model has written as its reader would see it; what a tool has answered, and a person's own words, as they are.
fn as_seen(job: Option<&Job>, summary: &str) -> String {
    match job.map(|job| &job.payload) {
        None | Some(Payload::AgentTurn(_)) => without_marks(summary),
        Some(Payload::ToolCall(_) | Payload::SystemEvent { .. }) => summary.to_owned(),
    }
}

/// That it fails again of what it had recovered from. Whoever reads it must know that silence means no end of it.
fn comes_back(ended: &Ended<'_>, failures: u32, after_ms: i64) -> String {
    let (after, settled) = (format_duration(after_ms), format_duration(SETTLED_MS));
    let why = of_outcome(ended).unwrap_or_default();
    format!(
        "Comes and goes, {failures} times in {after}; told next when it has gone well for {settled}: {why}"
    )
}

/// How a job tells that it works again.
pub(super) const WORKS_AGAIN: &str = "Works again after";
/// How a job tells that its work was not done, and that it did not fail.
pub(super) const LEFT_OUT: &str = "Skipped: ";

/// That it works again, and what it says, if that would have been told in any case.
fn recovery(ended: &Ended<'_>, of: Ailment, failures: u32, after_ms: i64) -> String {
    let after = format_duration(after_ms);
    let again = match (of, failures) {
        (Ailment::Runs, 0 | 1) => format!("{WORKS_AGAIN} a failure"),
        (Ailment::Runs, _) => format!("{WORKS_AGAIN} {failures} failures in {after}"),
        (Ailment::Model, 0 | 1) => "Its model answers again".to_owned(),
        (Ailment::Model, _) => format!("Its model answers again after {failures} runs in {after}"),
        (Ailment::Condition, 0 | 1) => "The condition can be checked again".to_owned(),
        (Ailment::Condition, _) => {
            format!("The condition can be checked again after {failures} runs in {after}")
        }
    };
    let said = tells_by_itself(ended).then(|| of_outcome(ended)).flatten();
    match said.filter(|said| !said.trim().is_empty()) {
        Some(said) => format!("{again}: {said}"),
        None => format!("{again}."),
    }
}

/// The first sentence or line of `text` in which there is something to be seen, at most `most` characters.
#[must_use]
pub fn first_sentence(text: &str, most: usize) -> String {
    let text = only_visible(text);
    let line = text.trim().lines().next().unwrap_or_default();
    let sentence = line.match_indices(". ").find(|(dot, _)| ends_a_sentence(&line[..*dot]));
    let sentence = sentence.map_or(line, |(dot, _)| &line[..=dot]);
    if sentence.chars().count() <= most {
        return sentence.to_owned();
    }
    let cut: String = sentence.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// A dot after `1` or `e.g` numbers or shortens something; a sentence that runs on does less harm than one cut there.
fn ends_a_sentence(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_list_number = word == before && word.chars().all(|c| c.is_ascii_digit());
    let is_abbreviation =
        word.chars().filter(|c| c.is_alphanumeric()).count() < 2 || word.contains('.');
    !is_list_number && (!is_abbreviation || word.chars().all(|c| c.is_ascii_digit()))
}

/// What the main session is told of an isolated turn, which every `agentTurn` is. A `toolCall` is nothing to talk about.
fn summary_line(job: &Job, outcome: &Outcome) -> Option<String> {
    if !matches!(job.payload, Payload::AgentTurn(_)) {
        return None;
    }
    let text = match outcome.state {
        RunState::Succeeded => outcome.summary.clone()?,
        RunState::Failed => format!("failed: {}", outcome.error.as_deref().unwrap_or("no details")),
        RunState::TimedOut => "ran out of time".to_owned(),
        RunState::Interrupted => "was cut off when Rouse stopped".to_owned(),
        RunState::Missed => {
            format!("missed: {}", outcome.reason.as_deref().unwrap_or("no details"))
        }
        RunState::NothingToReport | RunState::Cancelled | RunState::Skipped => return None,
        RunState::Queued | RunState::Running | RunState::AwaitingApproval => return None,
    };
    Some(format!("{} {}: {text}", job.main_prefix(), job.name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::sample::{job, job_doing, run};
    use super::*;
    use crate::RunTrigger;
    use crate::money::BudgetStop;
    use RunState::{
        Cancelled, Failed, Interrupted, Missed, NothingToReport, Skipped, Succeeded, TimedOut,
    };

    /// The end of a run that changes nothing else.
    fn ended<'a>(job: Option<&'a Job>, run: &'a Run, outcome: &'a Outcome) -> Ended<'a> {
        let (fate, incident) = (&JobFate::Stays, &IncidentStep::Nothing);
        Ended { job, run, outcome, fate, incident, previous_result: None }
    }

    fn tell(job: Option<&Job>, outcome: &Outcome) -> Announcement {
        announce(&ended(job, &run(), outcome), DeliveryId::new("d-1"))
    }

    /// What a run of `job` tells when it does this to the incidents.
    fn told_with(job: &Job, outcome: &Outcome, incident: &IncidentStep) -> Option<String> {
        let run = run();
        let ended = Ended { incident, ..ended(Some(job), &run, outcome) };
        announce(&ended, DeliveryId::new("d")).deliveries.pop().map(|delivery| delivery.body)
    }

    fn is_told(job: &Job, state: RunState) -> bool {
        !tell(Some(job), &Outcome::of(state)).deliveries.is_empty()
    }

    #[test]
    fn title_of_job_never_looks_like_one_of_rouse() {
        for (job, title, shown) in [
            ("Morning", None, "Morning"),
            ("Morning", Some("Morning"), "Morning"),
            (
                "Morning",
                Some("Rouse needs your permission"),
                "Morning: Rouse needs your permission",
            ),
            ("Rouse needs you", None, "Job “Rouse needs you”"),
            (" R·o·u·s·e", Some("Sign in"), "Job “ R·o·u·s·e”: Sign in"),
        ] {
            assert_eq!(title_by_job(job, title), shown);
        }
    }

    #[test]
    fn the_notify_policy_decides() {
        let states =
            [Succeeded, NothingToReport, Failed, TimedOut, Interrupted, Missed, Cancelled, Skipped];
        for (notify, expected) in [
            (Notify::Always, [true, true, true, true, true, true, false, false]),
            (Notify::Findings, [true, false, true, true, true, true, false, false]),
            (Notify::Failure, [false, false, true, true, true, true, false, false]),
            (Notify::Never, [false; 8]),
        ] {
            let mut job = job();
            job.policies.notify = Some(notify);
            assert_eq!(states.map(|state| is_told(&job, state)), expected, "{notify:?}");
        }
    }

    #[test]
    fn a_tool_call_tells_what_it_was_asked_to() {
        let only =
            |when| job_doing(json!({ "kind": "toolCall", "tool": "echo", "notifyWhen": when }));
        assert!(is_told(&only("always"), Succeeded));
        assert!(!is_told(&only("failure"), Succeeded));
        assert!(is_told(&only("failure"), Failed));
        assert!(is_told(&only("failure"), Interrupted));

        let changed = only("changed");
        let with_result =
            |result: Value| Outcome { result: Some(result), ..Outcome::of(Succeeded) };
        let told = |previous: Option<&Value>, outcome: &Outcome| {
            let run = run();
            let ended = Ended { previous_result: previous, ..ended(Some(&changed), &run, outcome) };
            !announce(&ended, DeliveryId::new("d")).deliveries.is_empty()
        };
        assert!(told(None, &with_result(json!(1))));
        assert!(!told(Some(&json!(1)), &with_result(json!(1))));
        assert!(told(Some(&json!(1)), &with_result(json!(2))));
        assert!(told(None, &Outcome::failed("no network")));
        assert!(told(Some(&json!(1)), &Outcome::failed("no network")));
    }

    #[test]
    fn a_condition_decides_and_one_that_cannot_be_checked_is_told() {
        let job = job_doing(
            json!({ "kind": "toolCall", "tool": "echo", "notifyWhen": { "cel": "result < 20" } }),
        );
        let with = |verdict| Outcome { verdict: Some(verdict), ..Outcome::succeeded("17 %") };
        let body = |outcome: &Outcome| told_with(&job, outcome, &IncidentStep::Nothing);
        assert_eq!(body(&with(Verdict::Met)).as_deref(), Some("17 %"));
        assert_eq!(body(&with(Verdict::NotMet)), None);
        assert_eq!(
            body(&with(Verdict::Broken("no such key `level`".to_owned()))).as_deref(),
            Some("The condition could not be checked: no such key level")
        );
        assert_eq!(
            body(&Outcome { verdict: None, ..Outcome::succeeded("17 %") }).as_deref(),
            Some("17 %"),
            "one that nobody checked is not a reason to be silent"
        );
        assert_eq!(body(&Outcome::failed("no network")).as_deref(), Some("Failed: no network"));
    }

    #[test]
    fn the_same_failure_is_told_once_unless_every_run_is_asked_for() {
        let opens = IncidentStep::Opens { class: "c".to_owned(), cause: "no network".to_owned() };
        let goes_on = IncidentStep::GoesOn { id: 1 };
        let failed = Outcome::failed("no network");
        for (notify, first, again) in [
            (Notify::Always, true, true),
            (Notify::Findings, true, false),
            (Notify::Failure, true, false),
            (Notify::Never, false, false),
        ] {
            let mut job = job();
            job.policies.notify = Some(notify);
            assert_eq!(told_with(&job, &failed, &opens).is_some(), first, "{notify:?}");
            assert_eq!(told_with(&job, &failed, &goes_on).is_some(), again, "{notify:?}");
        }
    }

    #[test]
    fn what_comes_back_is_told_with_its_count() {
        let back = IncidentStep::ComesBack { id: 1, failures: 2, after_ms: 120_000 };
        let failed = Outcome::failed("no network");
        assert_eq!(
            told_with(&job(), &failed, &back).as_deref(),
            Some(
                "Comes and goes, 2 times in 2 min; told next when it has gone well for 6 h: Failed: no network"
            )
        );
        let mut silent = job();
        silent.policies.notify = Some(Notify::Never);
        assert_eq!(told_with(&silent, &failed, &back), None);
    }

    #[test]
    fn a_recovery_is_told_to_whoever_heard_of_the_failure() {
        let of = Ailment::Runs;
        let recovers = IncidentStep::Recovers { of, failures: 14, after_ms: 3 * 3_600_000 };
        let well = Outcome::succeeded("17 %");
        let body = |notify, when: &str| {
            let mut job =
                job_doing(json!({ "kind": "toolCall", "tool": "echo", "notifyWhen": when }));
            job.policies.notify = Some(notify);
            told_with(&job, &well, &recovers)
        };
        let again = "Works again after 14 failures in 3 h";
        assert_eq!(body(Notify::Findings, "always"), Some(format!("{again}: 17 %")));
        assert_eq!(body(Notify::Findings, "failure"), Some(format!("{again}.")));
        assert_eq!(body(Notify::Failure, "always"), Some(format!("{again}.")));
        assert_eq!(body(Notify::Never, "always"), None);
        let once = IncidentStep::Recovers { of, failures: 1, after_ms: 60_000 };
        let nothing = Outcome::of(NothingToReport);
        assert_eq!(
            told_with(&job(), &nothing, &once).as_deref(),
            Some("Works again after a failure.")
        );
    }

    #[test]
    fn a_condition_that_cannot_be_checked_is_told_once_and_once_when_it_can() {
        let job = job_doing(
            json!({ "kind": "toolCall", "tool": "echo", "notifyWhen": { "cel": "result < 20" } }),
        );
        let with = |verdict| Outcome { verdict: Some(verdict), ..Outcome::succeeded("17 %") };
        let broken = with(Verdict::Broken("there is no `level` in it".to_owned()));
        let (class, cause) = ("condition".to_owned(), "words".to_owned());
        let first = told_with(&job, &broken, &IncidentStep::Opens { class, cause });
        let said = "The condition could not be checked: there is no level in it";
        assert_eq!(first.as_deref(), Some(said));
        assert_eq!(told_with(&job, &broken, &IncidentStep::GoesOn { id: 1 }), None);
        let again = |failures, verdict| {
            let of = Ailment::Condition;
            let recovers = IncidentStep::Recovers { of, failures, after_ms: 3 * 3_600_000 };
            told_with(&job, &with(verdict), &recovers)
        };
        let can = "The condition can be checked again";
        assert_eq!(again(14, Verdict::NotMet), Some(format!("{can} after 14 runs in 3 h.")));
        assert_eq!(again(14, Verdict::Met), Some(format!("{can} after 14 runs in 3 h: 17 %")));
        assert_eq!(again(1, Verdict::NotMet), Some(format!("{can}.")));
    }

    #[test]
    fn a_turn_goes_to_its_channel() {
        let turn = |extra: Value| {
            let mut payload = json!({ "kind": "agentTurn", "message": "Look" });
            payload
                .as_object_mut()
                .expect("an object")
                .extend(extra.as_object().cloned().expect("one"));
            job_doing(payload)
        };
        let outcome = Outcome::succeeded("Two mails.");
        let to = |job: &Job| tell(Some(job), &outcome).deliveries.pop().map(|d| (d.channel, d.to));
        let named = turn(json!({ "deliver": true, "channel": "telegram", "to": "7" }));
        assert_eq!(to(&named), Some((Channel::Named("telegram".into()), Some("7".into()))));
        assert_eq!(
            to(&turn(json!({ "deliver": true, "channel": "last" }))),
            Some((Channel::Notification, None))
        );
        assert_eq!(to(&turn(json!({}))), Some((Channel::Notification, None)));
        let unasked = turn(json!({ "channel": "telegram", "to": "7" }));
        assert_eq!(to(&unasked).map(|(channel, _)| channel), Some(Channel::Notification));
        let silent = turn(json!({ "deliver": false }));
        assert_eq!(to(&silent), None);
        assert!(is_told(&silent, Failed), "a failure is told even so");
    }

    #[test]
    fn a_reminder_is_told_when_the_runner_hands_it_out() {
        let job = job_doing(json!({ "kind": "systemEvent", "text": "Stretch" }));
        assert!(!is_told(&job, Succeeded));
        let reminder = Outcome { result: Some(json!("Stretch")), ..Outcome::succeeded("Stretch") };
        assert_eq!(tell(Some(&job), &reminder).deliveries[0].body, "Stretch");
    }

    #[test]
    fn the_heartbeat_tells_findings_and_failures() {
        for (state, told) in
            [(Succeeded, true), (Failed, true), (NothingToReport, false), (Interrupted, false)]
        {
            assert_eq!(!tell(None, &Outcome::of(state)).deliveries.is_empty(), told, "{state:?}");
        }
    }

    #[test]
    fn a_pause_is_always_told() {
        let mut job = job();
        job.policies.notify = Some(Notify::Never);
        let fate = JobFate::IsPaused("Paused after 3 failures in a row".to_owned());
        let outcome = Outcome::failed("no network. Try later.");
        let (run, goes_on) = (run(), IncidentStep::GoesOn { id: 1 });
        let ended = Ended { fate: &fate, incident: &goes_on, ..ended(Some(&job), &run, &outcome) };
        let said = announce(&ended, DeliveryId::new("d-1"));
        assert_eq!(said.deliveries[0].body, "Paused after 3 failures in a row: no network.");
    }

    #[test]
    fn a_budget_that_is_used_up_is_told_in_its_own_words() {
        let stop = |is_of_everything| BudgetStop {
            key: "k".to_owned(),
            is_of_everything,
            passes_with_the_day: true,
            words: "The budget is used up. It is free again tomorrow.".to_owned(),
        };
        let skipped = |stop| Outcome { budget: Some(stop), ..Outcome::skipped("used up") };
        let mut job = job();
        for (notify, own, everything) in [
            (Notify::Findings, true, true),
            (Notify::Failure, true, true),
            (Notify::Never, false, true),
        ] {
            job.policies.notify = Some(notify);
            let told = |stop| told_with(&job, &skipped(stop), &IncidentStep::Nothing).is_some();
            assert_eq!((told(stop(false)), told(stop(true))), (own, everything), "{notify:?}");
        }
        let said = tell(Some(&job), &skipped(stop(true))).deliveries;
        assert_eq!((said[0].title.as_str(), said[0].body.as_str()), ("Rouse", &*stop(true).words));
        let run = Run { trigger: RunTrigger::Chat, ..run() };
        let failed = Outcome { budget: Some(stop(true)), ..Outcome::failed("used up") };
        let said = announce(&ended(None, &run, &failed), DeliveryId::new("d"));
        assert_eq!(said.deliveries, [], "who has written reads it there");
    }

    #[test]
    fn bodies_in_words() {
        let (job, run) = (job(), run());
        let body = |outcome: &Outcome| notification_body(&ended(Some(&job), &run, outcome));
        for (outcome, text) in [
            (Outcome::succeeded("It rains. Take a coat."), "It rains."),
            (Outcome::succeeded("  \n "), "Done."),
            (Outcome::of(Succeeded), "Done."),
            (Outcome::failed("no network"), "Failed: no network"),
            (Outcome::of(TimedOut), "Ran out of time."),
            (Outcome::of(Interrupted), "Was cut off when Rouse stopped."),
        ] {
            assert_eq!(body(&outcome), text);
        }
    }

    #[test]
    fn a_notification_shows_no_marks() {
        let run = run();
        let asks = job_doing(json!({ "kind": "agentTurn", "message": "Look" }));
        let calls = job_doing(json!({ "kind": "toolCall", "tool": "echo", "arguments": {} }));
        let body =
            |job: Option<&Job>, outcome: &Outcome| notification_body(&ended(job, &run, outcome));
        let said = Outcome::succeeded("## **Two** mails\n\n- one from [Ada](https://example.org)");
        assert_eq!(body(Some(&asks), &said), "Two mails");
        assert_eq!(body(None, &said), "Two mails");
        for (written, told) in [
            ("~~The database is gone.~~ All is well.", "All is well."),
            ("***\n---", "Done."),
            ("~~All of it~~", "Done."),
            ("\u{200b}\u{2060}\n\u{2800}\nTwo mails", "Two mails"),
            ("\u{200b}\u{202e}", "Done."),
            ("Fish &amp; chips", "Fish & chips"),
        ] {
            assert_eq!(body(Some(&asks), &Outcome::succeeded(written)), told, "{written:?}");
        }
        let answered = Outcome::succeeded("\u{1b}\u{202e}a\u{200b}b\u{2028}c");
        assert_eq!(body(Some(&calls), &answered), "ab");
        let answered = Outcome::succeeded("__init__.py *.rs");
        assert_eq!(body(Some(&calls), &answered), "__init__.py *.rs", "a name is no mark");
        let failed = Outcome::failed("There is no tool `http` here");
        for job in [&asks, &calls] {
            assert_eq!(body(Some(job), &failed), "Failed: There is no tool http here");
        }
    }

    #[test]
    fn first_sentences() {
        for (text, sentence) in [
            ("One. Two.", "One."),
            ("1. Buy milk. And bread.", "1. Buy milk."),
            ("It is 21. Good.", "It is 21."),
            ("Use e.g. a coat. It rains.", "Use e.g. a coat."),
            ("Line one\nline two", "Line one"),
            ("no end", "no end"),
            ("äöü äöü äöü", "äöü äöü ä…"),
        ] {
            assert_eq!(first_sentence(text, 10.max(sentence.chars().count())), sentence);
        }
        assert_eq!(first_sentence("äöü äöü äöü", 10), "äöü äöü ä…");
    }

    #[test]
    fn a_system_event_is_queued_with_the_outcome_of_its_run() {
        let reminder = job_doing(json!({ "kind": "systemEvent", "text": "Stretch" }));
        let line = |outcome: &Outcome| tell(Some(&reminder), outcome).system_event;
        assert_eq!(line(&Outcome::succeeded("Stretch")).as_deref(), Some("Stretch"));
        assert_eq!(line(&Outcome::of(Cancelled)), None);
    }

    #[test]
    fn an_isolated_turn_posts_its_summary_to_main() {
        let turn = job_doing(json!({ "kind": "agentTurn", "message": "Look" }));
        let line = |outcome: &Outcome| tell(Some(&turn), outcome).system_event;
        assert_eq!(
            line(&Outcome::succeeded("Two mails.")).as_deref(),
            Some("Cron Morning: Two mails.")
        );
        assert_eq!(
            line(&Outcome::failed("no key")).as_deref(),
            Some("Cron Morning: failed: no key")
        );
        assert_eq!(line(&Outcome::of(TimedOut)).as_deref(), Some("Cron Morning: ran out of time"));
        assert_eq!(line(&Outcome::of(NothingToReport)), None);
        assert_eq!(line(&Outcome::of(Cancelled)), None);
        assert_eq!(tell(Some(&job()), &Outcome::succeeded("x")).system_event, None, "a tool call");
    }
}
