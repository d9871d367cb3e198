//! The person's jobs for an agent: each wish is a call of the gateway, like a person's own.
//!
//! Owns what differs from a person: a job that an agent makes says so (`createdBy`), words that it writes into one say so
//! as well (`messageBy`), and what only a person may set is refused (`rouse_core::routines`), judged by what the job would
//! be then. Checks of jobs, revisions and their words are those of `cron.*`, because it is `cron.*` that is called. The
//! tools are made before there is a gateway, so a wish that comes earlier waits for it; one that comes while Rouse closes
//! is refused.
//!
//! One could get it wrong by judging a job as it was read and changing it as it is now: the change names the revision
//! that was judged.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use rouse_agent::Gate;
use rouse_core::job::{
    CREATED_BY, Job, JobError, MESSAGE_BY, ToolCall, job_from_json, patch_job, signature,
    stored_job_from_json,
};
use rouse_core::routines::{Refusal, Rights, Routines, Wish, judge};
use rouse_core::tool::{ApprovalRule, BoxFuture, Fault, ToolContext};
use rouse_gateway::{ErrorCode, Gateway, RpcError};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The way from the tools to the jobs.
#[derive(Default)]
pub(crate) struct RoutineDoor(watch::Sender<Door>);

/// Keeps the door open. When it goes, wishes are refused and nothing of the engine is held any more: the tools are a part
/// of what the gateway holds, which would hold itself.
pub(crate) struct OpenDoor(Arc<RoutineDoor>);

impl Drop for OpenDoor {
    fn drop(&mut self) {
        self.0.0.send_replace(Door::Closed);
    }
}

#[derive(Clone, Default)]
enum Door {
    /// The gateway is still to come.
    #[default]
    Early,
    Open(Gateway, Arc<Gate>),
    Closed,
}

impl RoutineDoor {
    /// From now on wishes are carried out.
    pub(crate) fn open(self: Arc<Self>, gateway: Gateway, gate: Arc<Gate>) -> OpenDoor {
        self.0.send_replace(Door::Open(gateway, gate));
        OpenDoor(self)
    }

    async fn engine(&self) -> Result<Engine, Refusal> {
        let mut door = self.0.subscribe();
        let come = door.wait_for(|door| !matches!(door, Door::Early)).await;
        match come.map(|door| door.clone()) {
            Ok(Door::Open(gateway, gate)) => Ok(Engine { gateway, gate }),
            _ => Err(refusal(Fault::Execution, "Rouse is closing.")),
        }
    }
}

impl Routines for RoutineDoor {
    fn ask<'a>(
        &'a self,
        wish: Wish,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async move { self.engine().await?.carry_out(wish, context).await })
    }

    fn check<'a>(
        &'a self,
        wish: &'a Wish,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move { self.engine().await?.check(wish, context).await })
    }
}

struct Engine {
    gateway: Gateway,
    gate: Arc<Gate>,
}

impl Engine {
    async fn carry_out(&self, wish: Wish, context: &ToolContext) -> Result<Value, Refusal> {
        self.check(&wish, context).await?;
        match wish {
            Wish::List { search, limit, cursor } => {
                let params = json!({ "includeDisabled": true, "search": search, "limit": limit, "cursor": cursor });
                self.call("cron.list", params).await
            }
            Wish::Get { id } => self.call("cron.get", json!({ "id": id })).await,
            Wish::Preview { schedule } => {
                self.call("cron.preview", json!({ "schedule": schedule, "count": 3 })).await
            }
            Wish::Create { draft } => self.call("cron.add", signed(draft, context)).await,
            Wish::Update { id, patch, revision } => {
                let is_told =
                    patch.get("name").is_some() && self.job(&id).await?.told_name().is_some();
                let patch = signed_patch(patch, is_told, context);
                let params = json!({ "id": id, "patch": patch, "expectedRevision": revision });
                self.call("cron.update", params).await
            }
            Wish::Delete { id } => self.call("cron.remove", json!({ "id": id })).await,
            Wish::Fire { id } => self.call("cron.run", json!({ "id": id, "mode": "force" })).await,
            Wish::History { id, limit } => {
                self.call("cron.runs", json!({ "id": id, "limit": limit })).await
            }
        }
    }

