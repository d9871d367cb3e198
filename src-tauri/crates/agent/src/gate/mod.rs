//! The gate: the one place through which every tool call passes, from a model's turn and from a `toolCall` job alike.
//!
//! The order, and who keeps each step: the schema and what the call holds (here), policy and grant or answer (`judge`, by
//! `core::policy`), a look at the rate limit, budget and hooks (`hooked`), the sandbox (`guard`), a place under the rate limit
//! (`limits`) and the journal's beginning (here), secrets put in (`guard`), the call within its time (here), the safety layer
//! and the journal's end (here, `ending`). Whatever is refused is told to the model as an error that it may mend, and
//! journalled like a call. A yes is used up in the transaction that journals the call's beginning. Only a question, a journal
//! that cannot be written and a cancelled run end more than the call: what is not journalled does not happen.
//!
//! One could get it wrong by calling a tool from anywhere else. The type `ApprovedCall` stands against that: only
//! `core::policy` makes one, and only for arguments that were checked here.

pub(crate) mod fence;
pub(crate) mod fit;
pub(crate) mod result_text;
pub(crate) mod guard;
mod held;
mod hooked;
mod judge;
mod others;
mod refused;
mod ending;
mod limits;
mod values;
mod why;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use rouse_core::Clock;
use rouse_core::approval::{GateDecision, Permit, Refusal};
use rouse_core::depth::flattened;
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::{ApprovedCall, ToolPolicy};
use rouse_core::tool::{Annotations, SandboxMode, Tool, ToolContext, ToolOutput};
use rouse_store::{NewStep, RunStep, StepKind, StepStatus, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::condition::Conditions;
use crate::hooks::Hooks;
use crate::list::HeartbeatList;
use crate::money::{Account, Seat};
use crate::registry::ToolRegistry;
use crate::safety::{Incoming, Safety};
use ending::{Ending, end_of};
use held::HeldCalls;
use hooked::{Asked, Hooked};
pub use judge::Question;
use judge::{ByHooks, Judged};
use limits::CallLimits;
pub(crate) use refused::Refused;
use refused::kept_name;
pub(crate) use values::{Kept, Lost};

/// How long what a call left behind may take to end: less than the scheduler gives a run that it has told to end.
const LOOSE_ENDS_FOR: Duration = Duration::from_millis(1_750);

/// The gate. Cheap to share, never to copy: the limits count over all runs.
pub struct Gate {
    tools: ToolRegistry,
    limits: CallLimits,
    conditions: Conditions,
    safety: Safety,
    held: HeldCalls,
    hooks: Hooks,
    list: HeartbeatList,
    store: Store,
    clock: Arc<dyn Clock>,
}

/// A call that went through the gate, allowed or refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// Its number in the run's journal.
    pub step: u32,
    /// What the tool answered; the refusal when it was not called.
    pub output: ToolOutput,
    /// The same as a model is told it: capped, and fenced when it comes from outside.
    pub told: ToolOutput,
    /// Whether the tool itself answered.
    pub reached_tool: bool,
    /// Whether making it once more is harmless.
    pub is_repeatable: bool,
    /// Of which kind the refusal was; none when the tool was called.
    pub refusal: Option<Refusal>,
}

/// On what terms a run calls: the same for all of its calls.
#[derive(Debug, Clone)]
pub struct Terms {
    /// What its calls are paid from; none when nobody pays.
    pub account: Option<Account>,
    /// What it may call, and what becomes of calls that need a yes.
    pub policy: ToolPolicy,
    /// How long a question waits for its answer.
    pub question_for: Duration,
    /// Whether it began with text that somebody else may have written.
    pub knows_outside: bool,
    /// The longest wait for a tool's rate limit; a call that would wait longer is refused.
    pub rate_limit_wait: Duration,
}

/// What became of a call at the gate.
#[derive(Debug, Clone, PartialEq)]
pub enum Passage {
    /// It was let through, or refused.
    Called(Box<Called>),
    /// It waits for a person: nothing was done, and nothing is written down yet.
    Asks(Box<Question>),
}

/// What the first half of the gate makes of a call.
pub(crate) enum Admission {
    /// It stands in the journal, and what allows it is used up: now it is to be carried out.
    Begun(Box<Begun>),
    /// It was refused.
    Refused(Box<Called>),
    /// It waits for a person.
    Asks(Box<Question>),
    /// The tool is over its rate limit, and the run may wait: nothing is written down yet.
    OverLimit { wait: Duration, refused: Box<Refused> },
}

