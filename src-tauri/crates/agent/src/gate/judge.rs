//! May this call be made? schema → what the run knows → policy → answers and grants; and the words of the rate limit.
//!
//! Owns the facts that `core::policy` decides by: what the tool says of this very call, whether the run knows anything
//! from outside, what the call is bound to now, and what the person has said. It makes the question when somebody is to
//! be asked, with everything that the person needs to see. One could get it wrong by binding an answer to what a call
//! looked like when it was asked for: the surroundings are read anew each time, also right after the answer. Only times
//! from now count from the question.

use std::collections::HashSet;
use std::sync::Arc;

use rouse_core::approval::{
    Approval, ApprovalState, Fingerprint, GateDecision, Grant, Permit, Refusal, Surroundings,
    asked_before, values_in,
};
use rouse_core::job::Approvals;
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::{ApprovedCall, NeedsYes, Ruling, Said, Verdict, unasked};
use rouse_core::tool::{ApprovalRule, Tool, ToolContext, ToolOutput, ToolSpec};
use rouse_core::{ApprovalId, RunId, UnixMs};
use rouse_store::{RunStep, StepStatus, StoreError};
use serde_json::Value;

use super::limits::Place;
use super::refused::Refused;
use super::values::{HELD, Kept, Unkept, told_of_marks, told_of_values, unkept};
use super::why::{Known, Why, sentence};
use super::{Gate, Terms};

/// Questions of one job that may be open in other runs before another run of it asks as well.
const MOST_OPEN: usize = 3;

/// Why a yes to a call that a hook wants asked is none for always.
const EACH_TIME: &str =
    "A hook wants a person's yes to it each time, so it cannot be allowed for always.";

/// Why a run that has outlived its job cannot ask: an answer would find nothing to go on with.
const JOB_GONE: &str = "Its job was deleted, so nobody is asked.";

/// What the gate says to a call.
pub(super) enum Judged {
    /// It may be made, on this ground; none where nobody needs to say yes.
    Goes(Arc<dyn Tool>, ApprovedCall, Option<Permit>),
    /// The person is asked.
    Asks(Box<Question>),
    /// It is not made.
    Refused(Refused),
}

/// What hooks have to do with a call.
#[derive(Clone, Copy, Default)]
pub(super) struct ByHooks<'h> {
    /// Why one of them wants a person's yes to it.
    pub(super) wanted: Option<&'h str>,
    /// Which of them has made it of another call.
    pub(super) made: Option<&'h str>,
}

/// A question to a person, before it is written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The question.
    pub approval: Approval,
    /// How many the run has asked before, each of those that a crash has asked again once.
    pub asked_before: usize,
    /// Whether each of them got a yes.
    pub had_yes: bool,
}

/// A call whose arguments fit its tool, as it is judged.
struct Fitting<'w> {
    tool: Arc<dyn Tool>,
    /// That of the tool, with the rule for this very call.
    spec: ToolSpec,
    why: Why<'w>,
    /// What it holds that a person has to look at.
    held: Option<String>,
}

impl Gate {
    pub(super) async fn judge(
        &self,
        terms: &Terms,
        request: &ToolCallRequest,
        context: &ToolContext,
        by_hooks: ByHooks<'_>,
    ) -> Result<Judged, StoreError> {
        let fitting = self.fitting(terms, request, context, by_hooks).await?;
        let Fitting { tool, spec, why, held } = match fitting {
            Ok(fitting) => fitting,
            Err(refusal) => return Ok(Judged::Refused(refusal)),
        };
        let arguments = request.arguments.clone();
        let verdict = match why.is_wish() {
            true => terms.policy.judge_wished(&spec, arguments),
            false => terms.policy.judge(&spec, arguments),
        };
        match verdict {
            Verdict::Allowed(call) => Ok(Judged::Goes(tool, call, None)),
            Verdict::Denied(denial) => Ok(Judged::Refused(denial.into())),
            Verdict::NeedsYes(needs) => {
                let kept = self.kept_by_stand_ins(request, context).await;
                let asker = Asker { gate: self, terms, request, kept, context, why, held };
                asker.with_yes(tool, needs).await
            }
        }
    }

