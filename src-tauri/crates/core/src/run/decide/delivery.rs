//! Notification routing: the recipients and the text of a finished run.
//!
//! Owns the rows that enter the outbox with the outcome; execution and delivery are judged apart. A notification
//! carries only the first sentence, because it may be read on a lock screen. A recurring failure is notified once when
//! the incident opens and once when resolved; only `notify: always` notifies of every run.
//! Pitfall: testing only `is_failure`; an interrupted run did not fail, but belongs to `notify: failure`.

use super::incident::{SETTLED_MS, unchecked_condition};
use super::job_effect::JobEffect;
use crate::channel::{ChannelDirectory, MessageKind, Route};
use crate::condition::ConditionVerdict;
use crate::delivery::NewDelivery;
use crate::incident::{IncidentKind, IncidentStep};
use crate::job::{Job, Notify, NotifyWhen, NotifyWord, Payload};
use crate::run::{Outcome, Run};
use crate::schedule::format_duration;
use crate::text::strip_invisible;
use crate::text::{strip_backticks, strip_markdown};
use crate::time::QuietPolicy;
use crate::{DeliveryId, RunState};

/// The maximum characters of a notification's text.
const MOST_CHARACTERS: usize = 180;

/// The rows committed together with the outcome of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Announcement {
    /// Deliveries for the outbox.
    pub deliveries: Vec<NewDelivery>,
    /// A system event for the main session.
    pub system_event: Option<String>,
}

/// A finished run with all facts that determine the notification.
#[derive(Debug, Clone, Copy)]
pub struct FinishedRun<'a> {
    /// The job; none for the heartbeat.
    pub job: Option<&'a Job>,
    /// The run.
    pub run: &'a Run,
    /// The outcome.
    pub outcome: &'a Outcome,
    /// The effect on the job.
    pub job_effect: &'a JobEffect,
    /// The effect on the incidents of the job.
    pub incident: &'a IncidentStep,
    /// The previous result of the same `toolCall`.
    pub previous_result: Option<&'a serde_json::Value>,
    /// The channels and recipients.
    pub channels: &'a ChannelDirectory,
}

/// Decides the notification of a finished run.
#[must_use]
pub fn announce(ended: &FinishedRun<'_>, key: DeliveryId) -> Announcement {
    let deliveries = match ended.run.reply_to() {
        Some(route) => reply_of(ended, route, key).into_iter().collect(),
        None if notifies(ended) => message_of(ended, key),
        None => Vec::new(),
    };
    Announcement {
        deliveries,
        system_event: ended.job.and_then(|job| main_session_event(job, ended.outcome)),
    }
}

/// The message of a finished run, for each of its routes.
fn message_of(ended: &FinishedRun<'_>, key: DeliveryId) -> Vec<NewDelivery> {
    let text = notification_text(ended);
    let kind = if is_failure_message(ended) { MessageKind::Failure } else { MessageKind::Report };
    let message = NewDelivery {
        id: key,
        kind,
        approval: None,
        route: Route::notification(),
        title: title_of(ended),
        body: text.body,
        text: Some(text.whole),
        quiet_hours: ended.job.map(|job| job.policies.quiet_hours.clone()).unwrap_or_default(),
    };
    message.on_routes(ended.channels.routes(kind, ended.job))
}

/// The answer to a chat message of a channel, for the place of the message; none for a message that the person stopped.
fn reply_of(ended: &FinishedRun<'_>, route: Route, key: DeliveryId) -> Option<NewDelivery> {
    if ended.outcome.state == RunState::Cancelled {
        return None;
    }
    let text = notification_text(ended);
    Some(NewDelivery {
        id: key,
        kind: MessageKind::Reply,
        approval: None,
        route,
        title: String::new(),
        body: text.body,
        text: Some(text.whole),
        quiet_hours: QuietPolicy::IGNORE,
    })
}

fn is_failure_message(ended: &FinishedRun<'_>) -> bool {
    is_bad_end(ended.outcome.state) || ended.job_effect.pause_reason().is_some()
}

