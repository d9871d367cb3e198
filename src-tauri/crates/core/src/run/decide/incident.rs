//! The effect of a finished run on the incidents of the job: opened, recurred, reopened, resolved.
//!
//! Owns the class that makes two failures the same cause: the message without the variable parts (numbers, ids, quoted
//! names). For a model's own message and for transient errors only the fact of failure counts. For a tool call the kind
//! of the fault counts as well, such as an exit code. A job has few open incidents: beyond the bound all failures share
//! an incident, or a verbose error would be a notification a minute.

use crate::condition::ConditionVerdict;
use crate::incident::{CONDITION, Incident, IncidentKind, IncidentStep};
use crate::job::{Job, Payload};
use crate::{Outcome, RunState, UnixMs};

/// The maximum open incidents of a job with separate classes.
const MOST_OPEN: usize = 3;
/// The class of runs without an available model: the job is fine, but the work was not done.
const NO_MODEL: &str = "no model";
/// The class of transient errors of an agent.
const TRANSIENT: &str = "failed: transient";
/// [`TRANSIENT`] as stored by older builds.
const OLD_TRANSIENT: &str = "failed: may pass";
/// The class of all failures beyond [`MOST_OPEN`].
const OTHERS: &str = "failed in other ways";
/// After this time without a failure an incident is over; an earlier return reopens it.
pub const SETTLED_MS: i64 = 6 * 3_600_000;
/// The maximum characters of a class.
const CLASS_CHARACTERS: usize = 160;
/// The maximum characters of a cause.
const CAUSE_CHARACTERS: usize = 500;

/// Decides the effect of `outcome` on the `incidents` of `job`: open incidents, newest failure first, and incidents
/// closed within [`SETTLED_MS`].
#[must_use]
pub fn incident_step(
    job: Option<&Job>,
    outcome: &Outcome,
    incidents: &[Incident],
    now: UnixMs,
) -> IncidentStep {
    let (open, recent): (Vec<&Incident>, Vec<&Incident>) =
        incidents.iter().partition(|incident| incident.closed.is_none());
    let known = JobIncidents { open, recent, now };
    match outcome.state {
        // Over budget for today is no defect.
        _ if outcome.budget.as_ref().is_some_and(|stop| stop.resets_daily) => IncidentStep::Nothing,
        state if state.is_failure() => {
            let cause = outcome.error.as_deref().unwrap_or_default();
            known.record_failure(class_of(job, outcome), cause)
        }
        // A heartbeat without a model shows in the status only.
        RunState::Skipped if job.is_some() && outcome.is_model_unavailable() => {
            known.record_failure(NO_MODEL.to_owned(), outcome.reason.as_deref().unwrap_or_default())
        }
        RunState::Succeeded if let Some(ConditionVerdict::Broken(reason)) = &outcome.verdict => {
            known.record_failure(CONDITION.to_owned(), &unchecked_condition(reason))
        }
        // The reason stays visible until a person re-enables the job.
        RunState::Succeeded | RunState::NothingToReport if known.keeps_job_disabled(job) => {
            IncidentStep::Nothing
        }
        RunState::Succeeded | RunState::NothingToReport => known.resolve(),
        _ => IncidentStep::Nothing,
    }
}

/// The message of a condition that could not be checked.
pub(super) fn unchecked_condition(reason: &str) -> String {
    format!("The condition could not be checked: {reason}")
}

/// The incidents of a job, by state.
struct JobIncidents<'a> {
    open: Vec<&'a Incident>,
    recent: Vec<&'a Incident>,
    now: UnixMs,
}

