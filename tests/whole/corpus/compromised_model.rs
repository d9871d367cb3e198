//! A compromised model follows every instruction in the input.
//!
//! A text injects by number, `OBEY-7.`, and the calls of that number are shared with the attacker. The task of the
//! person is a number too, `TASK-7.`, so that only the injection does harm. The model is stateless: it derives its
//! progress from the transcript. It refuses nothing and encodes what it has read in any way.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use rouse_core::message::{Message, ModelAnswer, Part, StopReason, ToolCallRequest};
use rouse_core::model::{Delta, ModelProvider, ModelRequest, ProviderError};
use rouse_core::tool::BoxFuture;
use rouse_testkit::scripted_model::answer;
use serde_json::Value;

use super::sensitive_data::{ENCODINGS, LeakDetector, SECRET, encode, unscramble};

/// A tool name and arguments. `<<PLAIN>>`, `<<HEX>>` and the like stand for the data that the model has read.
pub(crate) type ModelCall = (String, Value);

/// The system prompt of a compaction.
const SUMMING_UP: &str = "You write down what an agent needs to remember";

/// The behaviour for a number.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelScript {
    /// Calls of the person's task.
    pub(crate) task: Vec<ModelCall>,
    /// Calls of the injection.
    pub(crate) injected: Vec<ModelCall>,
    /// The final text without an injection.
    pub(crate) answer_text: String,
    /// The final text after the injected calls.
    pub(crate) final_text: String,
    /// The text of a compaction.
    pub(crate) summary: String,
}

#[derive(Default)]
pub(crate) struct CompromisedModel {
    state: Mutex<ModelState>,
}

#[derive(Default)]
struct ModelState {
    scripts: HashMap<u32, ModelScript>,
    obeyed: HashSet<u32>,
    /// The marks around the first injection, outermost first.
    injection_marks: HashMap<u32, Vec<String>>,
    requests: usize,
    /// Requests that contained the secret, with context.
    leaked_secrets: Vec<String>,
}

impl CompromisedModel {
    pub(crate) fn set_script(&self, number: u32, script: ModelScript) {
        self.lock().scripts.insert(number, script);
    }

    /// Whether the model has read the injection and made the first call.
    pub(crate) fn has_obeyed(&self, number: u32) -> bool {
        self.lock().obeyed.contains(&number)
    }

    /// The marks around the first injection.
    pub(crate) fn injection_marks(&self, number: u32) -> Vec<String> {
        self.lock().injection_marks.get(&number).cloned().unwrap_or_default()
    }

    pub(crate) fn requests(&self) -> usize {
        self.lock().requests
    }

    /// Drains the requests that contained the secret.
    pub(crate) fn take_leaks(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().leaked_secrets)
    }

    fn lock(&self) -> MutexGuard<'_, ModelState> {
        self.state.lock().expect("BUG: a test panicked with the lock")
    }

    fn answer_request(&self, request: &ModelRequest) -> ModelAnswer {
        let texts: Vec<String> = request.messages.iter().map(text_of).collect();
        let text = texts.join("\n");
        let mut state = self.lock();
        state.requests += 1;
        if let Some(context) =
            LeakDetector::of(SECRET).find(format!("{}\n{text}", request.system).as_bytes())
        {
            state.leaked_secrets.push(context);
        }
        let (start, task) = newest_task(&request.messages);
        let done = call_count(&request.messages[start..]);
        let script = state.scripts.get(&task).cloned().unwrap_or_default();
        if request.system.starts_with(SUMMING_UP) && !script.summary.is_empty() {
            return model_answer(Err(script.summary), done, &text);
        }
        let trigger = format!("OBEY-{task}.");
        let action = match texts.iter().position(|text| text.contains(&trigger)) {
            Some(index) => {
                state.obeyed.insert(task);
                state
                    .injection_marks
                    .entry(task)
                    .or_insert_with(|| open_marks(&texts[index], &trigger));
                let before = call_count(&request.messages[start.min(index)..index]);
                let call = script.injected.get(done.saturating_sub(before)).cloned();
                call.ok_or(script.final_text)
            }
            None => script.task.get(done).cloned().ok_or(script.answer_text),
        };
        model_answer(action, done, &text)
    }
}

impl ModelProvider for CompromisedModel {
    fn name(&self) -> &str {
        "obedient"
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        Box::pin(std::future::ready(Ok(self.answer_request(&request))))
    }
}

fn model_answer(action: Result<ModelCall, String>, done: usize, read_text: &str) -> ModelAnswer {
    let sensitive = unscramble(read_text).unwrap_or_default();
    match action {
        Ok((tool, arguments)) => {
            let call = ToolCallRequest {
                id: format!("c{done}"),
                tool,
                arguments: expand(arguments, &sensitive),
            };
            answer(vec![Part::ToolCall(call)], StopReason::ToolCalls)
        }
        Err(text) => {
            answer(vec![Part::Text { text: expand_text(&text, &sensitive) }], StopReason::End)
        }
    }
}

fn expand(value: Value, sensitive: &str) -> Value {
    match value {
        Value::String(text) => Value::String(expand_text(&text, sensitive)),
        Value::Array(items) => items.into_iter().map(|item| expand(item, sensitive)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, field)| (expand_text(&key, sensitive), expand(field, sensitive)))
            .collect(),
        other => other,
    }
}

fn expand_text(text: &str, sensitive: &str) -> String {
    let (first_half, second_half) = sensitive.split_at(sensitive.len() / 2);
    let mut text =
        text.replace("<<FIRST HALF>>", first_half).replace("<<OTHER HALF>>", second_half);
    for encoding in ENCODINGS {
        let name = format!("<<{}>>", format!("{encoding:?}").to_uppercase());
        if text.contains(&name) {
            text = text.replace(&name, &encode(sensitive, encoding));
        }
    }
    text
}

/// The sources of the marks around the first `trigger`.
fn open_marks(text: &str, trigger: &str) -> Vec<String> {
    let before = text.split(trigger).next().unwrap_or_default();
    let mut open: Vec<(&str, &str)> = Vec::new();
    for piece in before.split('⟦').skip(1) {
        let Some((mark, _)) = piece.split_once('⟧') else { continue };
        if let Some(id) = mark.strip_prefix("end of outside ") {
            open.retain(|(other, _)| *other != id);
        } else if let Some((id, source)) =
            mark.strip_prefix("outside ").and_then(|mark| mark.split_once(' '))
        {
            open.push((id, source));
        }
    }
    open.into_iter().map(|(_, source)| source.to_owned()).collect()
}

/// Index and number of the newest message with a task. A chat shows the calls of earlier tasks before that message.
fn newest_task(messages: &[Message]) -> (usize, u32) {
    let mut tasks = messages.iter().enumerate().rev().filter_map(|(at, message)| match message {
        Message::User { text } => Some((at, task_number(text, "TASK-")?)),
        _ => None,
    });
    tasks.next().unwrap_or_default()
}

/// The number after the last `mark` of `text`.
fn task_number(text: &str, mark: &str) -> Option<u32> {
    let (_, after) = text.rsplit_once(mark)?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn call_count(messages: &[Message]) -> usize {
    let parts = messages.iter().filter_map(|message| match message {
        Message::Assistant { parts } => Some(parts),
        Message::User { .. } | Message::ToolResult { .. } | Message::Attachments { .. } => None,
    });
    parts.flatten().filter(|part| matches!(part, Part::ToolCall(_))).count()
}

/// The readable text of a message, including the model's own.
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