/// The notification of the reminder `text` of the job called `name`, without a model turn. `job` is the job if it
/// still exists; a deleted job mutes nothing.
#[must_use]
pub fn announce_reminder(
    key: DeliveryId,
    name: &str,
    text: &str,
    job: Option<&Job>,
    channels: &ChannelDirectory,
) -> Vec<NewDelivery> {
    let policies = job.map(|job| &job.policies);
    let notify = policies.and_then(|policies| policies.notify).unwrap_or_default();
    if !policy_notifies(notify, RunState::Succeeded) {
        return Vec::new();
    }
    let message = NewDelivery {
        id: key,
        kind: MessageKind::Report,
        approval: None,
        route: Route::notification(),
        title: notification_title(name, None),
        body: first_sentence(text, MOST_CHARACTERS),
        text: Some(text.to_owned()),
        quiet_hours: policies.map_or(QuietPolicy::RESPECT, |policies| policies.quiet_hours.clone()),
    };
    message.on_routes(channels.routes(MessageKind::Report, job))
}

/// The system event for the main session: the job's own event, or the summary of an agent run. Committed with the
/// outcome, so a crash neither loses nor doubles the event.
fn main_session_event(job: &Job, outcome: &Outcome) -> Option<String> {
    match &job.payload {
        Payload::SystemEvent { text, .. } => match (outcome.state, &outcome.reason) {
            (RunState::Succeeded, _) => Some(text.clone()),
            (RunState::Missed, Some(reason)) => {
                let (prefix, name) = (job.main_prefix(), &job.name);
                Some(format!("{prefix} {name}: missed: {reason}. Reminder: {text}"))
            }
            _ => None,
        },
        Payload::AgentTurn(_) | Payload::ToolCall(_) => summary_line(job, outcome),
    }
}

fn notifies(ended: &FinishedRun<'_>) -> bool {
    let notify = ended.job.and_then(|job| job.policies.notify).unwrap_or_default();
    // A paused job always notifies, with any notify policy.
    if matches!(ended.job_effect, JobEffect::Pause(_)) {
        return true;
    }
    if let Some(stop) = &ended.outcome.budget {
        // The caller notifies of each budget once a day, whatever the outcomes of the runs.
        return !ended.run.is_watched() && (stop.is_global || notify != Notify::Never);
    }
    match ended.incident {
        IncidentStep::Recurred { .. } => notify == Notify::Always,
        IncidentStep::Resolved { .. } => notify != Notify::Never,
        IncidentStep::Opened { .. } | IncidentStep::Reopened { .. } | IncidentStep::Nothing => {
            outcome_notifies(ended)
        }
    }
}

/// Whether the outcome is worth a notification, incidents aside.
fn outcome_notifies(ended: &FinishedRun<'_>) -> bool {
    let (outcome, state) = (ended.outcome, ended.outcome.state);
    let Some(job) = ended.job else {
        // The initiator of a chat turn or a trial reads the answer there.
        return !ended.run.is_watched() && (state == RunState::Succeeded || state.is_failure());
    };
    if outcome.is_model_unavailable() {
        return job.policies.notify.unwrap_or_default() != Notify::Never;
    }
    let by_payload = is_bad_end(state)
        || match &job.payload {
            Payload::ToolCall(call) => match &call.notify_when {
                NotifyWhen::Word(NotifyWord::Always) => true,
                NotifyWhen::Word(NotifyWord::Failure) => false,
                NotifyWhen::Word(NotifyWord::Changed) => {
                    outcome.result.as_ref() != ended.previous_result
                }
                // A condition that cannot be checked is notified as an incident, so that no finding is lost.
                NotifyWhen::Condition(_) => outcome.verdict != Some(ConditionVerdict::NotMet),
            },
            Payload::AgentTurn(turn) => turn.deliver != Some(false),
            // The event itself is delivered by the main session.
            Payload::SystemEvent { .. } => outcome.result.is_some(),
        };
    by_payload && policy_notifies(job.policies.notify.unwrap_or_default(), state)
}