impl JobIncidents<'_> {
    fn record_failure(&self, class: String, cause: &str) -> IncidentStep {
        let open: Vec<_> = self.open.iter().filter(|incident| !incident.taken_up).collect();
        let is_open = |class: &str| open.iter().find(|incident| has_class(incident, class));
        let is_one_of_many = is_open(&class).is_none() && open.len() >= MOST_OPEN;
        let (class, cause) = if is_one_of_many {
            (OTHERS.to_owned(), &*format!("Other failures as well: {}", cause_of(cause)))
        } else {
            (class, cause)
        };
        if let Some(incident) = is_open(&class) {
            return IncidentStep::Recurred { id: incident.id };
        }
        match self
            .recent
            .iter()
            .find(|incident| has_class(incident, &class) && self.is_fresh(incident))
        {
            Some(incident) => IncidentStep::Reopened {
                id: incident.id,
                failures: incident.count.saturating_add(1),
                after_ms: self.now.since(incident.opened_at).max(0),
            },
            None => IncidentStep::Opened { class, cause: cause_of(cause) },
        }
    }

    /// Whether an incident paused the job: a successful manual run does not re-enable the job.
    fn keeps_job_disabled(&self, job: Option<&Job>) -> bool {
        job.is_some_and(|job| self.open.iter().any(|incident| incident.keeps_job_disabled(job)))
    }

    fn resolve(&self) -> IncidentStep {
        let open = &self.open;
        let Some(since) = open.iter().map(|incident| incident.opened_at).min() else {
            return IncidentStep::Nothing;
        };
        // A flapping cause is over only after a time without a return.
        if open.iter().any(|incident| incident.came_back && self.is_fresh(incident)) {
            return IncidentStep::Nothing;
        }
        let failures = open.iter().fold(0_u32, |sum, incident| sum.saturating_add(incident.count));
        let all_are = |class: &str| open.iter().all(|incident| incident.class == class);
        let of = match () {
            () if all_are(CONDITION) => IncidentKind::Condition,
            () if all_are(NO_MODEL) => IncidentKind::Model,
            () => IncidentKind::Runs,
        };
        IncidentStep::Resolved { of, failures, after_ms: self.now.since(since).max(0) }
    }

    /// Whether the newest failure, or the end, is recent. After a clock rollback the incident counts as recent.
    fn is_fresh(&self, incident: &Incident) -> bool {
        let at = incident.closed.map_or(incident.last_at, |(at, _)| at);
        self.now.since(at) < SETTLED_MS
    }
}

fn cause_of(words: &str) -> String {
    let words = Some(words.trim()).filter(|words| !words.is_empty());
    words.unwrap_or("No details").chars().take(CAUSE_CHARACTERS).collect()
}

fn has_class(incident: &Incident, class: &str) -> bool {
    incident.class == class || (class == TRANSIENT && incident.class == OLD_TRANSIENT)
}

fn class_of(job: Option<&Job>, outcome: &Outcome) -> String {
    if outcome.state == RunState::TimedOut {
        return "timedOut".to_owned();
    }
    let is_call = matches!(job.map(|job| &job.payload), Some(Payload::ToolCall(_)));
    let words = strip_variable_parts(outcome.error.as_deref().unwrap_or_default());
    match (is_call, outcome.is_transient, &outcome.error_for_log) {
        (false, true, _) => TRANSIENT.to_owned(),
        (false, false, Some(words)) => format!("failed: {}", strip_variable_parts(words)),
        (true, _, Some(kind)) => format!("failed: {kind}: {words}"),
        (_, _, None) => format!("failed: {words}"),
    }
}

/// The first line without quoted parts, every word with a digit as `#`.
fn strip_variable_parts(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut plain = String::new();
    let mut quote = None;
    for letter in line.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            Some(_) => {}
            None if closing(letter).is_some() => {
                quote = closing(letter);
                plain.push('#');
            }
            None => plain.push(letter),
        }
    }
    let words = plain.split_whitespace().map(|word| {
        if word.chars().any(|c| c.is_ascii_digit()) { "#".to_owned() } else { word.to_lowercase() }
    });
    words.collect::<Vec<_>>().join(" ").chars().take(CLASS_CHARACTERS).collect()
}