/// A call between its beginning in the journal and its work.
pub(crate) struct Begun {
    tool: Arc<dyn Tool>,
    call: ApprovedCall,
    step: u32,
    does: Annotations,
    /// How it is confined, where that is more than its run is.
    confined: Option<SandboxMode>,
    /// Its place among the calls that are paid for.
    seat: Option<Seat>,
    /// Whether a person has said yes to exactly this call, or has written it.
    was_shown: bool,
}

impl Begun {
    pub(crate) const fn only_reads(&self) -> bool {
        self.does.read_only
    }
}

/// Why the gate let nothing through at all.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The journal cannot be written.
    #[error("journalling a tool call")]
    Journal(#[from] StoreError),
    /// The run was cancelled while the tool worked.
    #[error("the run was cancelled")]
    Cancelled,
}

impl Gate {
    /// A gate over `tools`.
    #[must_use]
    pub fn new(tools: ToolRegistry, store: Store, clock: Arc<dyn Clock>) -> Self {
        let limits = CallLimits::new(tools.specs(), &store, &clock);
        let (conditions, safety) = (Conditions::default(), Safety::new(Arc::default()));
        let list = HeartbeatList::new(store.clone(), Arc::clone(&clock));
        let (held, hooks) = (HeldCalls::default(), Hooks::default());
        Self { tools, limits, conditions, safety, held, hooks, list, store, clock }
    }

    /// The same gate with these secrets to recognise and to fill in, and with these hooks.
    #[must_use]
    pub fn guarded_by(self, safety: Safety, hooks: Hooks) -> Self {
        Self { safety, hooks, ..self }
    }

    /// What stands between texts from outside and a model.
    #[must_use]
    pub const fn safety(&self) -> &Safety {
        &self.safety
    }

    /// Who is told and asked.
    #[must_use]
    pub const fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// What keeps an eye on the person's list for the main session.
    #[must_use]
    pub const fn list(&self) -> &HeartbeatList {
        &self.list
    }

    /// What judges the answers of tools for jobs that tell only some of them.
    #[must_use]
    pub const fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// The tools behind it.
    #[must_use]
    pub const fn tools(&self) -> &ToolRegistry {
        &self.tools
    }

    /// Lets one call through, refuses it in words, or says what the person is to be asked.
    ///
    /// # Errors
    /// When the journal cannot be written, or `cancel` is cancelled while the tool works.
    pub async fn call(
        &self,
        terms: &Terms,
        request: &ToolCallRequest,
        context: &ToolContext,
        cancel: &CancellationToken,
    ) -> Result<Passage, GateError> {
        match self.admit(terms, request, context).await? {
            Admission::Asks(question) => Ok(Passage::Asks(question)),
            Admission::Refused(called) => Ok(Passage::Called(called)),
            Admission::OverLimit { refused, .. } => {
                Ok(Passage::Called(Box::new(self.refuse(request, context, *refused).await?)))
            }
            Admission::Begun(begun) => {
                Ok(Passage::Called(Box::new(self.carry_out(*begun, context, cancel).await?)))
            }
        }
    }

