//! `routine_create`, `routine_list`, `routine_update`, `routine_delete`, `routine_fire`, `routine_history`: the person's
//! jobs, in the words of a model.
//!
//! Each is one wish to the port (`rouse_core::routines`), which carries it out by the same verbs as the person's own
//! clients; nothing about a job is decided here. All of them are for turns that a person has started: a run that nobody
//! watches must not breed runs. What changes something asks, and the question shows the job in words. It refuses
//! arguments for what only a person may decide: where a job reaches, how it is confined, whom it asks.
//!
//! One could get it wrong by letting a yes to one job count after the job has become another: each answer is bound to
//! the job as it was, and to the instant that was shown.

mod create;
mod delete;
mod draft;
mod fire;
mod history;
mod list;
mod question;
mod shown;
mod update;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use rouse_core::UnixMs;
use rouse_core::approval::{FIRES_ONCE_AT, Surroundings};
use rouse_core::policy::ApprovedCall;
use rouse_core::routines::{Refusal, Routines, Wish};
use rouse_core::tool::{ApprovalRule, BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::answer::{self, Told};
use crate::spec;

/// The tools over the person's jobs.
#[must_use]
pub fn routine_tools(routines: &Arc<dyn Routines>) -> Vec<Arc<dyn Tool>> {
    vec![
        tool::<create::Create>(routines),
        tool::<list::List>(routines),
        tool::<update::Update>(routines),
        tool::<delete::Delete>(routines),
        tool::<fire::Fire>(routines),
        tool::<history::History>(routines),
    ]
}

fn tool<V: Verb>(routines: &Arc<dyn Routines>) -> Arc<dyn Tool> {
    let spec = ToolSpec { attended_only: true, ..V::spec() };
    Arc::new(RoutineTool::<V> { spec, routines: Arc::clone(routines), verb: PhantomData })
}

/// One thing to do with routines.
trait Verb: Send + Sync + 'static {
    /// What the tool says of itself.
    fn spec() -> ToolSpec;
    /// What the arguments wish for, or what is wrong with them.
    fn wish(arguments: &Value, context: &ToolContext) -> Result<Wish, String>;
    /// The answer to the wish, for a model and in words.
    fn told(answer: &Value, context: &ToolContext) -> Told;
}

struct RoutineTool<V> {
    spec: ToolSpec,
    routines: Arc<dyn Routines>,
    verb: PhantomData<fn() -> V>,
}

impl<V: Verb> RoutineTool<V> {
    async fn carry_out(
        &self,
        call: &ApprovedCall,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolOutput> {
        let wish = V::wish(call.arguments(), context).map_err(unfit)?;
        let wish = as_shown(wish, call.bound());
        let answer = self.routines.ask(wish, context).await.map_err(refused)?;
        let Told { value, words, .. } = V::told(&answer, context);
        Ok(answer::done(value).in_words(&words))
    }

    /// What the answer to a question about this call is bound to.
    async fn bound(
        &self,
        arguments: &Value,
        context: &ToolContext,
    ) -> Result<Surroundings, ToolOutput> {
        let wish = V::wish(arguments, context).map_err(unfit)?;
        self.routines.check(&wish, context).await.map_err(refused)?;
        let mut environment = BTreeMap::new();
        if let Some(at) = once_at(&wish) {
            if context.asked_at.is_some_and(|asked_at| asked_at < at && at <= context.clock.now()) {
                return Err(refused(too_late(at, context)));
            }
            environment.insert(FIRES_ONCE_AT.to_owned(), at.0.to_string());
        }
        if let Some(id) = target(&wish) {
            let job = self.routines.ask(Wish::Get { id: id.clone() }, context).await;
            let revision = &job.map_err(refused)?["job"]["state"]["revision"];
            environment.insert(format!("routine {id}"), format!("revision {revision}"));
        }
        Ok(Surroundings { environment, ..Surroundings::default() })
    }
}

impl<V: Verb> Tool for RoutineTool<V> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, String> {
        Box::pin(async move {
            let shown = match V::wish(arguments, context) {
                Ok(wish) => question::about(self.routines.as_ref(), &wish, context).await,
                Err(words) => Err(words),
            };
            let shown = shown.unwrap_or_else(|words| format!("{words}\n\n{arguments:#}"));
            rouse_core::visible::visible(&shown)
        })
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        Box::pin(self.bound(arguments, context))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(
            async move { self.carry_out(&call, context).await.unwrap_or_else(|refusal| refusal) },
        )
    }
}

fn unfit(words: String) -> ToolOutput {
    answer::failed(Fault::InvalidParameters, words)
}

fn refused(Refusal { fault, message }: Refusal) -> ToolOutput {
    answer::failed(fault, message)
}

/// When the job of a wish fires, where that is once.
fn once_at(wish: &Wish) -> Option<UnixMs> {
    document(wish)?["schedule"]["atMs"].as_i64().map(UnixMs)
}

/// The job format in a wish.
const fn document(wish: &Wish) -> Option<&Value> {
    match wish {
        Wish::Create { draft } => Some(draft),
        Wish::Update { patch, .. } => Some(patch),
        Wish::List { .. }
        | Wish::Get { .. }
        | Wish::Preview { .. }
        | Wish::Delete { .. }
        | Wish::Fire { .. }
        | Wish::History { .. } => None,
    }
}

/// The wish with the instant that the person was shown, where a yes is bound to one: `20m` would be later by now.
fn as_shown(mut wish: Wish, bound: Option<&Surroundings>) -> Wish {
    let shown = bound.and_then(Surroundings::fires_once_at);
    if let (Some(shown), Wish::Create { draft: document } | Wish::Update { patch: document, .. }) =
        (shown, &mut wish)
    {
        document["schedule"]["atMs"] = shown.0.into();
    }
    wish
}

fn too_late(at: UnixMs, context: &ToolContext) -> Refusal {
    let at = shown::at(&at.0.into(), context);
    let at = at.as_str().unwrap_or_default();
    let message = format!(
        "Nothing was done: its time, {at}, had passed before the person answered. Ask them for another time, and write it as a date and time."
    );
    Refusal { fault: Fault::Execution, message }
}

/// The job that a wish changes or starts.
const fn target(wish: &Wish) -> Option<&String> {
    match wish {
        Wish::Update { id, .. } | Wish::Delete { id } | Wish::Fire { id } => Some(id),
        Wish::List { .. }
        | Wish::Get { .. }
        | Wish::Preview { .. }
        | Wish::Create { .. }
        | Wish::History { .. } => None,
    }
}

/// A tool that changes something and asks before.
fn changing(name: (&str, &str), description: &str, parameters: Value) -> ToolSpec {
    let harmless = spec::harmless(name, description, parameters);
    ToolSpec { approval: ApprovalRule::UnlessGranted, ..harmless }
}

fn id_parameter() -> Value {
    json!({ "type": "string", "description": "The id that routine_list told.", "minLength": 1, "maxLength": 200 })
}
