//! What a coding agent has reported about its task: actions, text and cost.
//!
//! Owns the bounds: an agent may report without end. Never stores what an action read or wrote; its title is enough for
//! the run page. Pitfall: text of the agent is untrusted input; the gate fences the output, and every title is one line.

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, SessionUpdate, ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate,
};
use rouse_core::text::{first_line, strip_invisible};
use serde_json::{Value, json};

/// The most actions in a result; the newest stay.
const MAX_STEPS: usize = 200;

/// The most bytes of the agent's last message.
const MAX_MESSAGE_BYTES: usize = 48 << 10;

/// The most characters of a title.
const MAX_TITLE: usize = 200;

const MICRO_USD: f64 = 1_000_000.0;

/// The report of a task.
#[derive(Default)]
pub(super) struct TaskRecord {
    /// The actions since the last report.
    steps: Vec<ToolCall>,
    /// The titles of the actions of earlier reports, also in earlier processes.
    earlier_titles: Vec<String>,
    /// The number of actions that were dropped.
    dropped: usize,
    /// The agent's message since the last action.
    message: String,
    /// The last message before it.
    earlier_message: String,
    /// The cost of the session so far, and the part that earlier results had.
    cost_micro_usd: Option<u64>,
    reported_micro_usd: u64,
}

impl TaskRecord {
    /// Takes an update. Returns a line for the people who watch the run.
    pub(super) fn apply(&mut self, update: SessionUpdate) -> Option<String> {
        match update {
            SessionUpdate::AgentMessageChunk(ContentChunk { content, .. }) => {
                if let ContentBlock::Text(text) = content {
                    self.add_text(&text.text);
                }
                None
            }
            SessionUpdate::ToolCall(call) => {
                let title = title_of(&call.title);
                self.begin_step(call);
                Some(title)
            }
            SessionUpdate::ToolCallUpdate(update) => {
                self.update_step(update);
                None
            }
            SessionUpdate::UsageUpdate(usage) => {
                let cost = usage.cost.filter(|cost| cost.currency == "USD");
                self.cost_micro_usd =
                    cost.map(|cost| micro_usd(cost.amount)).or(self.cost_micro_usd);
                None
            }
            _ => None,
        }
    }

    /// The action of a permission request with all that the agent has reported about it.
    pub(super) fn merged(&self, update: &ToolCallUpdate) -> ToolCall {
        let mut call = match self.step(&update.tool_call_id) {
            Some(call) => call.clone(),
            None => ToolCall::new(update.tool_call_id.clone(), "An action without a title"),
        };
        call.update(update.fields.clone());
        call
    }

    /// Adds an action that Rouse refused.
    pub(super) fn add_refused(&mut self, title: &str) {
        let mut call = ToolCall::new("refused", title.to_owned());
        call.status = ToolCallStatus::Failed;
        self.begin_step(call);
    }

    /// The titles of all actions of the task; the newest stay.
    pub(super) fn titles(&self) -> Vec<String> {
        let titles = self.steps.iter().map(|step| title_of(&step.title));
        let mut titles: Vec<String> = self.earlier_titles.iter().cloned().chain(titles).collect();
        titles.drain(..titles.len().saturating_sub(MAX_STEPS));
        titles
    }

    /// The agent's last message.
    pub(super) fn message(&self) -> &str {
        let message = self.message.trim();
        if message.is_empty() { self.earlier_message.trim() } else { message }
    }

    /// The report as JSON; begins the next report.
    pub(super) fn take_report(&mut self) -> Value {
        self.earlier_titles = self.titles();
        let steps: Vec<Value> = self.steps.drain(..).map(|step| step_view(&step)).collect();
        let dropped = std::mem::take(&mut self.dropped);
        let message = self.message().to_owned();
        json!({ "result": message, "steps": steps, "earlierSteps": dropped })
    }

    /// The cost since the last report.
    pub(super) fn take_cost(&mut self) -> Option<u64> {
        let total = self.cost_micro_usd?;
        let cost = total.saturating_sub(self.reported_micro_usd);
        self.reported_micro_usd = total;
        Some(cost)
    }

    /// Replaces what a loaded session has replayed by the titles of the earlier reports.
    pub(super) fn resume(&mut self, earlier_titles: Vec<String>) {
        let cost_micro_usd = self.cost_micro_usd;
        let reported_micro_usd = cost_micro_usd.unwrap_or_default();
        *self = Self { earlier_titles, cost_micro_usd, reported_micro_usd, ..Self::default() };
    }

    fn add_text(&mut self, text: &str) {
        let room = MAX_MESSAGE_BYTES.saturating_sub(self.message.len());
        self.message.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn begin_step(&mut self, call: ToolCall) {
        if !self.message.trim().is_empty() {
            self.earlier_message = std::mem::take(&mut self.message);
        }
        if self.steps.len() == MAX_STEPS {
            self.steps.remove(0);
            self.dropped += 1;
        }
        self.steps.push(call);
    }

    fn update_step(&mut self, update: ToolCallUpdate) {
        let step = self.steps.iter_mut().find(|step| step.tool_call_id == update.tool_call_id);
        if let Some(step) = step {
            step.update(update.fields);
        }
    }

    fn step(&self, id: &ToolCallId) -> Option<&ToolCall> {
        self.steps.iter().rfind(|step| step.tool_call_id == *id)
    }
}

fn step_view(step: &ToolCall) -> Value {
    json!({ "title": title_of(&step.title), "kind": step.kind, "status": step.status })
}

/// A title on one line.
pub(super) fn title_of(title: &str) -> String {
    let title = first_line(title, MAX_TITLE, strip_invisible);
    if title.is_empty() { "An action without a title".to_owned() } else { title }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounded before the cast"
)]
fn micro_usd(amount: f64) -> u64 {
    (amount.clamp(0.0, 1e9) * MICRO_USD).round() as u64
}
