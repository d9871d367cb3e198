//! What the end of a run means for the incidents of its job: a new cause, the same again, or all is well.
//!
//! Two failures have the same cause when their words are the same but for what differs each time (numbers, ids, quoted
//! names). What a model says of its failure is worded anew each time, so there that it failed is all that counts, and
//! so it is of what passes by itself. Of a call its kind counts as well, such as the exit code of a command, which has no
//! other words. However varied the words, a job has few incidents at once: beyond that everything is one more, which says
//! so, or a talkative error would be a notification a minute again.

use crate::condition::Verdict;
use crate::incident::{Ailment, CONDITION, Incident, IncidentStep};
use crate::job::{Job, Payload};
use crate::{Outcome, RunState, UnixMs};

/// Most open incidents of one job that have a cause of their own.
const MOST_OPEN: usize = 3;
/// The class of runs that found no model at work: nothing is wrong with the job, and yet its work is not done.
const NO_MODEL: &str = "no model";
/// The class of what goes wrong beside those.
const OTHERS: &str = "failed in other ways";
/// A cause that stayed away for this long is over; one that comes back sooner was not.
pub const SETTLED_MS: i64 = 6 * 3_600_000;
/// Most characters of a class.
const CLASS_CHARACTERS: usize = 160;
/// Most characters of a cause.
const CAUSE_CHARACTERS: usize = 500;

/// Decides what `outcome` does to the incidents of `job`: those that are open, the newest failure first, and those that
/// it has recovered from within `SETTLED_MS`.
#[must_use]
pub fn incident_step(
    job: Option<&Job>,
    outcome: &Outcome,
    incidents: &[Incident],
    now: UnixMs,
) -> IncidentStep {
    let (open, over): (Vec<&Incident>, Vec<&Incident>) =
        incidents.iter().partition(|incident| incident.closed.is_none());
    let known = Known { open, over, now };
    match outcome.state {
        // Nothing is broken: tomorrow it runs again.
        _ if outcome.budget.as_ref().is_some_and(|stop| stop.passes_with_the_day) => {
            IncidentStep::Nothing
        }
        state if state.is_failure() => {
            let cause = outcome.error.as_deref().unwrap_or_default();
            known.goes_wrong(class_of(job, outcome), cause)
        }
        // A beat without a model is told by the status alone.
        RunState::Skipped if job.is_some() && outcome.lacks_model() => {
            known.goes_wrong(NO_MODEL.to_owned(), outcome.reason.as_deref().unwrap_or_default())
        }
        RunState::Succeeded if let Some(Verdict::Broken(reason)) = &outcome.verdict => {
            known.goes_wrong(CONDITION.to_owned(), &unchecked(reason))
        }
        // Its reason stays until somebody switches the job on again.
        RunState::Succeeded | RunState::NothingToReport if known.keeps_off(job) => {
            IncidentStep::Nothing
        }
        RunState::Succeeded | RunState::NothingToReport => known.recovery(),
        _ => IncidentStep::Nothing,
    }
}

/// What is said of a result whose condition could not be checked.
pub(super) fn unchecked(reason: &str) -> String {
    format!("The condition could not be checked: {reason}")
}

/// The incidents of a job.
struct Known<'a> {
    open: Vec<&'a Incident>,
    over: Vec<&'a Incident>,
    now: UnixMs,
}