const fn is_bad_end(state: RunState) -> bool {
    matches!(
        state,
        RunState::Failed | RunState::TimedOut | RunState::Interrupted | RunState::Missed
    )
}

const fn policy_notifies(notify: Notify, state: RunState) -> bool {
    match notify {
        Notify::Always => !matches!(state, RunState::Skipped | RunState::Cancelled),
        Notify::Findings => matches!(state, RunState::Succeeded) || is_bad_end(state),
        Notify::Failure => is_bad_end(state),
        Notify::Never => false,
    }
}

/// The job's name; a budget of everything belongs to no job.
fn title_of(ended: &FinishedRun<'_>) -> String {
    match &ended.outcome.budget {
        Some(stop) if stop.is_global => "Rouse".to_owned(),
        _ => notification_title(&ended.run.job_name, None),
    }
}

/// The title of a notification of a job, with the run's own `title` behind the job's name. A name that begins like Rouse's
/// is quoted, so that no job can imitate Rouse's own titles.
#[must_use]
pub fn notification_title(job_name: &str, title: Option<&str>) -> String {
    const OWN: &str = "rouse";
    let letters = job_name.chars().filter(|letter| letter.is_alphanumeric());
    let start: String = letters.flat_map(char::to_lowercase).take(OWN.len()).collect();
    let name = if start == OWN { format!("Job “{job_name}”") } else { job_name.to_owned() };
    match title.filter(|title| *title != job_name) {
        Some(title) => format!("{name}: {title}"),
        None => name,
    }
}

/// The text of a message.
struct MessageText {
    /// The plain text for a lock screen.
    body: String,
    /// The whole text in Markdown.
    whole: String,
}

impl MessageText {
    /// A plain text, with its first sentence for a lock screen.
    fn plain(text: String) -> Self {
        Self { body: first_sentence_or_done(&text), whole: text }
    }
}

fn notification_text(ended: &FinishedRun<'_>) -> MessageText {
    let outcome = ended.outcome;
    if let Some(stop) =
        outcome.budget.as_ref().filter(|_| ended.job_effect.pause_reason().is_none())
    {
        // A text of Rouse's own, without a model's words.
        return MessageText { body: stop.words.clone(), whole: stop.words.clone() };
    }
    match (ended.job_effect, ended.incident) {
        (JobEffect::Pause(reason), _) => MessageText::plain(match &outcome.error {
            Some(error) => format!("{reason}: {}", strip_backticks(error)),
            None => format!("{reason}."),
        }),
        (_, IncidentStep::Resolved { of, failures, after_ms }) => {
            MessageText::plain(resolved_text(ended, *of, *failures, *after_ms))
        }
        (_, IncidentStep::Reopened { failures, after_ms, .. }) => {
            MessageText::plain(reopened_text(ended, *failures, *after_ms))
        }
        _ => {
            let plain = outcome_text(ended).unwrap_or_default();
            let is_broken = matches!(outcome.verdict, Some(ConditionVerdict::Broken(_)));
            let whole = match outcome.state {
                RunState::Succeeded if !is_broken => outcome.summary.clone(),
                _ => None,
            };
            let body = first_sentence_or_done(&plain);
            MessageText { body, whole: whole.unwrap_or(plain) }
        }
    }
}

fn first_sentence_or_done(text: &str) -> String {
    let sentence = first_sentence(text, MOST_CHARACTERS);
    if sentence.is_empty() { "Done.".to_owned() } else { sentence }
}

