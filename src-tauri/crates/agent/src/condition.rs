//! Conditions of `notifyWhen`: one CEL expression over the result of a tool call, answered with yes or no.
//!
//! Owns what an expression may use and how it is kept from doing harm. The interpreter walks its tree by recursion, and a
//! stack that overflows ends the process; so a source is short, and everything, the parsing too, happens on a thread of
//! its own with a large stack. Nobody can stop that thread from outside: loops are counted and what is made is weighed,
//! both end when nobody waits any more, and there are few such threads at once. One could get it wrong by parsing first
//! "just to check" on the caller's stack: 12 parentheses are enough to end a debug build.

mod answers;
mod limits;
mod syntax;
mod values;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use cel::parser::Expression;
use cel::{Context, Env, ExecutionError};
use rouse_core::Cause;
use rouse_core::condition::{LONGEST, Verdict};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use limits::Stop;

/// What 1 kB of source can need at most, in a debug build, with room to spare.
const STACK_BYTES: usize = 128 << 20;
/// How long an answer may take, once it is being worked out. It is long, because a busy machine lets its thread wait, and
/// that "it could not be checked" is told to a person.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may wait for its turn: what takes long for one job is no fault of the next.
const TURN: Duration = Duration::from_secs(60);
/// Keys of a result that are told where another was looked for, and the most letters of one.
const KEYS: usize = 10;
const LONGEST_KEY: usize = 40;
/// Threads at once: one that takes long must not hold up every other job, and a hundred must not fill the memory.
const THREADS: usize = 2;

/// What an expression is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// What the tool answered.
    pub result: Value,
    /// What it answered the time before; `null` when there was none.
    pub previous: Value,
    /// What is known about the job: `consecutiveFailures`, `lastRunAtMs`, …
    pub state: Value,
    /// What fired the run: `source`, `text`, `fields`; `null` when no event did. Others may have written it.
    pub event: Value,
}

/// What a condition sees of the event that fired a run.
#[must_use]
pub fn event_of(cause: &Cause) -> Value {
    json!({ "source": cause.source, "text": cause.text, "fields": cause.fields })
}

/// Works conditions out. Clones share the threads.
#[derive(Debug, Clone)]
pub struct Conditions {
    threads: Arc<Semaphore>,
    patience: Duration,
}

impl Default for Conditions {
    fn default() -> Self {
        Self { threads: Arc::new(Semaphore::new(THREADS)), patience: PATIENCE }
    }
}

impl Conditions {
    /// Says what is wrong with `source` before it is saved: no CEL, an unknown name, or too much of it.
    ///
    /// # Errors
    /// What is wrong, as a sentence.
    pub async fn check(&self, source: &str) -> Result<(), String> {
        let source = source.to_owned();
        self.on_its_own_thread(move |_| compile(&source).map(drop)).await
    }

    /// Whether `source` holds of `subject`.
    pub async fn judge(&self, source: &str, subject: Subject) -> Verdict {
        let source = source.to_owned();
        match self.on_its_own_thread(move |stop| holds(&source, &subject, stop)).await {
            Ok(true) => Verdict::Met,
            Ok(false) => Verdict::NotMet,
            Err(reason) => Verdict::Broken(reason),
        }
    }

    async fn on_its_own_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let threads = Arc::clone(&self.threads);
        let turn = tokio::time::timeout(TURN, threads.acquire_owned()).await;
        let place = turn
            .map_err(|_| "other conditions took too long before it".to_owned())?
            .expect("BUG: the threads were closed");
        let (tell, told) = oneshot::channel();
        let waits = Waits(Stop::default());
        let stop = waits.0.clone();
        start(place, move || drop(tell.send(work(&stop))))?;
        let told = tokio::time::timeout(self.patience, told).await;
        drop(waits);
        let too_long = |_| format!("it took longer than {} seconds", self.patience.as_secs());
        told.map_err(too_long)?
            .unwrap_or_else(|_| Err("it ended in a fault inside Rouse".to_owned()))
    }
}

/// Stops the work when it is dropped, be it because the caller was.
struct Waits(Stop);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.now();
    }
}

/// The place is given back when the thread ends, however long nobody has been waiting for it.
fn start(place: OwnedSemaphorePermit, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let thread = std::thread::Builder::new().name("condition".to_owned()).stack_size(STACK_BYTES);
    let started = thread.spawn(move || {
        work();
        drop(place);
    });
    started.map(drop).map_err(|error| format!("no thread could be started for it: {error}"))
}

fn compile(source: &str) -> Result<Expression, String> {
    if source.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    let program = Env::stdlib().compile(source).map_err(|errors| syntax::complaint(&errors))?;
    let mut expression = program.expression().clone();
    answers::check(&expression)?;
    limits::apply(&mut expression)?;
    Ok(expression)
}

fn holds(source: &str, subject: &Subject, stop: &Stop) -> Result<bool, String> {
    let expression = compile(source)?;
    let mut context = Context::default();
    let variables = [
        ("result", &subject.result),
        ("previous", &subject.previous),
        ("state", &subject.state),
        ("event", &subject.event),
    ];
    for (name, value) in variables {
        context.add_variable_from_value(name, values::from_json(value));
    }
    limits::add_functions(&mut context, stop);
    values::add_functions(&mut context);
    match cel::Value::resolve(&expression, &context) {
        Ok(cel::Value::Bool(holds)) => Ok(holds),
        Ok(other) => Err(answers::no_condition(values::kind_of(&other))),
        Err(error) => Err(failure(&error, source, subject)),
    }
}

fn failure(error: &ExecutionError, source: &str, subject: &Subject) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => {
            let is_of_event = source.contains(&format!("event.{key}"));
            let (name, value) =
                if is_of_event { ("event", &subject.event) } else { ("result", &subject.result) };
            format!("there is no `{key}` in it{}", keys(name, value, key))
        }
        ExecutionError::UndeclaredReference(name) => format!("there is no `{name}`"),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        // The other messages print the values that they are about, which may be the whole result.
        other => other.to_string().chars().take(200).collect(),
    }
}

/// What stands in the result, or in the event, where `missing` could have been looked for; nothing where it is there. What
/// others have written is told only where it reads like a name.
fn keys(of: &str, value: &Value, missing: &str) -> String {
    let Some(fields) = value.as_object().filter(|fields| !fields.contains_key(missing)) else {
        return String::new();
    };
    let is_name = |key: &&str| {
        let is_of_one = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
        (1..=LONGEST_KEY).contains(&key.chars().count()) && key.chars().all(is_of_one)
    };
    let names: Vec<&str> = fields.keys().map(String::as_str).filter(is_name).collect();
    let (told, more) = names.split_at(names.len().min(KEYS));
    let more = if more.is_empty() { "" } else { ", …" };
    match told {
        [] => String::new(),
        told => format!("; `{of}` has {}{more}", told.join(", ")),
    }
}
