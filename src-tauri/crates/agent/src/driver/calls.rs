//! The calls of one answer of the model.
//!
//! Owns what goes beside what: calls that change nothing and tell nobody anything are carried out at the same time, a
//! few at once; any other waits for all before it, and all after it wait for it. Each still goes through the gate by
//! itself and in its turn, so the journal, the questions and the counts are those of one call after the other, and only
//! the work itself overlaps. The results are told in the order of the calls.
//!
//! What is asked for after the run was ended is not carried out, and what comes after a call that waits for a person may
//! build on it: it is only looked at for further questions. One could get it wrong by leaving with an error while calls
//! are begun and not carried out: the journal would not know how they ended.

use futures_util::{StreamExt as _, stream};
use rouse_core::DeliveryId;
use rouse_core::approval::Approval;
use rouse_core::decide::title_by_job;
use rouse_core::delivery::{Channel, Delivery, NewDelivery};
use rouse_core::message::ToolCallRequest;
use rouse_core::tool::{LooseEnds, ToolContext, ToolEffect, ToolOutput};
use rouse_core::words::without_marks;
use rouse_store::{Note, RunStep, StepStatus};
use serde_json::{Value, json};

use super::conversation::{Conversation, End, MOST_QUESTIONS};
use super::resume::{Earlier, KEPT_CALLS, LOST_CALLS, nobody_knows};
use crate::gate::{Admission, Begun, Called, Lost, Passage, Question, Terms};
use crate::safety::Written;

/// Notifications that one run may send by itself.
const MOST_NOTIFICATIONS: usize = 3;
/// What the digest of all further ones says.
const MORE: &str = "This run has more to tell. Open it to read the rest.";

/// Calls that are carried out at the same time.
const AT_ONCE: usize = 8;

/// The questions of one answer of the model, all asked at once.
#[derive(Default)]
struct Questions {
    asks: Vec<Approval>,
}

impl Questions {
    fn are_none(&self) -> bool {
        self.asks.is_empty()
    }

    /// Adds one, unless it was asked already or the run would ask too often; then its call asks when it comes to it.
    fn add(&mut self, question: Option<Question>) {
        let Some(Question { approval, asked_before, .. }) = question else { return };
        let is_new = self.asks.iter().all(|asked| asked.fingerprint != approval.fingerprint);
        if is_new && asked_before + self.asks.len() < MOST_QUESTIONS {
            self.asks.push(approval);
        }
    }
}

/// A call of an answer, as the model had written it, or why that cannot be had.
struct Coming {
    request: ToolCallRequest,
    lost: Option<Lost>,
}

/// How far the calls of one answer are.
#[derive(Default)]
struct Round {
    /// In the order of the calls; what is not there yet is begun.
    results: Vec<(ToolCallRequest, Option<ToolOutput>)>,
    /// What is begun and not carried out, with its place among the results.
    begun: Vec<(usize, Begun)>,
    questions: Questions,
    is_over: bool,
}

impl Round {
    fn tell(&mut self, call: ToolCallRequest, told: ToolOutput) {
        self.results.push((call, Some(told)));
    }
}

