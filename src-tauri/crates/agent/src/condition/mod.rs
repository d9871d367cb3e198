//! Conditions of `notifyWhen`: a CEL expression over the result of a tool call that is true or false.
//!
//! Owns the evaluation and the limits. The interpreter is recursive, and a stack overflow ends the process. So a source
//! is short, and each compilation and evaluation runs on a separate thread with a large stack. Such a thread cannot be
//! killed: `limits` counts loops and sizes, and both stop once the caller is gone. The number of threads is bounded.
//! Pitfall: a parse on the caller's stack, even as a mere check; 12 parentheses overflow a debug build.

mod limits;
mod result_type;
mod syntax_error;
mod values;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use cel::parser::Expression;
use cel::{Context, Env, ExecutionError};
use rouse_core::Cause;
use rouse_core::condition::{ConditionVerdict, MAX_CONDITION_BYTES};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use limits::CancelFlag;

/// More than a source of the maximum length needs in a debug build.
const STACK_BYTES: usize = 128 << 20;
/// The time limit of an evaluation. Long, because a busy machine delays the thread.
const EVALUATION_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest wait for a free thread.
const THREAD_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum listed keys of a result in an error, and the maximum characters of a key.
const LISTED_KEYS: usize = 10;
const MAX_KEY: usize = 40;
/// Concurrent threads: more than one, so that a slow condition blocks no other job.
const THREADS: usize = 2;

/// The variables of a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionInput {
    /// The result of the tool.
    pub result: Value,
    /// The result of the previous run; `null` without a previous run.
    pub previous: Value,
    /// The state of the job: `consecutiveFailures`, `lastRunAtMs`, …
    pub state: Value,
    /// The event that fired the run: `source`, `text`, `fields`; `null` without an event. Untrusted.
    pub event: Value,
}

/// The event that fired a run, as a variable of a condition.
#[must_use]
pub fn event_variable(cause: &Cause) -> Value {
    json!({ "source": cause.source, "text": cause.text, "fields": cause.fields })
}

/// Evaluates conditions. Clones share the threads.
#[derive(Debug, Clone)]
pub struct ConditionEvaluator {
    threads: Arc<Semaphore>,
    timeout: Duration,
}

impl Default for ConditionEvaluator {
    fn default() -> Self {
        Self { threads: Arc::new(Semaphore::new(THREADS)), timeout: EVALUATION_TIMEOUT }
    }
}

impl ConditionEvaluator {
    /// Checks the syntax, names and size of `source` before a job is saved.
    ///
    /// # Errors
    /// The problem as a sentence.
    pub async fn check(&self, source: &str) -> Result<(), String> {
        let source = source.to_owned();
        self.run_on_thread(move |_| compile(&source).map(drop)).await
    }

    /// Evaluates `source` with these variables.
    pub async fn evaluate(&self, source: &str, input: ConditionInput) -> ConditionVerdict {
        let source = source.to_owned();
        match self.run_on_thread(move |cancel| is_met(&source, &input, cancel)).await {
            Ok(true) => ConditionVerdict::Met,
            Ok(false) => ConditionVerdict::NotMet,
            Err(reason) => ConditionVerdict::Broken(reason),
        }
    }

    async fn run_on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancelFlag) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let threads = Arc::clone(&self.threads);
        let permit = tokio::time::timeout(THREAD_TIMEOUT, threads.acquire_owned()).await;
        let permit = permit
            .map_err(|_| "other conditions took too long".to_owned())?
            .expect("BUG: the semaphore was closed");
        let (sender, receiver) = oneshot::channel();
        let guard = CancelOnDrop(CancelFlag::default());
        let cancel = guard.0.clone();
        spawn_thread(permit, move || drop(sender.send(work(&cancel))))?;
        let result = tokio::time::timeout(self.timeout, receiver).await;
        drop(guard);
        let too_long = |_| format!("timed out after {} seconds", self.timeout.as_secs());
        result.map_err(too_long)?.unwrap_or_else(|_| Err("an internal error of Rouse".to_owned()))
    }
}

/// Stops the evaluation when the caller is dropped.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Holds `permit` until the thread ends, even without a caller.
fn spawn_thread(
    permit: OwnedSemaphorePermit,
    work: impl FnOnce() + Send + 'static,
) -> Result<(), String> {
    let thread = std::thread::Builder::new().name("condition".to_owned()).stack_size(STACK_BYTES);
    let spawned = thread.spawn(move || {
        work();
        drop(permit);
    });
    spawned.map(drop).map_err(|error| format!("no thread could be started: {error}"))
}

fn compile(source: &str) -> Result<Expression, String> {
    if source.len() > MAX_CONDITION_BYTES {
        return Err(format!("longer than {MAX_CONDITION_BYTES} bytes"));
    }
    let program =
        Env::stdlib().compile(source).map_err(|errors| syntax_error::describe(&errors))?;
    let mut expression = program.expression().clone();
    result_type::check(&expression)?;
    limits::apply(&mut expression)?;
    Ok(expression)
}

fn is_met(source: &str, input: &ConditionInput, cancel: &CancelFlag) -> Result<bool, String> {
    let expression = compile(source)?;
    let mut context = Context::default();
    let variables = [
        ("result", &input.result),
        ("previous", &input.previous),
        ("state", &input.state),
        ("event", &input.event),
    ];
    for (name, value) in variables {
        context.add_variable_from_value(name, values::from_json(value));
    }
    limits::add_functions(&mut context, cancel);
    values::add_functions(&mut context);
    match cel::Value::resolve(&expression, &context) {
        Ok(cel::Value::Bool(is_met)) => Ok(is_met),
        Ok(other) => Err(result_type::not_a_condition(values::type_name(&other))),
        Err(error) => Err(error_text(&error, source, input)),
    }
}

fn error_text(error: &ExecutionError, source: &str, input: &ConditionInput) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => {
            let is_of_event = source.contains(&format!("event.{key}"));
            let (name, value) =
                if is_of_event { ("event", &input.event) } else { ("result", &input.result) };
            format!("there is no key `{key}`{}", listed_keys(name, value, key))
        }
        ExecutionError::UndeclaredReference(name) => format!("there is no `{name}`"),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        // The other messages hold values, which may be the whole result.
        other => other.to_string().chars().take(200).collect(),
    }
}

/// The keys of the result or event, for the error about a `missing` key; empty if that key exists. Keys are untrusted, so
/// only names are listed.
fn listed_keys(variable: &str, value: &Value, missing: &str) -> String {
    let Some(fields) = value.as_object().filter(|fields| !fields.contains_key(missing)) else {
        return String::new();
    };
    let is_name = |key: &&str| {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
        (1..=MAX_KEY).contains(&key.chars().count()) && key.chars().all(is_word)
    };
    let names: Vec<&str> = fields.keys().map(String::as_str).filter(is_name).collect();
    if names.is_empty() {
        return String::new();
    }
    let more = if names.len() > LISTED_KEYS { ", …" } else { "" };
    let listed = names.into_iter().take(LISTED_KEYS).collect::<Vec<_>>().join(", ");
    format!("; `{variable}` has {listed}{more}")
}