    /// The tool whose schema the arguments fit, judged as this very call asks for.
    async fn fitting<'w>(
        &self,
        terms: &Terms,
        request: &ToolCallRequest,
        context: &ToolContext,
        by_hooks: ByHooks<'w>,
    ) -> Result<Result<Fitting<'w>, Refused>, StoreError> {
        let name = &request.tool;
        let Some(entry) = self.tools.entry(name) else {
            let offered: Vec<String> =
                self.tools.offered(&terms.policy).into_iter().map(|spec| spec.name).collect();
            let words = format!(
                "There is no tool called {name}. The tools of this run are: {}.",
                offered.join(", ")
            );
            return Ok(Err(Refused::new(Refusal::UnknownTool, words)));
        };
        if let Some(complaints) = entry.complaints(&request.arguments) {
            let schema = &entry.tool.spec().parameters;
            let words = format!(
                "The arguments of {name} do not fit.\n{complaints}\nCall it again with one JSON object of this schema: {schema}"
            );
            return Ok(Err(Refused::new(Refusal::Misfit, words)));
        }
        let tool = Arc::clone(&entry.tool);
        let held = match self.held_back(terms, tool.as_ref(), request, context).await {
            Ok(held) => held,
            Err(refusal) => return Ok(Err(*refusal)),
        };
        // What the tool says of this very call counts, not what it says of itself in general.
        let rule = tool.approval(&request.arguments, context);
        let tells = rule == ApprovalRule::Never && tool.sends_out(&request.arguments, context);
        let known = if tells { self.knows_outside(terms, context).await? } else { None };
        let (approval, why) = match known {
            Some(known) => (ApprovalRule::UnlessGranted, Why::KnowsOutside(known)),
            None => (rule, by_hooks.made.map_or(Why::Usual, Why::MadeBy)),
        };
        let (approval, why) = match by_hooks.wanted {
            Some(reason) => (approval.max(ApprovalRule::UnlessGranted), Why::Hook(reason)),
            None if held.is_some() => (approval.max(ApprovalRule::UnlessGranted), why),
            None => (approval, why),
        };
        let spec = ToolSpec { approval, ..tool.spec().clone() };
        Ok(Ok(Fitting { tool, spec, why, held }))
    }

    /// Why the run has asked a person about this very call, where that still counts: a no, or a yes that is not used up.
    /// It goes by that, whatever a hook says by now.
    pub(super) async fn was_asked(
        &self,
        request: &ToolCallRequest,
        context: &ToolContext,
    ) -> Result<Option<String>, StoreError> {
        let answers = self.store.approvals_of(&context.run_id).await?;
        if answers.is_empty() {
            return Ok(None);
        }
        let kept = self.kept_by_stand_ins(request, context).await;
        let is_about =
            |asked: &Approval| is_about(asked, request, kept.as_ref()) && asked.state.is_answer();
        Ok(answers.into_iter().rev().find(is_about).map(|asked| asked.why))
    }

    /// How the run knows text that somebody else may have written; none when it does not.
    pub(crate) async fn knows_outside(
        &self,
        terms: &Terms,
        context: &ToolContext,
    ) -> Result<Option<Known>, StoreError> {
        if terms.policy.is_a_persons_call() {
            return Ok(None);
        }
        let has_read = self.store.has_called(&context.run_id, &self.tools.outside()).await?;
        let was_told = terms.knows_outside.then_some(Known::Told);
        Ok(if has_read { Some(Known::Read) } else { was_told })
    }

    /// What a person has written into a job is bounded by its own schedule, cool-down and overlap; a limit for models that
    /// call in circles would fail its slots.
    pub(super) async fn take_rate(
        &self,
        terms: &Terms,
        ToolCallRequest { tool: name, arguments, .. }: &ToolCallRequest,
        run: &RunId,
    ) -> Result<Result<Option<Place<'_>>, Refused>, StoreError> {
        if terms.policy.has_written(name, arguments) {
            return Ok(Ok(None));
        }
        let may_wait = !terms.rate_limit_wait.is_zero();
        let taken = self.limits.take(name, run, may_wait).await?;
        Ok(taken.map_err(|wait| Refused::too_often(name, wait)))
    }

    /// Why there is no call of the tool to take now; none when there is one.
    pub(super) async fn over_rate(
        &self,
        terms: &Terms,
        ToolCallRequest { tool: name, arguments, .. }: &ToolCallRequest,
        run: &RunId,
    ) -> Result<Option<Refused>, StoreError> {
        if terms.policy.has_written(name, arguments) {
            return Ok(None);
        }
        let may_wait = !terms.rate_limit_wait.is_zero();
        let wait = self.limits.wait(name, run, may_wait).await?;
        Ok(wait.map(|wait| Refused::too_often(name, wait)))
    }
}