impl Conversation<'_> {
    /// Calls the tools, with their arguments as the model has `written` them; answers every result, in order.
    pub(super) async fn call_all(
        &self,
        calls: Vec<ToolCallRequest>,
        written: &Written,
    ) -> Result<Vec<(ToolCallRequest, ToolOutput)>, End> {
        let mut round = Round::default();
        for call in &calls {
            let coming = self.coming(call, written).await;
            let goes_beside = coming.lost.is_none() && self.goes_beside(&coming.request);
            if !goes_beside {
                self.carry_out(&mut round).await?;
            }
            let taken = self.take(&mut round, coming).await;
            if taken.is_err() || !goes_beside || !round.questions.are_none() {
                self.carry_out(&mut round).await?;
            }
            if let Err(End::OverLimit { .. }) = taken {
                self.keep_values(&calls[round.results.len()..], written).await?;
            }
            taken?;
        }
        self.carry_out(&mut round).await?;
        if !round.questions.are_none() {
            self.keep_values(&calls[round.results.len()..], written).await?;
            return Err(End::Asks(round.questions.asks));
        }
        let results = round.results.into_iter();
        let told = results.map(|(_, told)| told.expect("BUG: all are carried out"));
        Ok(calls.into_iter().zip(told).collect())
    }

    /// A call as the model has written it just now, or as it comes out of the transcript, with what was kept of it when the
    /// run began to wait.
    async fn coming(&self, call: &ToolCallRequest, written: &Written) -> Coming {
        let found = match (written.get(&call.id), self.journal.kept(call)) {
            (Some(arguments), _) => Ok(arguments.clone()),
            (None, Some(kept)) => self.driver.gate.as_written(call, kept).await,
            (None, None) => self.journal.lost(call).map_or_else(|| Ok(call.arguments.clone()), Err),
        };
        let as_told = || call.arguments.clone();
        let (arguments, lost) = found.map_or_else(|lost| (as_told(), Some(lost)), |it| (it, None));
        Coming { request: ToolCallRequest { arguments, ..call.clone() }, lost }
    }

    /// Keeps what the run will not know of its `waiting` calls any more when it goes on, by handles or in memory, and which
    /// of them cannot be kept.
    async fn keep_values(&self, waiting: &[ToolCallRequest], written: &Written) -> Result<(), End> {
        let (mut kept, mut lost) = (serde_json::Map::new(), serde_json::Map::new());
        // What a run ends with is kept with the marks in any case.
        for call in waiting.iter().filter(|call| call.tool != "complete_run") {
            let Some(arguments) = written.get(&call.id).cloned() else { continue };
            let request = ToolCallRequest { arguments, ..call.clone() };
            match self.driver.gate.kept_by_stand_ins(&request, self.context).await {
                Some(stand_ins) => kept.insert(call.id.clone(), json!(stand_ins)),
                // Made as the transcript has it, it would work with a mark in the place of the value.
                None => lost.insert(call.id.clone(), call.tool.clone().into()),
            };
        }
        for (name, calls) in [(KEPT_CALLS, kept), (LOST_CALLS, lost)] {
            if !calls.is_empty() {
                let run_id = &self.context.run_id;
                let note =
                    Note { run_id, name, input: calls.into(), output: None, is_error: false };
                self.driver.store.note(note, self.driver.clock.now()).await?;
            }
        }
        Ok(())
    }

    fn goes_beside(&self, call: &ToolCallRequest) -> bool {
        call.tool != "complete_run" && self.driver.gate.goes_beside(call, self.context)
    }

    /// Takes one more call as far as its beginning.
    async fn take(&self, round: &mut Round, coming: Coming) -> Result<(), End> {
        let Coming { request: call, lost } = coming;
        if !round.questions.are_none() {
            if lost.is_none() {
                round.questions.add(self.question(&call).await?);
            }
            return Ok(());
        }
        if round.is_over {
            let told = ToolOutput::error("Not carried out: complete_run had ended the run before.");
            round.tell(call, told);
            return Ok(());
        }
        match (self.journal.earlier(&call), lost) {
            (Earlier::Done(step), _) => {
                let told = self.told_again(&step).await?;
                round.tell(call, told);
            }
            (Earlier::Unknown, _) => {
                let told = nobody_knows(&call.tool);
                round.tell(call, told);
            }
            (Earlier::ToDo, Some(lost)) => {
                let gate = &self.driver.gate;
                let refused = gate.refuse_lost(&self.terms, &call, &lost, self.context).await?;
                round.tell(call, refused.told);
            }
            (Earlier::ToDo, None) => self.admit(round, call).await?,
        }
        Ok(())
    }

    async fn admit(&self, round: &mut Round, call: ToolCallRequest) -> Result<(), End> {
        if self.cancel.is_cancelled() {
            return Err(End::Cancelled);
        }
        match self.driver.gate.admit(&self.terms, &call, self.context).await? {
            Admission::Begun(begun) => {
                // A hook has made another call of it.
                if !begun.only_reads() {
                    self.carry_out(round).await?;
                }
                round.begun.push((round.results.len(), *begun));
                round.results.push((call, None));
            }
            Admission::Refused(called) => round.tell(call, called.told),
            Admission::Asks(question) if question.asked_before >= MOST_QUESTIONS => {
                return Err(End::AskedTooOften(question));
            }
            Admission::Asks(question) => round.questions.add(Some(*question)),
            Admission::OverLimit { wait, .. } => {
                return Err(End::OverLimit { tool: call.tool, wait });
            }
        }
        Ok(())
    }

    /// Carries out what is begun. All of it comes to its end, also when one does not end well.
    async fn carry_out(&self, round: &mut Round) -> Result<(), End> {
        let begun = std::mem::take(&mut round.begun);
        let work = begun.into_iter().map(|(place, begun)| async move {
            // What one call has left behind is not for another to wait for.
            let context = ToolContext { loose_ends: LooseEnds::default(), ..self.context.clone() };
            (place, self.driver.gate.carry_out(begun, &context, self.cancel).await)
        });
        let ended: Vec<_> = stream::iter(work).buffered(AT_ONCE).collect().await;
        for (place, called) in ended {
            let called = called?;
            self.see_to(&called).await?;
            round.is_over |= matches!(called.output.effect, Some(ToolEffect::Complete { .. }));
            round.results[place].1 = Some(called.told);
        }
        Ok(())
    }

    /// What would be asked about a call that is not made now.
    async fn question(&self, call: &ToolCallRequest) -> Result<Option<Question>, End> {
        if !matches!(self.journal.earlier(call), Earlier::ToDo) {
            return Ok(None);
        }
        Ok(self.driver.gate.question(&self.terms, call, self.context).await?)
    }

    /// One call by itself.
    pub(super) async fn pass(&self, terms: &Terms, call: &ToolCallRequest) -> Result<Passage, End> {
        if self.cancel.is_cancelled() {
            return Err(End::Cancelled);
        }
        Ok(self.driver.gate.call(terms, call, self.context, self.cancel).await?)
    }

    /// Does what the call asks of the run.
    async fn see_to(&self, called: &Called) -> Result<(), End> {
        match &called.output.effect {
            Some(ToolEffect::Notify { title, body }) => {
                self.notify(called.step, title.as_deref(), body).await
            }
            Some(ToolEffect::Complete { .. }) | None => Ok(()),
        }
    }

    /// The outcome of a call that was made before a break, as the model would have been told it.
    async fn told_again(&self, step: &RunStep) -> Result<ToolOutput, End> {
        let text = |key: &str| step.input.get(key).and_then(Value::as_str);
        if let ("notify", StepStatus::Finished, Some(body)) =
            (step.name.as_str(), step.status, text("body"))
        {
            self.notify(step.seq, text("title"), body).await?;
        }
        Ok(self.driver.gate.told_again(step))
    }

    /// Puts a notification into the outbox under a key made of the run and the step, so that it is there once. A run has
    /// [`MOST_NOTIFICATIONS`]; one digest stands for all that follow, which the run shows.
    async fn notify(&self, step: u32, title: Option<&str>, body: &str) -> Result<(), End> {
        let run = &self.context.run_id;
        let (own, digest) = (format!("{run}-{step}"), format!("{run}-more"));
        let sent = self.driver.store.deliveries_of(run).await?;
        let is_there = |key: &str| sent.iter().any(|delivery| delivery.id.as_str() == key);
        // Questions of the run have keys of another form.
        let by_tool = |delivery: &&Delivery| delivery.id.as_str().starts_with(&format!("{run}-"));
        let is_over = sent.iter().filter(by_tool).count() >= MOST_NOTIFICATIONS;
        if is_there(&own) || (is_over && is_there(&digest)) {
            return Ok(());
        }
        let (key, title, body) = match is_over {
            true => (digest, None, MORE.to_owned()),
            false => (own, title.map(without_marks), without_marks(body)),
        };
        let delivery = NewDelivery {
            id: DeliveryId::new(key),
            channel: Channel::Notification,
            to: None,
            title: title_by_job(&self.context.job_name, title.as_deref()),
            body,
            quiet_hours: self.quiet_hours.clone(),
        };
        Ok(self
            .driver
            .store
            .enqueue_delivery(Some(run), &delivery, self.driver.clock.now())
            .await?)
    }
}