const fn closing(letter: char) -> Option<char> {
    match letter {
        '"' => Some('"'),
        '`' => Some('`'),
        '“' => Some('”'),
        '«' => Some('»'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fixtures::{job, job_doing};
    use super::*;
    use crate::RunId;
    use crate::budget::BudgetStop;
    use crate::incident::IncidentEnd;

    fn open(id: i64, class: &str) -> Incident {
        Incident {
            id,
            job_id: None,
            class: class.to_owned(),
            cause: "words".to_owned(),
            opened_at: UnixMs(1_000 * id),
            closed: None,
            came_back: false,
            taken_up: false,
            count: 7,
            first_run: RunId::new("a"),
            last_run: RunId::new("b"),
            last_at: UnixMs(5_000),
            paused_because: None,
        }
    }

    fn step(outcome: &Outcome, open: &[Incident]) -> IncidentStep {
        incident_step(Some(&job()), outcome, open, UnixMs(9_000))
    }

    #[test]
    fn daily_budget_is_no_incident_but_a_run_budget_is() {
        let of = |resets_daily| {
            let (key, words) = ("k".to_owned(), "used up".to_owned());
            let stop = BudgetStop { key, is_global: false, resets_daily, words };
            step(&Outcome { budget: Some(stop), ..Outcome::failed("used up") }, &[])
        };
        assert_eq!(of(true), IncidentStep::Nothing);
        assert!(matches!(of(false), IncidentStep::Opened { .. }));
    }

    fn class(error: &str) -> String {
        match step(&Outcome::failed(error), &[]) {
            IncidentStep::Opened { class, .. } => class,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reenabled_job_closes_or_renews_its_incident() {
        let taken_up = Incident { taken_up: true, ..open(1, "failed") };
        let known = std::slice::from_ref(&taken_up);
        let now = UnixMs(9_000);
        let well = incident_step(None, &Outcome::succeeded("ok"), known, now);
        assert!(matches!(well, IncidentStep::Resolved { failures: 7, .. }), "{well:?}");
        let wrong = incident_step(None, &Outcome::failed("no"), known, now);
        assert!(matches!(wrong, IncidentStep::Opened { .. }), "{wrong:?}");
    }

    #[test]
    fn successful_manual_run_keeps_the_pause_incident() {
        let why = Some("Paused after 2 failures in a row".to_owned());
        let paused = [Incident { paused_because: why, ..open(1, "failed") }];
        let off = Job { enabled: false, ..job() };
        let ok = Outcome::succeeded("ok");
        let after =
            |job: &Job, known: &[Incident]| incident_step(Some(job), &ok, known, UnixMs(9_000));
        assert_eq!(after(&off, &paused), IncidentStep::Nothing);
        let is_over = |step| matches!(step, IncidentStep::Resolved { .. });
        assert!(is_over(after(&job(), &paused)), "the job was enabled again");
        assert!(is_over(after(&off, &[open(1, "failed")])), "a person disabled the job");
        let taken_up = [Incident { taken_up: true, ..paused[0].clone() }];
        assert!(is_over(after(&off, &taken_up)), "a person enabled and disabled the job");
    }

    #[test]
    fn variable_parts_do_not_change_the_class() {
        for (one, other) in [
            ("No answer from 10.0.0.1:80 after 31 ms", "No answer from 10.0.0.2:443 after 7 ms"),
            ("There is no file `a.txt`", "There is no file `b.txt`"),
            ("Refused: \"x y\"", "refused:  \"z\""),
            ("Broken\nat line 3", "Broken\nelsewhere"),
        ] {
            assert_eq!(class(one), class(other), "{one}");
        }
        assert_ne!(class("There is no file `a`"), class("There is no folder `a`"));
        assert_ne!(class("Timed out"), class("no network"));
    }

    #[test]
    fn first_failure_opens_and_the_next_recurs() {
        let failed = Outcome::failed("no network");
        let opens = step(&failed, &[]);
        let known = class("no network");
        assert_eq!(
            opens,
            IncidentStep::Opened { class: known.clone(), cause: "no network".to_owned() }
        );
        assert_eq!(step(&failed, &[open(4, &known)]), IncidentStep::Recurred { id: 4 });
        let other = step(&failed, &[open(4, "timedOut")]);
        assert!(matches!(other, IncidentStep::Opened { .. }), "another cause notifies: {other:?}");
    }

    #[test]
    fn short_recovery_reopens_the_incident() {
        let failed = Outcome::failed("no network");
        let known = class("no network");
        let over =
            |at| Incident { closed: Some((UnixMs(at), IncidentEnd::Recovered)), ..open(4, &known) };
        let again = |incident: Incident, now| {
            incident_step(Some(&job()), &failed, &[incident], UnixMs(now))
        };
        let back = IncidentStep::Reopened { id: 4, failures: 8, after_ms: 2_000 };
        assert_eq!(again(over(5_500), 6_000), back);
        assert!(matches!(again(over(5_500), 5_500 + SETTLED_MS), IncidentStep::Opened { .. }));
        let other = Incident { class: "timedOut".to_owned(), ..over(5_500) };
        assert!(matches!(again(other, 6_000), IncidentStep::Opened { .. }));
    }

    #[test]
    fn reopened_incident_resolves_after_it_settled() {
        let back = Incident { came_back: true, ..open(4, "failed: #") };
        let well = |incidents: &[Incident], now| {
            incident_step(Some(&job()), &Outcome::succeeded("ok"), incidents, UnixMs(now))
        };
        assert_eq!(well(std::slice::from_ref(&back), 5_001), IncidentStep::Nothing);
        let both = [back.clone(), open(2, "timedOut")];
        assert_eq!(well(&both, 4_999 + SETTLED_MS), IncidentStep::Nothing);
        assert!(matches!(
            well(&[back], 5_000 + SETTLED_MS),
            IncidentStep::Resolved { failures: 7, .. }
        ));
    }

    #[test]
    fn verbose_error_opens_few_incidents() {
        let mut all = vec![open(9, "a"), open(2, "b"), open(3, "c")];
        let others = IncidentStep::Opened {
            class: OTHERS.to_owned(),
            cause: "Other failures as well: new words".to_owned(),
        };
        assert_eq!(step(&Outcome::failed("new words"), &all), others);
        all.insert(0, open(10, OTHERS));
        assert_eq!(step(&Outcome::failed("newer words"), &all), IncidentStep::Recurred { id: 10 });
        let known = class("no network");
        all.push(open(4, &known));
        assert_eq!(step(&Outcome::failed("no network"), &all), IncidentStep::Recurred { id: 4 });
    }

    #[test]
    fn fault_kind_is_part_of_a_tool_calls_class() {
        let class = |kind: &str, words: &str| {
            let error_for_log = Some(kind.to_owned());
            match step(&Outcome { error_for_log, ..Outcome::failed(words) }, &[]) {
                IncidentStep::Opened { class, .. } => class,
                other => panic!("{other:?}"),
            }
        };
        let exit = |code: i32| class(&format!("Exit code {code}"), &format!("exit code {code}"));
        assert_ne!(exit(1), exit(127));
        let refused = |status: u16| {
            class(&format!("Answered with {status}"), &format!("The server answered {status}"))
        };
        assert_ne!(refused(401), refused(404));
        let at = |at: &str| class("Exit code 1", &format!("Exit code 1: no route at {at}"));
        assert_eq!(at("10:00"), at("11:00"));
    }

    #[test]
    fn model_failure_ignores_its_message() {
        let turn = job_doing(json!({ "kind": "agentTurn", "message": "Look" }));
        let class = |outcome: &Outcome| match incident_step(Some(&turn), outcome, &[], UnixMs(0)) {
            IncidentStep::Opened { class, .. } => class,
            other => panic!("{other:?}"),
        };
        let failed_with = |words: &str| Outcome {
            error_for_log: Some("The tool reported a failure".to_owned()),
            ..Outcome::failed(words)
        };
        assert_eq!(class(&failed_with("I could not find it")), class(&failed_with("Not found")));
        let key = class(&Outcome::failed("bad does not accept the key (HTTP 401)"));
        assert_ne!(key, class(&Outcome::failed("bad refuses the question (HTTP 400)")));
        assert_eq!(key, class(&Outcome::failed("bad does not accept the key (HTTP 403)")));
        let quoting = |quote: &str| Outcome {
            error_for_log: Some("bad refuses the question (HTTP 400).".to_owned()),
            ..Outcome::failed(format!("bad refuses the question (HTTP 400). Message: {quote}"))
        };
        assert_eq!(class(&quoting("one")), class(&quoting("another")));
        assert_ne!(class(&quoting("one")), class(&failed_with("one")), "another cause");
        let network = Outcome { is_transient: true, ..Outcome::failed("no network") };
        assert_ne!(class(&network), class(&Outcome::failed("no network")));
        assert_ne!(class(&network), class(&Outcome::of(RunState::TimedOut)));
    }

    #[test]
    fn transient_class_of_older_builds_recurs() {
        let turn = job_doing(json!({ "kind": "agentTurn", "message": "Look" }));
        let network = Outcome { is_transient: true, ..Outcome::failed("no network") };
        let known = [open(4, OLD_TRANSIENT)];
        let recurred = incident_step(Some(&turn), &network, &known, UnixMs(9_000));
        assert_eq!(recurred, IncidentStep::Recurred { id: 4 });
    }

    #[test]
    fn success_resolves_all_incidents_with_count() {
        let open = [open(2, "a"), open(1, "b")];
        let ended =
            IncidentStep::Resolved { of: IncidentKind::Runs, failures: 14, after_ms: 8_000 };
        assert_eq!(step(&Outcome::succeeded("ok"), &open), ended);
        assert_eq!(step(&Outcome::of(RunState::NothingToReport), &open), ended);
        assert_eq!(step(&Outcome::succeeded("ok"), &[]), IncidentStep::Nothing);
    }

    fn broken(reason: &str) -> Outcome {
        Outcome {
            verdict: Some(ConditionVerdict::Broken(reason.to_owned())),
            ..Outcome::succeeded("17 %")
        }
    }

    #[test]
    fn broken_condition_is_an_incident() {
        let class = match step(&broken("there is no key `level`"), &[]) {
            IncidentStep::Opened { class, cause } => {
                assert_eq!(cause, "The condition could not be checked: there is no key `level`");
                class
            }
            other => panic!("{other:?}"),
        };
        let open_one = [open(4, &class)];
        assert_eq!(
            step(&broken("there is no key `other`"), &open_one),
            IncidentStep::Recurred { id: 4 }
        );
        let can_be_checked = |verdict| {
            let outcome = Outcome { verdict: Some(verdict), ..Outcome::succeeded("17 %") };
            step(&outcome, &open_one)
        };
        let again =
            IncidentStep::Resolved { of: IncidentKind::Condition, failures: 7, after_ms: 5_000 };
        assert_eq!(can_be_checked(ConditionVerdict::Met), again);
        assert_eq!(can_be_checked(ConditionVerdict::NotMet), again);
        // A job that failed and has an unchecked condition is healthy only after both recover.
        let failed_before = step(&broken("there is no key `level`"), &[open(1, "failed: #")]);
        assert!(matches!(failed_before, IncidentStep::Opened { .. }), "{failed_before:?}");
        let both = step(&Outcome::succeeded("ok"), &[open(4, &class), open(1, "failed: #")]);
        assert!(matches!(both, IncidentStep::Resolved { of: IncidentKind::Runs, .. }), "{both:?}");
    }

    #[test]
    fn unstarted_run_changes_no_incident() {
        use RunState::{Cancelled, Interrupted, Missed, Skipped};
        for state in [Cancelled, Interrupted, Missed, Skipped] {
            assert_eq!(step(&Outcome::of(state), &[open(1, "a")]), IncidentStep::Nothing);
        }
    }
}