/// Whether the question was about this very call, and its answer has not been used up.
fn is_about(asked: &Approval, request: &ToolCallRequest, kept: Option<&Kept>) -> bool {
    let arguments = kept.map_or(&request.arguments, Kept::arguments);
    asked.tool == request.tool
        && asked.arguments == *arguments
        && asked.surroundings.stand_for_the_same(&Kept::noted(kept, Surroundings::default()))
        && asked.used_at.is_none()
}

/// Somebody who needs a yes.
struct Asker<'g> {
    gate: &'g Gate,
    terms: &'g Terms,
    request: &'g ToolCallRequest,
    /// Its arguments as they are written down, where stored secrets stand in them and it stays here.
    kept: Option<Kept>,
    context: &'g ToolContext,
    why: Why<'g>,
    /// What the call holds that a person has to look at.
    held: Option<String>,
}

impl Asker<'_> {
    async fn with_yes(
        mut self,
        tool: Arc<dyn Tool>,
        needs: NeedsYes,
    ) -> Result<Judged, StoreError> {
        let store = &self.gate.store;
        let answers = store.approvals_of(&self.context.run_id).await?;
        let now = self.gate.clock.now();
        let asked_at = self.asked_at(&answers).unwrap_or(now);
        let (surroundings, fingerprint) = match self.bound(tool.as_ref(), asked_at).await {
            Ok(bound) => bound,
            Err(output) => return Ok(Judged::Refused(Refused::by_tool(output))),
        };
        let grants = match &self.context.job_id {
            Some(job) => store.grants_of(job).await?,
            None => Vec::new(),
        };
        let names = |grant: &Grant| grant.names(&self.request.tool, self.arguments(), now);
        if self.why == Why::Usual && grants.iter().any(names) {
            self.why = Why::Drifted;
        }
        let said = Said { answers: &answers, grants: &grants, now };
        let is_highest = needs.is_highest();
        Ok(match self.as_kept(needs).in_the_light_of(said, &self.noted(surroundings.clone())) {
            Ruling::Permitted(call, permit) => {
                let call = call.with_values(self.request.arguments.clone());
                let call = call.expect("BUG: only stand-ins were replaced");
                Judged::Goes(tool, call.bound_to(surroundings), Some(permit))
            }
            Ruling::Denied(denial) => Judged::Refused(denial.into()),
            Ruling::Unasked(approvals) => {
                refused(Refusal::Unasked { approvals }, self.unasked(approvals))
            }
            Ruling::Ask if self.is_without_job().await? => refused(Refusal::JobGone, JOB_GONE),
            Ruling::Ask => match self.why_not_asked(&fingerprint).await? {
                Some(words) => refused(Refusal::EarlierAsks, words),
                None if self.would_tell(&surroundings) => {
                    refused(Refusal::Unkept, unkept(&self.request.tool, Unkept::Asked))
                }
                None => {
                    // A question that is asked again counts times from now.
                    let (surroundings, fingerprint) = match asked_at == now {
                        true => (surroundings, fingerprint),
                        false => match self.bound(tool.as_ref(), now).await {
                            Ok(bound) => bound,
                            Err(output) => return Ok(Judged::Refused(Refused::by_tool(output))),
                        },
                    };
                    let bound = (surroundings, fingerprint, is_highest);
                    let approval = self.question(tool.as_ref(), bound, &answers, now).await;
                    let is_yes = |asked: &Approval| {
                        use ApprovalState::{Approved, Covered};
                        matches!(asked.state, Approved { .. } | Covered { .. })
                    };
                    let asked_before = asked_before(&answers, &approval, &self.ended().await?);
                    let had_yes = answers.iter().all(is_yes);
                    Judged::Asks(Box::new(Question { approval, asked_before, had_yes }))
                }
            },
        })
    }

    /// The same of the call as it is written down.
    fn as_kept(&self, needs: NeedsYes) -> NeedsYes {
        match &self.kept {
            Some(kept) => {
                let needs = needs.as_kept(kept.arguments().clone());
                needs.expect("BUG: only values were replaced")
            }
            None => needs,
        }
    }

    /// The questions of the run with a call on the ground of their yes that came to its end.
    async fn ended(&self) -> Result<Vec<ApprovalId>, StoreError> {
        let steps = self.gate.store.steps(&self.context.run_id).await?;
        let has_ended =
            |step: &RunStep| matches!(step.status, StepStatus::Finished | StepStatus::Failed);
        let ended = steps.into_iter().filter(has_ended).filter_map(|step| match step.gate? {
            GateDecision::Answered { approval_id, .. } => Some(approval_id),
            _ => None,
        });
        Ok(ended.collect())
    }

    /// Whether the job of the run is gone, so that nobody is left who could be asked for it.
    async fn is_without_job(&self) -> Result<bool, StoreError> {
        match &self.context.job_id {
            Some(job) => Ok(!self.gate.store.has_job(job).await?),
            None => Ok(false),
        }
    }

    /// When this run last asked about this call, where the answer has not been used up.
    fn asked_at(&self, answers: &[Approval]) -> Option<UnixMs> {
        answers.iter().rev().find(|asked| self.is_about(asked)).map(|asked| asked.asked_at)
    }

    fn is_about(&self, asked: &Approval) -> bool {
        is_about(asked, self.request, self.kept.as_ref())
    }

    fn would_tell(&self, surroundings: &Surroundings) -> bool {
        let noted = self.noted(surroundings.clone());
        self.gate.would_tell(self.request, self.kept.as_ref(), &noted)
    }

    /// The arguments as they are written down.
    fn arguments(&self) -> &Value {
        self.kept.as_ref().map_or(&self.request.arguments, Kept::arguments)
    }

    /// What is written down of what the call works with.
    fn noted(&self, surroundings: Surroundings) -> Surroundings {
        self.gate.noted(self.kept.as_ref(), surroundings)
    }

    /// What an answer to a question that was asked at `asked_at` is bound to.
    async fn bound(
        &self,
        tool: &dyn Tool,
        asked_at: UnixMs,
    ) -> Result<(Surroundings, Fingerprint), ToolOutput> {
        let (arguments, context) = (&self.request.arguments, self.context_of(asked_at));
        let surroundings = tool.surroundings(arguments, &context).await?;
        let noted = self.noted(surroundings.clone());
        let fingerprint = Fingerprint::of(&self.request.tool, self.arguments(), &noted);
        Ok((surroundings, fingerprint))
    }

    fn context_of(&self, asked_at: UnixMs) -> ToolContext {
        ToolContext { asked_at: Some(asked_at), ..self.context.clone() }
    }

    /// Other runs of the job that wait for an answer: the same question is not asked twice, and a job whose questions
    /// nobody answers does not heap up more of them.
    async fn why_not_asked(&self, fingerprint: &Fingerprint) -> Result<Option<String>, StoreError> {
        if self.terms.policy.is_attended() {
            // Whoever waits for this answers it.
            return Ok(None);
        }
        let of_others = self.gate.open_in_other_runs(self.context).await?;
        let tool = &self.request.tool;
        let is_same = of_others.iter().any(|asked| asked.fingerprint == *fingerprint);
        let runs: HashSet<&RunId> = of_others.iter().map(|asked| &asked.run_id).collect();
        let (is_for_a_person, open) = (self.is_for_a_person(), runs.len());
        Ok(match (is_same, open >= MOST_OPEN) {
            (true, _) if is_for_a_person => Some(format!(
                "An earlier run of this job waits for an answer to this very call of {tool}"
            )),
            (true, _) => Some(format!(
                "An earlier run has asked for this very call of {tool} and waits for the answer, so it is not asked for again. Go on without it, or end the run."
            )),
            (false, true) if is_for_a_person => Some(format!(
                "{open} earlier runs of this job wait for an answer, so this one did not ask as well"
            )),
            (false, true) => Some(format!(
                "This call of {tool} needs a person's yes, and {open} earlier runs wait for an answer, so it is not asked for. Go on without it, or end the run."
            )),
            (false, false) => None,
        })
    }

    /// Whether what is said of the call is read by a person: no model has made it.
    fn is_for_a_person(&self) -> bool {
        self.terms.policy.is_a_persons_call()
    }

    /// What is said of a call that needs a yes in a run that asks nobody.
    fn unasked(&self, setting: Approvals) -> String {
        let tool = &self.request.tool;
        let words = match (self.is_for_a_person(), self.why) {
            (true, why) => why.unasked(tool, setting),
            (false, Why::Hook(reason)) => format!("{} {}", sentence(reason), unasked(tool)),
            (false, _) => unasked(tool),
        };
        self.with_what_it_holds(words)
    }

    fn with_what_it_holds(&self, words: String) -> String {
        match &self.held {
            Some(held) => format!("{} {held}", sentence(&words)),
            None => words,
        }
    }

    async fn question(
        &self,
        tool: &dyn Tool,
        (surroundings, fingerprint, is_highest): (Surroundings, Fingerprint, bool),
        answers: &[Approval],
        now: UnixMs,
    ) -> Approval {
        let Self { gate, terms, request, context, .. } = self;
        // No grant stands for the yes that a hook wants, so none is made of it.
        let ungranted = match &self.kept {
            _ if self.why.is_wish() => Some(EACH_TIME.to_owned()),
            Some(Kept::InMemory { .. }) => Some(HELD.to_owned()),
            _ => surroundings.ungranted.clone(),
        };
        let surroundings = Surroundings { ungranted, ..surroundings };
        let surroundings = self.noted(surroundings);
        // Nothing is hidden here: whoever says yes has to see what would be sent, whatever header or field it stands in.
        let preview = tool.preview(&request.arguments, &self.context_of(now)).await;
        let why = self.reason(is_highest, answers);
        let (preview, why) = match &self.kept {
            Some(Kept::InMemory { set_at, .. }) => {
                let names: Vec<&str> = set_at.keys().map(String::as_str).collect();
                (gate.shown(&preview), format!("{why} {}", told_of_marks(&names)))
            }
            Some(kept) => {
                let shown = gate.safety().shown_by_handles(&preview);
                let names = values_in(kept.arguments(), &surroundings);
                (shown, format!("{why} {}", told_of_values(&names)))
            }
            None => (gate.shown(&preview), why),
        };
        let wait = i64::try_from(terms.question_for.as_millis()).unwrap_or(i64::MAX);
        Approval {
            id: ApprovalId::generate(now),
            run_id: context.run_id.clone(),
            job_id: context.job_id.clone(),
            job_name: context.job_name.clone(),
            call_id: request.id.clone(),
            tool: request.tool.clone(),
            arguments: self.arguments().clone(),
            surroundings,
            fingerprint,
            preview,
            why,
            is_highest,
            asked_at: now,
            expires_at: now.plus_ms(wait),
            state: ApprovalState::Pending,
            answered_from: None,
            used_at: None,
        }
    }

    /// Why it is asked, for the person.
    fn reason(&self, is_highest: bool, answers: &[Approval]) -> String {
        let is_same = |asked: &&Approval| self.is_about(asked) && asked.has_unused_answer();
        let newest = answers.iter().rev().find(is_same).map(|asked| &asked.state);
        if matches!(newest, Some(ApprovalState::Approved { .. })) {
            let words = "You said yes to this call before. What it works with has changed since, so it was not made.";
            return self.with_what_it_holds(words.to_owned());
        }
        let words = self.why.of_question(is_highest, self.context.job_id.is_some());
        self.with_what_it_holds(words)
    }
}

fn refused(why: Refusal, words: impl Into<String>) -> Judged {
    Judged::Refused(Refused::new(why, words))
}