impl Known<'_> {
    fn goes_wrong(&self, class: String, cause: &str) -> IncidentStep {
        let open: Vec<_> = self.open.iter().filter(|incident| !incident.taken_up).collect();
        let is_open = |class: &str| open.iter().find(|incident| incident.class == class);
        let is_one_of_many = is_open(&class).is_none() && open.len() >= MOST_OPEN;
        let (class, cause) = match is_one_of_many {
            true => (
                OTHERS.to_owned(),
                &*format!("It fails in other ways as well: {}", cause_of(cause)),
            ),
            false => (class, cause),
        };
        if let Some(incident) = is_open(&class) {
            return IncidentStep::GoesOn { id: incident.id };
        }
        match self.over.iter().find(|incident| incident.class == class && self.is_fresh(incident)) {
            Some(incident) => IncidentStep::ComesBack {
                id: incident.id,
                failures: incident.count.saturating_add(1),
                after_ms: self.now.since(incident.opened_at).max(0),
            },
            None => IncidentStep::Opens { class, cause: cause_of(cause) },
        }
    }

    /// Whether the job is off because of one of them: a run by hand that goes well does not switch it on.
    fn keeps_off(&self, job: Option<&Job>) -> bool {
        job.is_some_and(|job| self.open.iter().any(|incident| incident.keeps_off(job)))
    }

    fn recovery(&self) -> IncidentStep {
        let open = &self.open;
        let Some(since) = open.iter().map(|incident| incident.opened_at).min() else {
            return IncidentStep::Nothing;
        };
        // What came back once will do so again: it is over when it has stayed away.
        if open.iter().any(|incident| incident.came_back && self.is_fresh(incident)) {
            return IncidentStep::Nothing;
        }
        let failures = open.iter().fold(0_u32, |sum, incident| sum.saturating_add(incident.count));
        let all_are = |class: &str| open.iter().all(|incident| incident.class == class);
        let of = match () {
            () if all_are(CONDITION) => Ailment::Condition,
            () if all_are(NO_MODEL) => Ailment::Model,
            () => Ailment::Runs,
        };
        IncidentStep::Recovers { of, failures, after_ms: self.now.since(since).max(0) }
    }

    /// Whether its newest failure, or its end, is not long ago. A clock that was set back since makes it neither older
    /// nor newer than now.
    fn is_fresh(&self, incident: &Incident) -> bool {
        let at = incident.closed.map_or(incident.last_at, |(at, _)| at);
        self.now.since(at) < SETTLED_MS
    }
}

fn cause_of(words: &str) -> String {
    let words = Some(words.trim()).filter(|words| !words.is_empty());
    words.unwrap_or("No details").chars().take(CAUSE_CHARACTERS).collect()
}

fn class_of(job: Option<&Job>, outcome: &Outcome) -> String {
    if outcome.state == RunState::TimedOut {
        return "timedOut".to_owned();
    }
    let is_call = matches!(job.map(|job| &job.payload), Some(Payload::ToolCall(_)));
    let words = without_what_differs(outcome.error.as_deref().unwrap_or_default());
    match (is_call, outcome.may_pass, &outcome.error_for_log) {
        (false, true, _) => "failed: may pass".to_owned(),
        (false, false, Some(words)) => format!("failed: {}", without_what_differs(words)),
        (true, _, Some(kind)) => format!("failed: {kind}: {words}"),
        (_, _, None) => format!("failed: {words}"),
    }
}