    async fn check(&self, wish: &Wish, context: &ToolContext) -> Result<(), Refusal> {
        match wish {
            Wish::Create { draft } => {
                if draft.get("id").is_some() {
                    // With the id of a job that was deleted would come what a person had allowed it.
                    return Err(refusal(
                        Fault::InvalidParameters,
                        "id: is not an agent's to choose.",
                    ));
                }
                let (now, zones) = (context.clock.now(), context.clock.zones());
                let job =
                    job_from_json(signed(draft.clone(), context), now, zones).map_err(unfit)?;
                self.judged(None, &job, false, context)
            }
            Wish::Update { id, patch, revision } => {
                let before = self.job(id).await?;
                if before.state.revision != *revision {
                    return Err(stale(before.state.revision));
                }
                let (now, zones) = (context.clock.now(), context.clock.zones());
                let after = patch_job(&before, patch.clone(), now, zones).map_err(unfit)?;
                let grants = self.call("grants.list", json!({ "jobId": id })).await?;
                let has_grants = grants["grants"]
                    .as_array()
                    .is_some_and(|grants| grants.iter().any(|grant| grant["isGood"] == true));
                self.judged(Some(&before), &after, has_grants, context)
            }
            Wish::Delete { id } | Wish::Fire { id } | Wish::History { id, .. } => {
                self.job(id).await.map(drop)
            }
            Wish::List { .. } | Wish::Get { .. } | Wish::Preview { .. } => Ok(()),
        }
    }

    fn judged(
        &self,
        before: Option<&Job>,
        after: &Job,
        has_grants: bool,
        context: &ToolContext,
    ) -> Result<(), Refusal> {
        let tools = self.gate.tools();
        let needs_person = |call: &ToolCall| {
            // A call that could not be made at all is refused as such; a tool judges only arguments that fit.
            if tools.complaint(&call.tool, &call.arguments).is_some() {
                return false;
            }
            tools.get(&call.tool).is_some_and(|tool| {
                tool.spec().attended_only
                    || tool.approval(&call.arguments, context) != ApprovalRule::Never
            })
        };
        judge(before, after, Rights { has_grants, needs_person: &needs_person }).map_err(unfit)
    }

    async fn job(&self, id: &str) -> Result<Job, Refusal> {
        let view = self.call("cron.get", json!({ "id": id })).await?;
        stored_job_from_json(view["job"].clone()).map_err(unfit)
    }

    async fn call(&self, method: &str, params: Value) -> Result<Value, Refusal> {
        self.gateway.call(method, params).await.map_err(refused)
    }
}

/// The draft with who made it.
fn signed(mut draft: Value, context: &ToolContext) -> Value {
    if let Some(fields) = draft.as_object_mut() {
        fields.remove(MESSAGE_BY);
        let signature = signature(&context.run_id, context.job_id.as_ref());
        fields.insert(CREATED_BY.to_owned(), signature);
    }
    draft
}

/// The patch with who wrote the words in it, if there are any; a name is some where a model is told it. Whose the others are
/// is not an agent's to say.
fn signed_patch(mut patch: Value, is_name_told: bool, context: &ToolContext) -> Value {
    let payload = &patch["payload"];
    let has_words =
        is_name_told || ["message", "text"].iter().any(|key| payload.get(key).is_some());
    if let Some(fields) = patch.as_object_mut() {
        fields.remove(MESSAGE_BY);
        fields.remove(CREATED_BY);
        if has_words {
            let signature = signature(&context.run_id, context.job_id.as_ref());
            fields.insert(MESSAGE_BY.to_owned(), signature);
        }
    }
    patch
}

fn refusal(fault: Fault, message: impl Into<String>) -> Refusal {
    Refusal { fault, message: message.into() }
}

fn unfit(error: JobError) -> Refusal {
    refusal(Fault::InvalidParameters, format!("{error}."))
}

fn stale(revision: i64) -> Refusal {
    let message = format!(
        "This routine was changed elsewhere and is at revision {revision} now. Look at it with routine_list first."
    );
    refusal(Fault::Execution, message)
}

fn refused(error: RpcError) -> Refusal {
    let is = |code: ErrorCode| error.code == code.number();
    if is(ErrorCode::Stale) {
        return stale(error.data["revision"].as_i64().unwrap_or_default());
    }
    let fault =
        if is(ErrorCode::InvalidParams) { Fault::InvalidParameters } else { Fault::Execution };
    refusal(fault, error.message)
}
