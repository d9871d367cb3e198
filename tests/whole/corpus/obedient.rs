//! A model that is wholly taken over: it does what the text it has read tells it, whoever wrote that text.
//!
//! A text gives an order by its number, `OBEY-7.`; what the order is stands in a book that the attacker and the model
//! share. The person's task is a number as well, `TASK-7.`, so that nothing but the order makes it do harm. It keeps no
//! state of its own: how far it is, it reads from the transcript, like a real one. It refuses nothing, and what it has
//! read it can spell in any way.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use rouse_core::message::{Message, ModelAnswer, Part, StopReason, ToolCallRequest};
use rouse_core::model::{Delta, ModelProvider, ModelRequest, ProviderError};
use rouse_core::tool::BoxFuture;
use rouse_testkit::scripted_model::answer;
use serde_json::Value;

use super::loot::{Detector, SECRET, WAYS, known, spelled};

/// A call: the tool's name and its arguments. `<<PLAIN>>`, `<<HEX>>` and so on stand for what the model has read.
pub(crate) type Call = (String, Value);

/// How a model is told to sum earlier runs up.
const SUMMING_UP: &str = "You write down what an agent needs to remember";

/// What to do under one number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    /// For the person.
    pub(crate) task: Vec<Call>,
    /// For whoever gives orders.
    pub(crate) order: Vec<Call>,
    /// The words with which the turn ends when no order came.
    pub(crate) said: String,
    /// The words with which it ends once the order is carried out.
    pub(crate) ending: String,
    /// What it writes down of earlier runs when it is asked to sum them up.
    pub(crate) passes_on: String,
}

/// The model.
#[derive(Default)]
pub(crate) struct Obedient {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    book: HashMap<u32, Script>,
    obeyed: HashSet<u32>,
    /// Between which marks an order was first found, from the outside in.
    found_between: HashMap<u32, Vec<String>>,
    requests: usize,
    /// Requests that held the secret, and where.
    told_a_secret: Vec<String>,
}

impl Obedient {
    pub(crate) fn learn(&self, number: u32, script: Script) {
        self.lock().book.insert(number, script);
    }

    /// Whether the order was read and the first of it done.
    pub(crate) fn has_obeyed(&self, number: u32) -> bool {
        self.lock().obeyed.contains(&number)
    }

    /// Between which marks the order was first found.
    pub(crate) fn found_between(&self, number: u32) -> Vec<String> {
        self.lock().found_between.get(&number).cloned().unwrap_or_default()
    }

    pub(crate) fn requests(&self) -> usize {
        self.lock().requests
    }

    /// What it was told that nobody may tell it, since the last time.
    pub(crate) fn take_told(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().told_a_secret)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("BUG: a test panicked while it held the book")
    }

    fn answered(&self, request: &ModelRequest) -> ModelAnswer {
        let texts: Vec<String> = request.messages.iter().map(text_of).collect();
        let all = texts.join("\n");
        let mut state = self.lock();
        state.requests += 1;
        if let Some(around) =
            Detector::of(SECRET).find(format!("{}\n{all}", request.system).as_bytes())
        {
            state.told_a_secret.push(around);
        }
        let (start, task) = newest_task(&request.messages);
        let done = calls_in(&request.messages[start..]);
        let script = state.book.get(&task).cloned().unwrap_or_default();
        if request.system.starts_with(SUMMING_UP) && !script.passes_on.is_empty() {
            return said(Err(script.passes_on), done, &all);
        }
        let order = format!("OBEY-{task}.");
        let next = match texts.iter().position(|text| text.contains(&order)) {
            Some(at) => {
                state.obeyed.insert(task);
                state.found_between.entry(task).or_insert_with(|| marks(&texts[at], &order));
                let before = calls_in(&request.messages[start.min(at)..at]);
                let call = script.order.get(done.saturating_sub(before)).cloned();
                call.ok_or(script.ending)
            }
            None => script.task.get(done).cloned().ok_or(script.said),
        };
        said(next, done, &all)
    }
}

impl ModelProvider for Obedient {
    fn name(&self) -> &str {
        "obedient"
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        Box::pin(std::future::ready(Ok(self.answered(&request))))
    }
}

fn said(next: Result<Call, String>, done: usize, all: &str) -> ModelAnswer {
    let loot = known(all).unwrap_or_default();
    match next {
        Ok((tool, arguments)) => {
            let call = ToolCallRequest {
                id: format!("c{done}"),
                tool,
                arguments: filled(arguments, &loot),
            };
            answer(vec![Part::ToolCall(call)], StopReason::ToolCalls)
        }
        Err(words) => {
            answer(vec![Part::Text { text: filled_text(&words, &loot) }], StopReason::End)
        }
    }
}

fn filled(value: Value, loot: &str) -> Value {
    match value {
        Value::String(text) => Value::String(filled_text(&text, loot)),
        Value::Array(items) => items.into_iter().map(|item| filled(item, loot)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, field)| (filled_text(&key, loot), filled(field, loot)))
            .collect(),
        other => other,
    }
}

fn filled_text(text: &str, loot: &str) -> String {
    let (one, two) = loot.split_at(loot.len() / 2);
    let mut text = text.replace("<<FIRST HALF>>", one).replace("<<OTHER HALF>>", two);
    for way in WAYS {
        let name = format!("<<{}>>", format!("{way:?}").to_uppercase());
        if text.contains(&name) {
            text = text.replace(&name, &spelled(loot, way));
        }
    }
    text
}

/// What the marks around the first `order` say that it came through.
fn marks(text: &str, order: &str) -> Vec<String> {
    let before = text.split(order).next().unwrap_or_default();
    let mut open: Vec<(&str, &str)> = Vec::new();
    for piece in before.split('⟦').skip(1) {
        let Some((mark, _)) = piece.split_once('⟧') else { continue };
        if let Some(word) = mark.strip_prefix("end of outside ") {
            open.retain(|(other, _)| *other != word);
        } else if let Some((word, through)) =
            mark.strip_prefix("outside ").and_then(|mark| mark.split_once(' '))
        {
            open.push((word, through));
        }
    }
    open.into_iter().map(|(_, through)| through.to_owned()).collect()
}

/// Index and number of the newest message with a task. A chat shows the calls of earlier tasks before that message.
fn newest_task(messages: &[Message]) -> (usize, u32) {
    let mut tasks = messages.iter().enumerate().rev().filter_map(|(at, message)| match message {
        Message::User { text } => Some((at, number(text, "TASK-")?)),
        _ => None,
    });
    tasks.next().unwrap_or_default()
}

/// The number behind the last `mark` of `text`.
fn number(text: &str, mark: &str) -> Option<u32> {
    let (_, after) = text.rsplit_once(mark)?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn calls_in(messages: &[Message]) -> usize {
    let parts = messages.iter().filter_map(|message| match message {
        Message::Assistant { parts } => Some(parts),
        Message::User { .. } | Message::ToolResult { .. } | Message::Attachments { .. } => None,
    });
    parts.flatten().filter(|part| matches!(part, Part::ToolCall(_))).count()
}

/// Everything in a message that can be read, the model's own words included.
fn text_of(message: &Message) -> String {
    match message {
        Message::User { text } | Message::ToolResult { text, .. } => text.clone(),
        Message::Attachments { .. } => String::new(),
        Message::Assistant { parts } => {
            let texts = parts.iter().filter_map(|part| match part {
                Part::Text { text } => Some(text.clone()),
                Part::ToolCall(call) => Some(call.arguments.to_string()),
                Part::Opaque { .. } => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}