/// The first line without quoted parts, and every word with a digit in it as `#`.
fn without_what_differs(text: &str) -> String {
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
    let words =
        plain.split_whitespace().map(|word| match word.chars().any(|c| c.is_ascii_digit()) {
            true => "#".to_owned(),
            false => word.to_lowercase(),
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

    use super::super::sample::{job, job_doing};
    use super::*;
    use crate::RunId;
    use crate::incident::IncidentEnd;
    use crate::money::BudgetStop;

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
    fn a_budget_of_the_day_is_no_incident_and_one_of_a_run_is() {
        let of = |passes_with_the_day| {
            let (key, words) = ("k".to_owned(), "used up".to_owned());
            let stop = BudgetStop { key, is_of_everything: false, passes_with_the_day, words };
            step(&Outcome { budget: Some(stop), ..Outcome::failed("used up") }, &[])
        };
        assert_eq!(of(true), IncidentStep::Nothing);
        assert!(matches!(of(false), IncidentStep::Opens { .. }));
    }

    fn class(error: &str) -> String {
        match step(&Outcome::failed(error), &[]) {
            IncidentStep::Opens { class, .. } => class,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_person_took_up_again_is_over_with_a_success_and_new_with_a_failure() {
        let taken_up = Incident { taken_up: true, ..open(1, "failed") };
        let known = std::slice::from_ref(&taken_up);
        let now = UnixMs(9_000);
        let well = incident_step(None, &Outcome::succeeded("ok"), known, now);
        assert!(matches!(well, IncidentStep::Recovers { failures: 7, .. }), "{well:?}");
        let wrong = incident_step(None, &Outcome::failed("no"), known, now);
        assert!(matches!(wrong, IncidentStep::Opens { .. }), "{wrong:?}");
    }

    #[test]
    fn a_job_that_was_paused_for_it_keeps_its_reason_when_a_run_by_hand_goes_well() {
        let why = Some("Paused after 2 failures in a row".to_owned());
        let paused = [Incident { paused_because: why, ..open(1, "failed") }];
        let off = Job { enabled: false, ..job() };
        let ok = Outcome::succeeded("ok");
        let after =
            |job: &Job, known: &[Incident]| incident_step(Some(job), &ok, known, UnixMs(9_000));
        assert_eq!(after(&off, &paused), IncidentStep::Nothing);
        let is_over = |step| matches!(step, IncidentStep::Recovers { .. });
        assert!(is_over(after(&job(), &paused)), "it was switched on again");
        assert!(is_over(after(&off, &[open(1, "failed")])), "somebody has switched it off");
        let taken_up = [Incident { taken_up: true, ..paused[0].clone() }];
        assert!(is_over(after(&off, &taken_up)), "somebody has switched it on and off again");
    }

    #[test]
    fn the_same_cause_in_other_numbers_is_the_same_cause() {
        for (one, other) in [
            ("No answer from 10.0.0.1:80 after 31 ms", "No answer from 10.0.0.2:443 after 7 ms"),
            ("There is no file `a.txt`", "There is no file `b.txt`"),
            ("Refused: \"x y\"", "refused:  \"z\""),
            ("Broken\nat line 3", "Broken\nelsewhere"),
        ] {
            assert_eq!(class(one), class(other), "{one}");
        }
        assert_ne!(class("There is no file `a`"), class("There is no folder `a`"));
        assert_ne!(class("Ran out of time"), class("no network"));
    }

    #[test]
    fn a_first_failure_opens_and_the_next_goes_on() {
        let failed = Outcome::failed("no network");
        let opens = step(&failed, &[]);
        let known = class("no network");
        assert_eq!(
            opens,
            IncidentStep::Opens { class: known.clone(), cause: "no network".to_owned() }
        );
        assert_eq!(step(&failed, &[open(4, &known)]), IncidentStep::GoesOn { id: 4 });
        let other = step(&failed, &[open(4, "timedOut")]);
        assert!(matches!(other, IncidentStep::Opens { .. }), "another cause is told: {other:?}");
    }

    #[test]
    fn a_recovery_that_was_too_short_opens_the_same_incident_again() {
        let failed = Outcome::failed("no network");
        let known = class("no network");
        let over =
            |at| Incident { closed: Some((UnixMs(at), IncidentEnd::Recovered)), ..open(4, &known) };
        let again = |incident: Incident, now| {
            incident_step(Some(&job()), &failed, &[incident], UnixMs(now))
        };
        let back = IncidentStep::ComesBack { id: 4, failures: 8, after_ms: 2_000 };
        assert_eq!(again(over(5_500), 6_000), back);
        assert!(matches!(again(over(5_500), 5_500 + SETTLED_MS), IncidentStep::Opens { .. }));
        let other = Incident { class: "timedOut".to_owned(), ..over(5_500) };
        assert!(matches!(again(other, 6_000), IncidentStep::Opens { .. }));
    }

    #[test]
    fn what_came_back_is_over_when_it_has_stayed_away() {
        let back = Incident { came_back: true, ..open(4, "failed: #") };
        let well = |incidents: &[Incident], now| {
            incident_step(Some(&job()), &Outcome::succeeded("ok"), incidents, UnixMs(now))
        };
        assert_eq!(well(std::slice::from_ref(&back), 5_001), IncidentStep::Nothing);
        let both = [back.clone(), open(2, "timedOut")];
        assert_eq!(well(&both, 4_999 + SETTLED_MS), IncidentStep::Nothing);
        assert!(matches!(
            well(&[back], 5_000 + SETTLED_MS),
            IncidentStep::Recovers { failures: 7, .. }
        ));
    }

    #[test]
    fn a_talkative_error_is_not_an_incident_a_minute() {
        let mut all = vec![open(9, "a"), open(2, "b"), open(3, "c")];
        let others = IncidentStep::Opens {
            class: OTHERS.to_owned(),
            cause: "It fails in other ways as well: new words".to_owned(),
        };
        assert_eq!(step(&Outcome::failed("new words"), &all), others);
        all.insert(0, open(10, OTHERS));
        assert_eq!(step(&Outcome::failed("newer words"), &all), IncidentStep::GoesOn { id: 10 });
        let known = class("no network");
        all.push(open(4, &known));
        assert_eq!(step(&Outcome::failed("no network"), &all), IncidentStep::GoesOn { id: 4 });
    }

    #[test]
    fn of_a_call_its_kind_is_part_of_the_cause() {
        let class = |kind: &str, words: &str| {
            let error_for_log = Some(kind.to_owned());
            match step(&Outcome { error_for_log, ..Outcome::failed(words) }, &[]) {
                IncidentStep::Opens { class, .. } => class,
                other => panic!("{other:?}"),
            }
        };
        let exit = |code: i32| class(&format!("Exit code {code}"), &format!("exit code {code}"));
        assert_ne!(exit(1), exit(127));
        let refused = |status: u16| {
            class(
                &format!("It was answered with {status}"),
                &format!("The server answered {status}"),
            )
        };
        assert_ne!(refused(401), refused(404));
        let at = |at: &str| class("Exit code 1", &format!("Exit code 1: no route at {at}"));
        assert_eq!(at("10:00"), at("11:00"));
    }

    #[test]
    fn what_a_model_says_is_worded_anew_each_time() {
        let turn = job_doing(json!({ "kind": "agentTurn", "message": "Look" }));
        let class = |outcome: &Outcome| match incident_step(Some(&turn), outcome, &[], UnixMs(0)) {
            IncidentStep::Opens { class, .. } => class,
            other => panic!("{other:?}"),
        };
        let said = |words: &str| Outcome {
            error_for_log: Some("It reported a failure".to_owned()),
            ..Outcome::failed(words)
        };
        assert_eq!(class(&said("I could not find it")), class(&said("Not found")));
        let key = class(&Outcome::failed("bad does not accept the key (HTTP 401)"));
        assert_ne!(key, class(&Outcome::failed("bad refuses the question (HTTP 400)")));
        assert_eq!(key, class(&Outcome::failed("bad does not accept the key (HTTP 403)")));
        let quoting = |quote: &str| Outcome {
            error_for_log: Some("bad refuses the question (HTTP 400).".to_owned()),
            ..Outcome::failed(format!("bad refuses the question (HTTP 400). It said: {quote}"))
        };
        assert_eq!(class(&quoting("one")), class(&quoting("another")));
        assert_ne!(class(&quoting("one")), class(&said("one")), "another cause");
        let network = Outcome { may_pass: true, ..Outcome::failed("no network") };
        assert_ne!(class(&network), class(&Outcome::failed("no network")));
        assert_ne!(class(&network), class(&Outcome::of(RunState::TimedOut)));
    }

    #[test]
    fn a_success_ends_all_of_them_and_counts() {
        let open = [open(2, "a"), open(1, "b")];
        let ended = IncidentStep::Recovers { of: Ailment::Runs, failures: 14, after_ms: 8_000 };
        assert_eq!(step(&Outcome::succeeded("ok"), &open), ended);
        assert_eq!(step(&Outcome::of(RunState::NothingToReport), &open), ended);
        assert_eq!(step(&Outcome::succeeded("ok"), &[]), IncidentStep::Nothing);
    }

    fn broken(reason: &str) -> Outcome {
        Outcome { verdict: Some(Verdict::Broken(reason.to_owned())), ..Outcome::succeeded("17 %") }
    }

    #[test]
    fn a_condition_that_cannot_be_checked_is_an_incident() {
        let class = match step(&broken("there is no `level` in it"), &[]) {
            IncidentStep::Opens { class, cause } => {
                assert_eq!(cause, "The condition could not be checked: there is no `level` in it");
                class
            }
            other => panic!("{other:?}"),
        };
        let open_one = [open(4, &class)];
        assert_eq!(
            step(&broken("there is no `other` in it"), &open_one),
            IncidentStep::GoesOn { id: 4 }
        );
        let can_be_checked = |verdict| {
            let outcome = Outcome { verdict: Some(verdict), ..Outcome::succeeded("17 %") };
            step(&outcome, &open_one)
        };
        let again = IncidentStep::Recovers { of: Ailment::Condition, failures: 7, after_ms: 5_000 };
        assert_eq!(can_be_checked(Verdict::Met), again);
        assert_eq!(can_be_checked(Verdict::NotMet), again);
        // Whoever failed and cannot be checked now works only when both are well.
        let failed_before = step(&broken("there is no `level` in it"), &[open(1, "failed: #")]);
        assert!(matches!(failed_before, IncidentStep::Opens { .. }), "{failed_before:?}");
        let both = step(&Outcome::succeeded("ok"), &[open(4, &class), open(1, "failed: #")]);
        assert!(matches!(both, IncidentStep::Recovers { of: Ailment::Runs, .. }), "{both:?}");
    }

    #[test]
    fn what_did_not_work_says_nothing() {
        use RunState::{Cancelled, Interrupted, Missed, Skipped};
        for state in [Cancelled, Interrupted, Missed, Skipped] {
            assert_eq!(step(&Outcome::of(state), &[open(1, "a")]), IncidentStep::Nothing);
        }
    }
}