fn outcome_text(ended: &FinishedRun<'_>) -> Option<String> {
    let outcome = ended.outcome;
    match outcome.state {
        RunState::Failed => {
            outcome.error.as_deref().map(|error| format!("Failed: {}", strip_backticks(error)))
        }
        RunState::TimedOut => Some("Timed out.".to_owned()),
        RunState::Interrupted => Some("Interrupted: Rouse stopped.".to_owned()),
        RunState::NothingToReport => Some("Nothing to report.".to_owned()),
        RunState::Skipped => {
            outcome.reason.as_deref().map(|reason| format!("{LEFT_OUT}{}", strip_backticks(reason)))
        }
        RunState::Missed => {
            outcome.reason.as_deref().map(|reason| format!("Missed: {}", strip_backticks(reason)))
        }
        _ => match &outcome.verdict {
            Some(ConditionVerdict::Broken(reason)) => {
                Some(strip_backticks(&unchecked_condition(reason)))
            }
            _ => outcome.summary.as_deref().map(|summary| visible_summary(ended.job, summary)),
        },
    }
}

/// A model's text as plain text; a tool's result and the person's own text unchanged.
fn visible_summary(job: Option<&Job>, summary: &str) -> String {
    match job.map(|job| &job.payload) {
        None | Some(Payload::AgentTurn(_)) => strip_markdown(summary),
        Some(Payload::ToolCall(_) | Payload::SystemEvent { .. }) => summary.to_owned(),
    }
}

/// The text of a reopened incident, with the note that silence does not mean recovery.
fn reopened_text(ended: &FinishedRun<'_>, failures: u32, after_ms: i64) -> String {
    let (after, settled) = (format_duration(after_ms), format_duration(SETTLED_MS));
    let why = outcome_text(ended).unwrap_or_default();
    format!("Flapping, {failures} times in {after}; muted until healthy for {settled}: {why}")
}

/// Begins the text of a recovery.
pub(super) const WORKS_AGAIN: &str = "Works again after";
/// Begins the text of a run that was skipped without a failure.
pub(super) const LEFT_OUT: &str = "Skipped: ";

/// The text of a recovery, with the result if that is notified anyway.
fn resolved_text(
    ended: &FinishedRun<'_>,
    of: IncidentKind,
    failures: u32,
    after_ms: i64,
) -> String {
    let after = format_duration(after_ms);
    let again = match (of, failures) {
        (IncidentKind::Runs, 0 | 1) => format!("{WORKS_AGAIN} a failure"),
        (IncidentKind::Runs, _) => format!("{WORKS_AGAIN} {failures} failures in {after}"),
        (IncidentKind::Model, 0 | 1) => "The model answers again".to_owned(),
        (IncidentKind::Model, _) => {
            format!("The model answers again after {failures} runs in {after}")
        }
        (IncidentKind::Condition, 0 | 1) => "The condition can be checked again".to_owned(),
        (IncidentKind::Condition, _) => {
            format!("The condition can be checked again after {failures} runs in {after}")
        }
    };
    let outcome = outcome_notifies(ended).then(|| outcome_text(ended)).flatten();
    match outcome.filter(|outcome| !outcome.trim().is_empty()) {
        Some(outcome) => format!("{again}: {outcome}"),
        None => format!("{again}."),
    }
}