    /// The first half of a call: everything up to its beginning, which is journalled.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) async fn admit(
        &self,
        terms: &Terms,
        request: &ToolCallRequest,
        context: &ToolContext,
    ) -> Result<Admission, GateError> {
        let mut asked = Asked::of(request);
        let refused = loop {
            let by_hooks = asked.by_hooks();
            let (tool, call, permit) =
                match self.judge(terms, &asked.request, context, by_hooks).await? {
                    Judged::Asks(question) => return Ok(Admission::Asks(question)),
                    Judged::Refused(refused) => break refused,
                    Judged::Goes(tool, call, permit) => (tool, call, permit),
                };
            if permit.is_none() && asked.wants_yes.is_none() {
                asked.wants_yes = self.was_asked(&asked.request, context).await?;
                if asked.wants_yes.is_some() {
                    continue;
                }
            }
            asked.has_yes = matches!(permit, Some(Permit::Answer(_)));
            match self.held_up(terms, &mut asked, (tool.as_ref(), &call), context).await? {
                Hooked::Refused(refused) => break *refused,
                Hooked::Again => continue,
                Hooked::Go => {}
            }
            let does = tool.annotations(call.arguments());
            let confined = self.confined(terms, tool.as_ref(), context).await?;
            let is_written =
                terms.policy.has_written(&asked.request.tool, &asked.request.arguments);
            let rewritten_by = self.rewriter(&asked);
            let gate = GateDecision::of_made(permit.as_ref(), is_written, rewritten_by);
            let step = NewStep { gate, ..self.step_of(&asked.request, context, Some(does)) };
            let place = match self.take_rate(terms, &asked.request, &context.run_id).await? {
                Ok(place) => place,
                Err(refused) => break refused,
            };
            let was_shown = is_written || matches!(permit, Some(Permit::Answer(_)));
            // None: another run was faster with the last use of a grant, or somebody has taken it back.
            if let Some(step) = self.begin(step, permit.as_ref()).await? {
                if let Some(place) = place {
                    place.used();
                }
                let seat = asked.seat;
                let begun = Begun { tool, call, step, does, confined, seat, was_shown };
                return Ok(Admission::Begun(Box::new(begun)));
            }
        };
        if let Some(wait) = refused.wait().filter(|wait| *wait <= terms.rate_limit_wait) {
            return Ok(Admission::OverLimit { wait, refused: Box::new(refused) });
        }
        let refused = Refused { rewritten_by: asked.made_by, ..refused };
        Ok(Admission::Refused(Box::new(self.refuse(&asked.request, context, refused).await?)))
    }

    /// The hook that has made the call of another one, as it is written down.
    fn rewriter(&self, asked: &Asked) -> Option<String> {
        asked.made_by.as_ref().map(|hook| kept_name(&self.safety, hook))
    }

    /// Whether a call may be carried out beside others like it: it changes nothing and tells nobody anything. What tells
    /// somebody something is judged by what the run has read, so it waits for that.
    pub(crate) fn goes_beside(&self, request: &ToolCallRequest, context: &ToolContext) -> bool {
        self.tools.get(&request.tool).is_some_and(|tool| {
            tool.annotations(&request.arguments).read_only
                && !tool.sends_out(&request.arguments, context)
        })
    }

    /// What the person would be asked about a call that is not to be made now.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn question(
        &self,
        terms: &Terms,
        request: &ToolCallRequest,
        context: &ToolContext,
    ) -> Result<Option<Question>, GateError> {
        match self.judge(terms, request, context, ByHooks::default()).await? {
            Judged::Asks(question) => Ok(Some(*question)),
            Judged::Goes(..) | Judged::Refused(_) => Ok(None),
        }
    }

    /// Journals a call that is not made, and tells of it.
    pub(crate) async fn refuse(
        &self,
        request: &ToolCallRequest,
        context: &ToolContext,
        refused: Refused,
    ) -> Result<Called, StoreError> {
        let gate = Some(refused.decision(&self.safety));
        // What was refused did nothing, so doing it again is harmless.
        let step = NewStep { gate, ..self.step_of(request, context, None) };
        let step = self.store.begin_step(&step, self.clock.now()).await?;
        let output = self.refusal(&request.tool, refused.output).output;
        let end = end_of(StepStatus::Failed, &output, 0);
        self.store.end_step(&context.run_id, step, &end, self.clock.now()).await?;
        let kept = self.kept(&request.tool, &request.arguments);
        self.tell_of(&request.tool, kept, (&output, 0), context);
        Ok(Called {
            step,
            told: output.clone(),
            output,
            reached_tool: false,
            is_repeatable: true,
            refusal: Some(refused.why),
        })
    }

    /// Journals the beginning and uses up what allows the call; none when that allows nothing any more.
    async fn begin(
        &self,
        step: NewStep,
        permit: Option<&Permit>,
    ) -> Result<Option<u32>, StoreError> {
        let now = self.clock.now();
        match permit {
            None => self.store.begin_step(&step, now).await.map(Some),
            Some(permit) => self.store.begin_permitted_step(&step, permit, now).await,
        }
    }

    /// What a model is told of a call that stands in the journal.
    pub(crate) fn told_again(&self, step: &RunStep) -> ToolOutput {
        let value = step.output.clone().unwrap_or_default();
        let output = match step.is_error {
            true => ToolOutput { value, ..ToolOutput::error("") },
            false => ToolOutput::ok(value),
        };
        match self.tools.get(&step.name) {
            Some(tool) => {
                let spec = tool.spec();
                self.safety.incoming(&spec.name, spec.untrusted_output, output).told
            }
            None => output,
        }
    }

    /// The second half of a call: it is made, and its end is journalled.
    ///
    /// # Errors
    /// When the journal cannot be written, or `cancel` is cancelled while the tool works.
    pub(crate) async fn carry_out(
        &self,
        Begun { tool, call, step, does, confined, seat, was_shown }: Begun,
        context: &ToolContext,
        cancel: &CancellationToken,
    ) -> Result<Called, GateError> {
        let confined = confined.map(|sandbox| ToolContext { sandbox, ..context.clone() });
        let context = confined.as_ref().unwrap_or(context);
        let tool = tool.as_ref();
        let is_repeatable = does.is_repeatable();
        let began = self.clock.monotonic();
        let arguments = self.kept(&tool.spec().name, call.arguments());
        let estimate = tool.estimated_cost_micro_usd(call.arguments());
        let watched = self.watch_list(tool, does, context).await?;
        let ending = match self.with_secrets(tool, call) {
            Ok(call) => self.bounded(tool, call, context, cancel).await,
            Err(refusal) => Ending::Answered(*refusal),
        };
        self.look_at_list(watched, tool, was_shown, context).await?;
        let took = i64::try_from(self.clock.monotonic().saturating_sub(began).as_millis())
            .unwrap_or(i64::MAX);
        let cancelled = matches!(ending, Ending::Cancelled);
        let spec = tool.spec();
        let (status, output) = ending.outcome(spec, is_repeatable);
        let output = ToolOutput { value: flattened(output.value), ..output };
        let (name, from_outside) = (spec.name.clone(), spec.untrusted_output);
        let look = move |safety: &Safety| safety.incoming(&name, from_outside, output);
        let Incoming { output, told, signals, .. } = self.safety.apart(look).await;
        // What a tool does not say of a call is what it said before.
        let cost_micro_usd = output.cost_micro_usd.or(estimate);
        let (output, told) =
            (ToolOutput { cost_micro_usd, ..output }, ToolOutput { cost_micro_usd, ..told });
        self.store
            .end_step(&context.run_id, step, &end_of(status, &output, took), self.clock.now())
            .await?;
        drop(seat);
        self.note(&spec.name, &signals, context).await?;
        self.tell_of(&spec.name, arguments, (&output, took), context);
        if cancelled {
            return Err(GateError::Cancelled);
        }
        Ok(Called { step, output, told, reached_tool: true, is_repeatable, refusal: None })
    }

    /// The call with its limits: a run that is cancelled, a tool that takes too long or falls over. A call is over when
    /// what it has started is, or the next run of the job would begin beside it.
    async fn bounded(
        &self,
        tool: &dyn Tool,
        call: ApprovedCall,
        context: &ToolContext,
        cancel: &CancellationToken,
    ) -> Ending {
        let calling = AssertUnwindSafe(tool.call(call, context)).catch_unwind();
        let timed = tokio::time::timeout(tool.spec().call_for, calling);
        let ending = match cancel.run_until_cancelled(timed).await {
            None => Ending::Cancelled,
            Some(Err(_)) => Ending::TimedOut,
            Some(Ok(Err(_))) => Ending::Panicked,
            Some(Ok(Ok(output))) => Ending::Answered(output),
        };
        let loose = join_all(context.loose_ends.take());
        if tokio::time::timeout(LOOSE_ENDS_FOR, loose).await.is_err() {
            tracing::warn!(tool = %tool.spec().name, "what a call had left behind did not end in time");
        }
        ending
    }

    fn step_of(
        &self,
        request: &ToolCallRequest,
        context: &ToolContext,
        does: Option<Annotations>,
    ) -> NewStep {
        NewStep {
            call_id: Some(request.id.clone()),
            run_id: context.run_id.clone(),
            kind: StepKind::ToolCall,
            repeatable: does.is_none_or(Annotations::is_repeatable),
            name: request.tool.chars().take(200).collect(),
            input: self.kept(&request.tool, &request.arguments),
            gate: None,
        }
    }
}
