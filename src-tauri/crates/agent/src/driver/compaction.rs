//! Having the older part of a session summed up, so that its newest part fits beside it into what a model reads.
//!
//! Owns when that is done and what becomes of it: once before a run begins to talk, when what was said since the last
//! summary passes a share of what its model reads, also for a job, which is told less of it; by that model, without tools,
//! at most once a run. The summary is a row
//! of the transcript, so it is made once and told to every later run, until it is made again together with what has come
//! since. The call stands in the run's journal, counts on its budgets, and is not paid for twice: a run that goes on
//! after a break takes what the journal has of it. No hook is told.
//!
//! It refuses to fail a run. A model that fails, is slow, refuses or says nothing, and a budget that has no room for this
//! and the run itself, leave the session as it is, and the run is told what fits. A call in vain is paid for too, so it is
//! not made again before the session has grown by another half of what may be told. Runs that are not over are never summed
//! up, nor what came after they began: their calls still wait for results. Results themselves are in no summary.
//!
//! One could get it wrong by trusting it: what it was made of may quote somebody else, so it knows whether that can be,
//! is told between marks, and taints whoever is told it.

use std::time::Duration;

use rouse_core::RunId;
use rouse_core::message::{Message, ModelAnswer, StopReason};
use rouse_core::model::{ModelRequest, ProviderError, ProviderErrorKind};
use rouse_core::run::Usage;
use rouse_core::visible::shows_something;
use rouse_store::{
    IF_CUT_OFF, NewStep, RunStep, SkillText, StepEnd, StepKind, StepStatus, StoreError, Summary,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::bound::context_of;
use super::conversation::{Conversation, End};
use super::history::{Memory, Older, Share};
use super::used::{Question, Received};
use crate::models::ChosenModel;
use crate::money::{Refusal, Seat};
use crate::safety::Outside;

const SUMMARY: &str = include_str!("../../prompts/summary.md");

/// What is remembered may fill this part of what a model reads: the rest is for the task, the tools and their results.
const SHARE: usize = 4;

/// The most tokens of a job's earlier runs, however large the context window is: they are paid for with each answer.
const MOST_TOKENS: usize = 8_000;

/// The most tokens of the main session's history, with the calls and results in it.
const MAIN_TOKENS: usize = 32_000;

/// The most of it for a job, beside its newest run: a small job stays cheap, however often it has run.
const JOB_TOKENS: usize = 80;

/// The most bytes of what is summed up, and the part of what a model reads that they may fill.
const MOST_RECORD: usize = 48 << 10;
const RECORD_SHARE: usize = 2;

/// The most characters that are kept of a summary.
const MOST_CHARACTERS: usize = 4_000;

/// The most words that are asked for; eight bytes are enough for one.
const MOST_WORDS: usize = 400;

/// The most tokens of the answer: some models think aloud before the four hundred words.
const MOST_ANSWER: u32 = 2_000;

/// How long a summary may take, where the run's own limit leaves so much.
pub(super) const SUMMARY_FOR: Duration = Duration::from_secs(120);

/// What a run is told of its session, and what that has cost.
pub(super) struct Recalled {
    pub(super) messages: Vec<Message>,
    pub(super) usage: Usage,
    /// The untrusted skill texts that the session has read.
    pub(super) skill_texts: Vec<SkillText>,
}

impl Conversation<'_> {
    /// What the session said before this run; a run that `begins` has its older part summed up where it is too much.
    pub(super) async fn recall(&mut self, begins: bool) -> Result<Recalled, End> {
        let (driver, run) = (self.driver, &self.context.run_id);
        let mut memory = Memory::of(&driver.store, self.session, run, self.context.zone).await?;
        let share = self.share();
        let mut usage = Usage::NONE;
        if let Some(older) = memory.too_much_for(share.newest).filter(|_| begins)
            && let Some(spent) = self.sum_up(&memory, older, share.newest).await?
        {
            usage = spent;
            memory = Memory::of(&driver.store, self.session, run, self.context.zone).await?;
        }
        self.terms.knows_outside |= memory.summary().is_some_and(|summary| summary.from_outside);
        let skill_texts = self.inherit().await?;
        Ok(Recalled { messages: memory.told(share, driver.gate.safety()), usage, skill_texts })
    }

    /// Whoever is told what a session said knows what it has read. It is asked after that was read: another run of the
    /// session may have ended while this one began. Answers the untrusted skill texts of the session.
    async fn inherit(&mut self) -> Result<Vec<SkillText>, StoreError> {
        self.terms.knows_outside |= self.driver.remembers_outside(self.session).await?;
        let Some(shelf) = &self.driver.skills else { return Ok(Vec::new()) };
        let remembered = shelf.remembered(self.session).await?;
        let policy = self.terms.policy.clone().having_read(remembered.names);
        let offered = self.driver.gate.tools().offered(&policy);
        self.offered.retain(|tool| offered.iter().any(|left| left.name == tool.name));
        self.terms.policy = policy;
        Ok(remembered.texts)
    }

    /// The tokens that remembering may cost.
    fn share(&self) -> Share {
        let is_of_job = self.session.job_id().is_some();
        let most = if is_of_job { MOST_TOKENS } else { MAIN_TOKENS };
        let newest = (self.context_tokens() / SHARE).min(most);
        Share { all: if is_of_job { newest.min(JOB_TOKENS) } else { newest }, newest }
    }

    /// The most bytes of a summary, four of which are a token: a quarter of the share, and of a job's own what it has.
    fn most_of_summary(&self) -> usize {
        let share = self.share();
        (share.all * 4).min(share.newest)
    }

    fn context_tokens(&self) -> usize {
        let context =
            self.models.first().and_then(|model| model.provider.context_tokens(&model.model));
        context_of(context) as usize
    }

    /// Has it summed up; what that has cost, when something was asked.
    async fn sum_up(
        &self,
        memory: &Memory,
        older: Older<'_>,
        most: usize,
    ) -> Result<Option<Usage>, StoreError> {
        if let Some(step) = self.journal.summary() {
            return self.keep_earlier(memory, step).await;
        }
        let model = self.models.first().filter(|it| self.refused_for_its_price(it).is_none());
        let Some(model) = model else { return Ok(None) };
        if self.has_just_failed(memory, most).await? {
            return Ok(None);
        }
        let Some(older) = self.without_open(older).await? else { return Ok(None) };
        let from_outside = self.is_from_outside(&older).await?;
        // What earlier summaries and runs have read is among them.
        let skills = self.terms.policy.untrusted_skills().to_vec();
        let made_by = self.context.run_id.clone();
        let Some(to_make) = older.to_make(made_by, from_outside, skills) else { return Ok(None) };
        let request = self.request_for(model, &older);
        let Some(seat) = self.seat_for(model, &request).await? else { return Ok(None) };
        self.ask_for(model, request, to_make, seat).await.map(Some)
    }

    /// What was summed up before a break is kept now, when the journal has it; what came to no end then is not tried again.
    async fn keep_earlier(
        &self,
        memory: &Memory,
        step: &RunStep,
    ) -> Result<Option<Usage>, StoreError> {
        let text = step.output.as_ref().and_then(|output| output.get("text")?.as_str());
        let text = text.filter(|_| step.status == StepStatus::Finished);
        let made = serde_json::from_value::<Summary>(step.input.clone()).ok();
        let is_new = |made: &Summary| memory.summary().is_none_or(|known| known.until < made.until);
        let (Some(text), Some(made)) = (text, made.filter(is_new)) else { return Ok(None) };
        self.keep_summary(Summary { text: text.to_owned(), ..made }).await?;
        Ok(Some(Usage::NONE))
    }

    /// Whether one was asked for in vain, and the session has not grown by another half of `most` tokens since.
    async fn has_just_failed(&self, memory: &Memory, most: usize) -> Result<bool, StoreError> {
        self.driver.store.any_asked_in_vain(&memory.runs_of_newest(most / 2)).await
    }

    /// What stands before the first run that is not over.
    async fn without_open<'m>(&self, older: Older<'m>) -> Result<Option<Older<'m>>, StoreError> {
        let standing = self.driver.store.standing_of(&older.runs()).await?;
        let open = standing.into_iter().filter(|(_, (_, state))| !state.is_final());
        let open: Vec<RunId> = open.map(|(run, _)| run).collect();
        Ok(older.before(&open))
    }

    async fn is_from_outside(&self, older: &Older<'_>) -> Result<bool, StoreError> {
        let (store, outside) = (&self.driver.store, self.driver.gate.tools().outside());
        Ok(self.driver.remembers_outside(self.session).await?
            || store.any_has_called(&older.runs(), &outside).await?)
    }

    /// The record stands between marks, whoever wrote it: here it is never more than information.
    fn request_for(&self, model: &ChosenModel, older: &Older<'_>) -> ModelRequest {
        let context = self.context_tokens();
        let record = older.record((context / RECORD_SHARE * 3).min(MOST_RECORD));
        let told = self.driver.gate.safety().incoming_text(Outside::Record, &record).told;
        let answer = u32::try_from(context / SHARE).unwrap_or(u32::MAX);
        let words = (self.most_of_summary() / 8).min(MOST_WORDS);
        ModelRequest {
            model: model.model.clone(),
            system: SUMMARY.replace("{words}", &words.to_string()),
            messages: vec![Message::User { text: told }],
            tools: Vec::new(),
            max_tokens: Some(MOST_ANSWER.min(answer)),
            effort: None,
        }
    }

    /// A seat, when all budgets have room for this and as much again for the run itself.
    async fn seat_for(
        &self,
        model: &ChosenModel,
        request: &ModelRequest,
    ) -> Result<Option<Seat>, StoreError> {
        let (asked, most) = (Question::of(request), request.max_tokens);
        let once = self.may_use(model, asked, most);
        if !self.account.has_room_for(once.plus(once)).await? {
            return Ok(None);
        }
        match self.account.admit(self.wanted(model, asked, most), self.cancel).await {
            // What has landed meanwhile may have used that room.
            Ok((seat, rests)) => {
                let room = self.answer_room(model, asked, most, &rests);
                Ok(Some(seat).filter(|_| room.max_tokens == most))
            }
            Err(Refusal::Budget(_) | Refusal::Cancelled) => Ok(None),
            Err(Refusal::Store(error)) => Err(error),
        }
    }

    /// Asks, in the journal from its beginning to its end, and keeps what comes of it.
    async fn ask_for(
        &self,
        model: &ChosenModel,
        request: ModelRequest,
        to_make: Summary,
        seat: Seat,
    ) -> Result<Usage, StoreError> {
        let (store, clock, run) = (&self.driver.store, &self.driver.clock, &self.context.run_id);
        let (asked, received) = (Question::of(&request), Received::default());
        let mut input = journalled(&to_make, model);
        input[IF_CUT_OFF] = self.if_cut_off(model, asked);
        let step = NewStep {
            gate: None,
            call_id: None,
            run_id: run.clone(),
            kind: StepKind::Summary,
            name: model.model.clone(),
            repeatable: true,
            input,
        };
        let seq = store.begin_step(&step, clock.now()).await?;
        let began = clock.monotonic();
        let answered = self.answer_to(model, request, &received).await;
        let took = clock.monotonic().saturating_sub(began).as_millis();
        let (answered, used) = self.used(model, asked, answered, &received);
        let text = answered.map_err(|end| end.to_string()).and_then(|it| self.words_of(&it));
        let end = StepEnd {
            status: if text.is_ok() { StepStatus::Finished } else { StepStatus::Failed },
            output: Some(used.marked(match &text {
                Ok(text) => json!({ "text": text, "model": model.model }),
                Err(why) => json!({ "error": why }),
            })),
            is_error: false,
            usage: used.usage,
            duration_ms: i64::try_from(took).ok(),
        };
        store.end_step(run, seq, &end, clock.now()).await?;
        drop(seat);
        match text {
            Ok(text) => self.keep_summary(Summary { text, ..to_make }).await?,
            Err(why) => tracing::info!(run_id = %run, why, "no summary of the session was made"),
        }
        Ok(used.usage)
    }

    /// Nobody is shown the words on their way: they are no answer.
    async fn answer_to(
        &self,
        model: &ChosenModel,
        request: ModelRequest,
        received: &Received,
    ) -> Result<ModelAnswer, End> {
        let on_delta = |delta| received.add(&delta);
        let asking = timeout(self.summary_for, model.provider.stream(request, &on_delta));
        let too_long = || {
            End::Provider(ProviderError::new(ProviderErrorKind::Unanswered, "It took too long."))
        };
        match self.cancel.run_until_cancelled(asking).await {
            None => Err(End::Cancelled),
            Some(Err(_)) => Err(too_long()),
            Some(Ok(answered)) => Ok(answered?),
        }
    }

    /// The summary in an answer, without anything that looks like a secret.
    fn words_of(&self, answer: &ModelAnswer) -> Result<String, String> {
        if answer.stop == StopReason::Refusal {
            return Err("The model's provider refused to answer.".to_owned());
        }
        let text = answer.text();
        let text = self.driver.gate.safety().redacted(&text).unwrap_or(text);
        let text: String = text.trim().chars().take(MOST_CHARACTERS).collect();
        let text = text[..text.floor_char_boundary(self.most_of_summary())].to_owned();
        if shows_something(&text) { Ok(text) } else { Err("The model said nothing.".to_owned()) }
    }

    async fn keep_summary(&self, summary: Summary) -> Result<(), StoreError> {
        let (store, now) = (&self.driver.store, self.driver.clock.now());
        store.add_summary(self.session, summary, now).await
    }
}

/// What the journal has of it before it is made: all but the words, so that it can be kept after a break.
fn journalled(to_make: &Summary, model: &ChosenModel) -> Value {
    let mut input = json!(to_make);
    input["provider"] = model.provider.name().into();
    input
}
