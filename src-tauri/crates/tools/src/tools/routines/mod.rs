//! `routine_create`, `routine_list`, `routine_update`, `routine_delete`, `routine_fire`, `routine_history`: the person's jobs, for a
//! model.
//!
//! Each tool sends a request to the port (`rouse_core::routines`), which runs the same verbs as the person's clients.
//! Never decides about a job. Attended only: an unattended run must not create runs. Changes need an approval, which
//! describes the job. Refuses arguments for settings of the person: hosts, sandbox, approvals.
//!
//! Pitfall: an approval that still counts after the job has changed; bind the approval to the job's revision and to the
//! displayed instant.

mod action;
mod approval_text;
mod create;
mod delete;
mod draft;
mod fire;
mod history;
mod list;
mod summary;
mod update;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use rouse_core::UnixMs;
use rouse_core::approval::{FIRES_ONCE_AT, Surroundings};
use rouse_core::policy::ApprovedCall;
use rouse_core::routines::{RoutineAuthor, RoutineRefusal, RoutineRequest, Routines};
use rouse_core::tool::{BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec};
use serde_json::Value;

use crate::output::{self, ToolResult};
use action::RoutineAction;

/// The tools for the person's jobs.
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

fn tool<A: RoutineAction>(routines: &Arc<dyn Routines>) -> Arc<dyn Tool> {
    let spec = ToolSpec { attended_only: true, ..A::spec() };
    Arc::new(RoutineTool::<A> { spec, routines: Arc::clone(routines), action: PhantomData })
}

struct RoutineTool<A> {
    spec: ToolSpec,
    routines: Arc<dyn Routines>,
    action: PhantomData<fn() -> A>,
}

impl<A: RoutineAction> RoutineTool<A> {
    async fn run(
        &self,
        call: &ApprovedCall,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolOutput> {
        let wish = A::parse(call.arguments(), context).map_err(invalid_arguments)?;
        let wish = with_approved_time(wish, call.bound());
        let author = RoutineAuthor::Run(context);
        let response = self.routines.ask(wish, author).await.map_err(refusal_output)?;
        let ToolResult { value, summary, .. } = A::result(&response, context);
        Ok(output::success(value).in_words(&summary))
    }

    async fn check_and_bind(
        &self,
        arguments: &Value,
        context: &ToolContext,
    ) -> Result<Surroundings, ToolOutput> {
        let wish = A::parse(arguments, context).map_err(invalid_arguments)?;
        let author = RoutineAuthor::Run(context);
        self.routines.check(&wish, author).await.map_err(refusal_output)?;
        let mut environment = BTreeMap::new();
        if let Some(at) = single_fire_time(&wish) {
            if context
                .requested_at
                .is_some_and(|requested_at| requested_at < at && at <= context.clock.now())
            {
                return Err(refusal_output(expired_time(at, context)));
            }
            environment.insert(FIRES_ONCE_AT.to_owned(), at.0.to_string());
        }
        if let Some(id) = target_job(&wish) {
            let job = self.routines.ask(RoutineRequest::Get { id: id.clone() }, author).await;
            let revision = &job.map_err(refusal_output)?["job"]["state"]["revision"];
            environment.insert(format!("routine {id}"), format!("revision {revision}"));
        }
        Ok(Surroundings { environment, ..Surroundings::default() })
    }
}

impl<A: RoutineAction> Tool for RoutineTool<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, String> {
        Box::pin(async move {
            let text = match A::parse(arguments, context) {
                Ok(wish) => approval_text::describe(self.routines.as_ref(), &wish, context).await,
                Err(message) => Err(message),
            };
            let text = text.unwrap_or_else(|message| format!("{message}\n\n{arguments:#}"));
            rouse_core::text::escape_invisible(&text)
        })
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        Box::pin(self.check_and_bind(arguments, context))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.run(&call, context).await.unwrap_or_else(|refusal| refusal) })
    }
}

fn invalid_arguments(message: String) -> ToolOutput {
    output::failure(Fault::InvalidParameters, message)
}

fn refusal_output(RoutineRefusal { fault, message }: RoutineRefusal) -> ToolOutput {
    output::failure(fault, message)
}

/// The instant of the job of a request, if the job fires once.
fn single_fire_time(wish: &RoutineRequest) -> Option<UnixMs> {
    document(wish)?["schedule"]["atMs"].as_i64().map(UnixMs)
}

/// The job document in a request.
const fn document(wish: &RoutineRequest) -> Option<&Value> {
    match wish {
        RoutineRequest::Create { draft } => Some(draft),
        RoutineRequest::Update { patch, .. } => Some(patch),
        RoutineRequest::List { .. }
        | RoutineRequest::Get { .. }
        | RoutineRequest::Preview { .. }
        | RoutineRequest::Delete { .. }
        | RoutineRequest::Fire { .. }
        | RoutineRequest::History { .. } => None,
    }
}

/// Replaces a relative time such as `20m` by the instant that the approval showed.
fn with_approved_time(mut wish: RoutineRequest, bound: Option<&Surroundings>) -> RoutineRequest {
    let shown = bound.and_then(Surroundings::fires_once_at);
    if let (
        Some(shown),
        RoutineRequest::Create { draft: document } | RoutineRequest::Update { patch: document, .. },
    ) = (shown, &mut wish)
    {
        document["schedule"]["atMs"] = shown.0.into();
    }
    wish
}

fn expired_time(at: UnixMs, context: &ToolContext) -> RoutineRefusal {
    let at = summary::local_time(&at.0.into(), context);
    let at = at.as_str().unwrap_or_default();
    let message = format!(
        "Nothing was changed: the time, {at}, had passed before the approval. Ask the person for another time, and give it as a date and time."
    );
    RoutineRefusal { fault: Fault::Execution, message }
}

/// The job that a request changes or starts.
const fn target_job(wish: &RoutineRequest) -> Option<&String> {
    match wish {
        RoutineRequest::Update { id, .. }
        | RoutineRequest::Delete { id }
        | RoutineRequest::Fire { id } => Some(id),
        RoutineRequest::List { .. }
        | RoutineRequest::Get { .. }
        | RoutineRequest::Preview { .. }
        | RoutineRequest::Create { .. }
        | RoutineRequest::History { .. } => None,
    }
}