/// The first visible sentence or line of `text`, at most `most` characters.
#[must_use]
pub fn first_sentence(text: &str, most: usize) -> String {
    let text = strip_invisible(text);
    let line = text.trim().lines().next().unwrap_or_default();
    let sentence = line.match_indices(". ").find(|(dot, _)| ends_a_sentence(&line[..*dot]));
    let sentence = sentence.map_or(line, |(dot, _)| &line[..=dot]);
    if sentence.chars().count() <= most {
        return sentence.to_owned();
    }
    let cut: String = sentence.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// A dot after `1` or `e.g` is no end: a sentence that runs on does less harm than a sentence cut there.
fn ends_a_sentence(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_list_number = word == before && word.chars().all(|c| c.is_ascii_digit());
    let is_abbreviation =
        word.chars().filter(|c| c.is_alphanumeric()).count() < 2 || word.contains('.');
    !is_list_number && (!is_abbreviation || word.chars().all(|c| c.is_ascii_digit()))
}

/// The system event of an isolated agent run. A `toolCall` has none.
fn summary_line(job: &Job, outcome: &Outcome) -> Option<String> {
    if !matches!(job.payload, Payload::AgentTurn(_)) {
        return None;
    }
    let text = match outcome.state {
        RunState::Succeeded => outcome.summary.clone()?,
        RunState::Failed => format!("failed: {}", outcome.error.as_deref().unwrap_or("no details")),
        RunState::TimedOut => "timed out".to_owned(),
        RunState::Interrupted => "interrupted: Rouse stopped".to_owned(),
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

    use super::super::fixtures::{job, job_doing, no_channels, run};
    use super::*;
    use crate::RunTrigger;
    use crate::budget::BudgetStop;
    use crate::channel::ChannelName;
    use RunState::{
        Cancelled, Failed, Interrupted, Missed, NothingToReport, Skipped, Succeeded, TimedOut,
    };

    /// A finished run without an effect on the job.
    fn ended<'a>(job: Option<&'a Job>, run: &'a Run, outcome: &'a Outcome) -> FinishedRun<'a> {
        let (job_effect, incident) = (&JobEffect::Keep, &IncidentStep::Nothing);
        let (previous_result, channels) = (None, no_channels());
        FinishedRun { job, run, outcome, job_effect, incident, previous_result, channels }
    }

    fn announce_end(job: Option<&Job>, outcome: &Outcome) -> Announcement {
        announce(&ended(job, &run(), outcome), DeliveryId::new("d-1"))
    }

    /// The notification of a run of `job` with this incident step.
    fn notification_text(job: &Job, outcome: &Outcome, incident: &IncidentStep) -> Option<String> {
        let run = run();
        let ended = FinishedRun { incident, ..ended(Some(job), &run, outcome) };
        announce(&ended, DeliveryId::new("d")).deliveries.pop().map(|delivery| delivery.body)
    }

    fn body_of(ended: &FinishedRun<'_>) -> String {
        super::notification_text(ended).body
    }

    fn is_notified(job: &Job, state: RunState) -> bool {
        !announce_end(Some(job), &Outcome::of(state)).deliveries.is_empty()
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
            assert_eq!(notification_title(job, title), shown);
        }
    }

    #[test]
    fn notify_policy_selects_states() {
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
            assert_eq!(states.map(|state| is_notified(&job, state)), expected, "{notify:?}");
        }
    }

    #[test]
    fn tool_call_notifies_by_its_notify_when() {
        let only =
            |when| job_doing(json!({ "kind": "toolCall", "tool": "echo", "notifyWhen": when }));
        assert!(is_notified(&only("always"), Succeeded));
        assert!(!is_notified(&only("failure"), Succeeded));
        assert!(is_notified(&only("failure"), Failed));
        assert!(is_notified(&only("failure"), Interrupted));

        let changed = only("changed");
        let with_result =
            |result: Value| Outcome { result: Some(result), ..Outcome::of(Succeeded) };
        let notifies = |previous: Option<&Value>, outcome: &Outcome| {
            let run = run();
            let ended =
                FinishedRun { previous_result: previous, ..ended(Some(&changed), &run, outcome) };
            !announce(&ended, DeliveryId::new("d")).deliveries.is_empty()
        };
        assert!(notifies(None, &with_result(json!(1))));
        assert!(!notifies(Some(&json!(1)), &with_result(json!(1))));
        assert!(notifies(Some(&json!(1)), &with_result(json!(2))));
        assert!(notifies(None, &Outcome::failed("no network")));
        assert!(notifies(Some(&json!(1)), &Outcome::failed("no network")));
    }

    #[test]
    fn condition_decides_and_a_broken_one_notifies() {
        let job = job_doing(
            json!({ "kind": "toolCall", "tool": "echo", "notifyWhen": { "cel": "result < 20" } }),
        );
        let with = |verdict| Outcome { verdict: Some(verdict), ..Outcome::succeeded("17 %") };
        let body = |outcome: &Outcome| notification_text(&job, outcome, &IncidentStep::Nothing);
        assert_eq!(body(&with(ConditionVerdict::Met)).as_deref(), Some("17 %"));
        assert_eq!(body(&with(ConditionVerdict::NotMet)), None);
        assert_eq!(
            body(&with(ConditionVerdict::Broken("no such key `level`".to_owned()))).as_deref(),
            Some("The condition could not be checked: no such key level")
        );
        assert_eq!(
            body(&Outcome { verdict: None, ..Outcome::succeeded("17 %") }).as_deref(),
            Some("17 %"),
            "an unchecked condition does not mute"
        );
        assert_eq!(body(&Outcome::failed("no network")).as_deref(), Some("Failed: no network"));
    }

    #[test]
    fn recurring_failure_notifies_once_unless_always() {
        let opens = IncidentStep::Opened { class: "c".to_owned(), cause: "no network".to_owned() };
        let goes_on = IncidentStep::Recurred { id: 1 };
        let failed = Outcome::failed("no network");
        for (notify, first, again) in [
            (Notify::Always, true, true),
            (Notify::Findings, true, false),
            (Notify::Failure, true, false),
            (Notify::Never, false, false),
        ] {
            let mut job = job();
            job.policies.notify = Some(notify);
            assert_eq!(notification_text(&job, &failed, &opens).is_some(), first, "{notify:?}");
            assert_eq!(notification_text(&job, &failed, &goes_on).is_some(), again, "{notify:?}");
        }
    }

    #[test]
    fn reopened_incident_notifies_with_its_count() {
        let back = IncidentStep::Reopened { id: 1, failures: 2, after_ms: 120_000 };
        let failed = Outcome::failed("no network");
        assert_eq!(
            notification_text(&job(), &failed, &back).as_deref(),
            Some("Flapping, 2 times in 2 min; muted until healthy for 6 h: Failed: no network")
        );
        let mut silent = job();
        silent.policies.notify = Some(Notify::Never);
        assert_eq!(notification_text(&silent, &failed, &back), None);
    }

    #[test]
    fn recovery_notifies_if_the_failure_did() {
        let of = IncidentKind::Runs;
        let recovers = IncidentStep::Resolved { of, failures: 14, after_ms: 3 * 3_600_000 };
        let well = Outcome::succeeded("17 %");
        let body = |notify, when: &str| {
            let mut job =
                job_doing(json!({ "kind": "toolCall", "tool": "echo", "notifyWhen": when }));
            job.policies.notify = Some(notify);
            notification_text(&job, &well, &recovers)
        };
        let again = "Works again after 14 failures in 3 h";
        assert_eq!(body(Notify::Findings, "always"), Some(format!("{again}: 17 %")));
        assert_eq!(body(Notify::Findings, "failure"), Some(format!("{again}.")));
        assert_eq!(body(Notify::Failure, "always"), Some(format!("{again}.")));
        assert_eq!(body(Notify::Never, "always"), None);
        let once = IncidentStep::Resolved { of, failures: 1, after_ms: 60_000 };
        let nothing = Outcome::of(NothingToReport);
        assert_eq!(
            notification_text(&job(), &nothing, &once).as_deref(),
            Some("Works again after a failure.")
        );
    }

    #[test]
    fn broken_condition_notifies_once_and_on_recovery() {
        let job = job_doing(
            json!({ "kind": "toolCall", "tool": "echo", "notifyWhen": { "cel": "result < 20" } }),
        );
        let with = |verdict| Outcome { verdict: Some(verdict), ..Outcome::succeeded("17 %") };
        let broken = with(ConditionVerdict::Broken("there is no key `level`".to_owned()));
        let (class, cause) = ("condition".to_owned(), "words".to_owned());
        let first = notification_text(&job, &broken, &IncidentStep::Opened { class, cause });
        let expected = "The condition could not be checked: there is no key level";
        assert_eq!(first.as_deref(), Some(expected));
        assert_eq!(notification_text(&job, &broken, &IncidentStep::Recurred { id: 1 }), None);
        let again = |failures, verdict| {
            let of = IncidentKind::Condition;
            let recovers = IncidentStep::Resolved { of, failures, after_ms: 3 * 3_600_000 };
            notification_text(&job, &with(verdict), &recovers)
        };
        let can = "The condition can be checked again";
        assert_eq!(
            again(14, ConditionVerdict::NotMet),
            Some(format!("{can} after 14 runs in 3 h."))
        );
        assert_eq!(
            again(14, ConditionVerdict::Met),
            Some(format!("{can} after 14 runs in 3 h: 17 %"))
        );
        assert_eq!(again(1, ConditionVerdict::NotMet), Some(format!("{can}.")));
    }

    #[test]
    fn agent_turn_goes_to_its_channel() {
        let turn = |extra: Value| {
            let mut payload = json!({ "kind": "agentTurn", "message": "Look" });
            payload
                .as_object_mut()
                .expect("an object")
                .extend(extra.as_object().cloned().expect("one"));
            job_doing(payload)
        };
        let outcome = Outcome::succeeded("Two mails.");
        let route = |job: &Job| {
            announce_end(Some(job), &outcome).deliveries.pop().map(|delivery| delivery.route)
        };
        let named = turn(json!({ "deliver": true, "channel": "telegram", "to": "7" }));
        let unresolved = Route { to: Some("7".into()), ..Route::of(ChannelName::new("telegram")) };
        assert_eq!(route(&named), Some(unresolved), "the channel is not set up");
        let last = turn(json!({ "deliver": true, "channel": "last" }));
        let unasked = turn(json!({ "channel": "telegram", "to": "7" }));
        for job in [last, unasked, turn(json!({}))] {
            assert_eq!(route(&job), Some(Route::notification()));
        }
        let silent = turn(json!({ "deliver": false }));
        assert_eq!(route(&silent), None);
        assert!(is_notified(&silent, Failed), "a failure still notifies");
    }

    #[test]
    fn reminder_notifies_when_its_result_is_set() {
        let job = job_doing(json!({ "kind": "systemEvent", "text": "Stretch" }));
        assert!(!is_notified(&job, Succeeded));
        let reminder = Outcome { result: Some(json!("Stretch")), ..Outcome::succeeded("Stretch") };
        assert_eq!(announce_end(Some(&job), &reminder).deliveries[0].body, "Stretch");
    }

    #[test]
    fn heartbeat_notifies_findings_and_failures() {
        for (state, is_notified) in
            [(Succeeded, true), (Failed, true), (NothingToReport, false), (Interrupted, false)]
        {
            assert_eq!(
                !announce_end(None, &Outcome::of(state)).deliveries.is_empty(),
                is_notified,
                "{state:?}"
            );
        }
    }

    #[test]
    fn pause_always_notifies() {
        let mut job = job();
        job.policies.notify = Some(Notify::Never);
        let job_effect = JobEffect::Pause("Paused after 3 failures in a row".to_owned());
        let outcome = Outcome::failed("no network. Try later.");
        let (run, goes_on) = (run(), IncidentStep::Recurred { id: 1 });
        let ended = FinishedRun {
            job_effect: &job_effect,
            incident: &goes_on,
            ..ended(Some(&job), &run, &outcome)
        };
        let announcement = announce(&ended, DeliveryId::new("d-1"));
        assert_eq!(
            announcement.deliveries[0].body,
            "Paused after 3 failures in a row: no network."
        );
    }

    #[test]
    fn exhausted_budget_notifies_with_its_own_text() {
        let stop = |is_global| BudgetStop {
            key: "k".to_owned(),
            is_global,
            resets_daily: true,
            words: "The budget is used up. Resets tomorrow.".to_owned(),
        };
        let skipped = |stop| Outcome { budget: Some(stop), ..Outcome::skipped("used up") };
        let mut job = job();
        for (notify, own, everything) in [
            (Notify::Findings, true, true),
            (Notify::Failure, true, true),
            (Notify::Never, false, true),
        ] {
            job.policies.notify = Some(notify);
            let notifies =
                |stop| notification_text(&job, &skipped(stop), &IncidentStep::Nothing).is_some();
            assert_eq!(
                (notifies(stop(false)), notifies(stop(true))),
                (own, everything),
                "{notify:?}"
            );
        }
        let deliveries = announce_end(Some(&job), &skipped(stop(true))).deliveries;
        assert_eq!(
            (deliveries[0].title.as_str(), deliveries[0].body.as_str()),
            ("Rouse", &*stop(true).words)
        );
        let run = Run { trigger: RunTrigger::Chat, ..run() };
        let failed = Outcome { budget: Some(stop(true)), ..Outcome::failed("used up") };
        let announcement = announce(&ended(None, &run, &failed), DeliveryId::new("d"));
        assert_eq!(announcement.deliveries, [], "the author reads the answer in the chat");
    }

    #[test]
    fn body_states_the_outcome() {
        let (job, run) = (job(), run());
        let body = |outcome: &Outcome| body_of(&ended(Some(&job), &run, outcome));
        for (outcome, text) in [
            (Outcome::succeeded("It rains. Take a coat."), "It rains."),
            (Outcome::succeeded("  \n "), "Done."),
            (Outcome::of(Succeeded), "Done."),
            (Outcome::failed("no network"), "Failed: no network"),
            (Outcome::of(TimedOut), "Timed out."),
            (Outcome::of(Interrupted), "Interrupted: Rouse stopped."),
        ] {
            assert_eq!(body(&outcome), text);
        }
    }

    #[test]
    fn notification_is_plain_text() {
        let run = run();
        let asks = job_doing(json!({ "kind": "agentTurn", "message": "Look" }));
        let calls = job_doing(json!({ "kind": "toolCall", "tool": "echo", "arguments": {} }));
        let body = |job: Option<&Job>, outcome: &Outcome| body_of(&ended(job, &run, outcome));
        let result =
            Outcome::succeeded("## **Two** mails\n\n- one from [Ada](https://example.org)");
        assert_eq!(body(Some(&asks), &result), "Two mails");
        assert_eq!(body(None, &result), "Two mails");
        for (written, expected) in [
            ("~~The database is gone.~~ All is well.", "All is well."),
            ("***\n---", "Done."),
            ("~~All of it~~", "Done."),
            ("\u{200b}\u{2060}\n\u{2800}\nTwo mails", "Two mails"),
            ("\u{200b}\u{202e}", "Done."),
            ("Fish &amp; chips", "Fish & chips"),
        ] {
            assert_eq!(body(Some(&asks), &Outcome::succeeded(written)), expected, "{written:?}");
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
    fn first_sentence_is_cut_at_its_end() {
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
    fn system_event_is_committed_with_the_outcome() {
        let reminder = job_doing(json!({ "kind": "systemEvent", "text": "Stretch" }));
        let line = |outcome: &Outcome| announce_end(Some(&reminder), outcome).system_event;
        assert_eq!(line(&Outcome::succeeded("Stretch")).as_deref(), Some("Stretch"));
        assert_eq!(line(&Outcome::of(Cancelled)), None);
    }

    #[test]
    fn isolated_turn_posts_its_summary_to_main() {
        let turn = job_doing(json!({ "kind": "agentTurn", "message": "Look" }));
        let line = |outcome: &Outcome| announce_end(Some(&turn), outcome).system_event;
        assert_eq!(
            line(&Outcome::succeeded("Two mails.")).as_deref(),
            Some("Cron Morning: Two mails.")
        );
        assert_eq!(
            line(&Outcome::failed("no key")).as_deref(),
            Some("Cron Morning: failed: no key")
        );
        assert_eq!(line(&Outcome::of(TimedOut)).as_deref(), Some("Cron Morning: timed out"));
        assert_eq!(line(&Outcome::of(NothingToReport)), None);
        assert_eq!(line(&Outcome::of(Cancelled)), None);
        assert_eq!(
            announce_end(Some(&job()), &Outcome::succeeded("x")).system_event,
            None,
            "a tool call"
        );
    }
}
