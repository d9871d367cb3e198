//! The requests of agents about jobs: each is a gateway call like a person's.
//!
//! Owns the differences to a person: an agent's job is signed (`createdBy`), an agent's text is signed (`messageBy`),
//! and changes reserved for a person are refused (`rouse_core::routines`), judged by the resulting job. All other
//! checks are those of the `cron.*` methods. An agent is a run of Rouse, or a program outside. A program outside never
//! writes a tool call, because no gate judges its calls. A request before the gateway exists waits; a request during
//! shutdown is refused.
//!
//! Pitfall: judging one revision and changing another; the change names the judged revision.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use rouse_agent::Gate;
use rouse_core::job::{
    CREATED_BY, Job, JobError, MESSAGE_BY, ToolCall, job_from_json, patch_job, stored_job_from_json,
};
use rouse_core::routines::{
    GrantedRights, RoutineAuthor, RoutineRefusal, RoutineRequest, Routines, check_agent_change,
};
use rouse_core::tool::{ApprovalRule, BoxFuture, Fault};
use rouse_gateway::{ErrorCode, Gateway, RpcError};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The routine tools' access to the gateway.
#[derive(Default)]
pub(crate) struct GatewayRoutines(watch::Sender<GatewayLink>);

/// Keeps the access connected. Dropping the link refuses requests and releases the gateway, which otherwise would own
/// itself through its tools.
pub(crate) struct RoutineLink(Arc<GatewayRoutines>);

impl Drop for RoutineLink {
    fn drop(&mut self) {
        self.0.0.send_replace(GatewayLink::Closed);
    }
}

#[derive(Clone, Default)]
enum GatewayLink {
    /// The gateway does not exist yet.
    #[default]
    Pending,
    Connected(Gateway, Arc<Gate>),
    Closed,
}

impl GatewayRoutines {
    /// Connects the gateway; requests are handled from now on.
    pub(crate) fn connect(self: Arc<Self>, gateway: Gateway, gate: Arc<Gate>) -> RoutineLink {
        self.0.send_replace(GatewayLink::Connected(gateway, gate));
        RoutineLink(self)
    }

    async fn calls(&self) -> Result<RoutineCalls, RoutineRefusal> {
        let mut link = self.0.subscribe();
        let present = link.wait_for(|link| !matches!(link, GatewayLink::Pending)).await;
        match present.map(|link| link.clone()) {
            Ok(GatewayLink::Connected(gateway, gate)) => Ok(RoutineCalls { gateway, gate }),
            _ => Err(refusal(Fault::Execution, "Rouse is closing.")),
        }
    }
}

impl Routines for GatewayRoutines {
    fn ask<'a>(
        &'a self,
        request: RoutineRequest,
        author: RoutineAuthor<'a>,
    ) -> BoxFuture<'a, Result<Value, RoutineRefusal>> {
        Box::pin(async move { self.calls().await?.carry_out(request, author).await })
    }

    fn check<'a>(
        &'a self,
        request: &'a RoutineRequest,
        author: RoutineAuthor<'a>,
    ) -> BoxFuture<'a, Result<(), RoutineRefusal>> {
        Box::pin(async move { self.calls().await?.check(request, author).await })
    }
}

struct RoutineCalls {
    gateway: Gateway,
    gate: Arc<Gate>,
}

impl RoutineCalls {
    async fn carry_out(
        &self,
        request: RoutineRequest,
        author: RoutineAuthor<'_>,
    ) -> Result<Value, RoutineRefusal> {
        self.check(&request, author).await?;
        match request {
            RoutineRequest::List { search, limit, cursor } => {
                let params = json!({ "includeDisabled": true, "search": search, "limit": limit, "cursor": cursor });
                self.call("cron.list", params).await
            }
            RoutineRequest::Get { id } => self.call("cron.get", json!({ "id": id })).await,
            RoutineRequest::Preview { schedule } => {
                self.call("cron.preview", json!({ "schedule": schedule, "count": 3 })).await
            }
            RoutineRequest::Create { draft } => {
                self.call("cron.add", sign_draft(draft, author)).await
            }
            RoutineRequest::Update { id, patch, revision } => {
                let is_name_visible = patch.get("name").is_some()
                    && self.job(&id).await?.model_visible_name().is_some();
                let patch = sign_patch(patch, is_name_visible, author);
                let params = json!({ "id": id, "patch": patch, "expectedRevision": revision });
                self.call("cron.update", params).await
            }
            RoutineRequest::Delete { id } => self.call("cron.remove", json!({ "id": id })).await,
            RoutineRequest::Fire { id } => {
                self.call("cron.run", json!({ "id": id, "mode": "force" })).await
            }
            RoutineRequest::History { id, limit } => {
                self.call("cron.runs", json!({ "id": id, "limit": limit })).await
            }
        }
    }

    async fn check(
        &self,
        request: &RoutineRequest,
        author: RoutineAuthor<'_>,
    ) -> Result<(), RoutineRefusal> {
        match request {
            RoutineRequest::Create { draft } => {
                if draft.get("id").is_some() {
                    // The id of a deleted job would inherit the grants of that job.
                    return Err(refusal(
                        Fault::InvalidParameters,
                        "id: cannot be set by an agent.",
                    ));
                }
                let (now, zones) = (author.clock().now(), author.clock().zones());
                let job = job_from_json(sign_draft(draft.clone(), author), now, zones)
                    .map_err(invalid)?;
                self.check_change(None, &job, false, author)
            }
            RoutineRequest::Update { id, patch, revision } => {
                let before = self.job(id).await?;
                if before.state.revision != *revision {
                    return Err(stale(before.state.revision));
                }
                let (now, zones) = (author.clock().now(), author.clock().zones());
                let after = patch_job(&before, patch.clone(), now, zones).map_err(invalid)?;
                let grants = self.call("grants.list", json!({ "jobId": id })).await?;
                let has_grants = grants["grants"]
                    .as_array()
                    .is_some_and(|grants| grants.iter().any(|grant| grant["isValid"] == true));
                self.check_change(Some(&before), &after, has_grants, author)
            }
            RoutineRequest::Delete { id }
            | RoutineRequest::Fire { id }
            | RoutineRequest::History { id, .. } => self.job(id).await.map(drop),
            RoutineRequest::List { .. }
            | RoutineRequest::Get { .. }
            | RoutineRequest::Preview { .. } => Ok(()),
        }
    }

    fn check_change(
        &self,
        before: Option<&Job>,
        after: &Job,
        has_grants: bool,
        author: RoutineAuthor<'_>,
    ) -> Result<(), RoutineRefusal> {
        let tools = self.gate.tools();
        let needs_person = |call: &ToolCall| {
            let RoutineAuthor::Run(context) = author else { return true };
            // An invalid call is refused elsewhere; approval rules apply only to valid arguments.
            if tools.call_error(&call.tool, &call.arguments).is_some() {
                return false;
            }
            tools.get(&call.tool).is_some_and(|tool| {
                tool.spec().attended_only
                    || tool.approval(&call.arguments, context) != ApprovalRule::Never
            })
        };
        check_agent_change(before, after, GrantedRights { has_grants, needs_person: &needs_person })
            .map_err(invalid)
    }

    async fn job(&self, id: &str) -> Result<Job, RoutineRefusal> {
        let view = self.call("cron.get", json!({ "id": id })).await?;
        stored_job_from_json(view["job"].clone()).map_err(invalid)
    }

    async fn call(&self, method: &str, params: Value) -> Result<Value, RoutineRefusal> {
        self.gateway.call(method, params).await.map_err(from_gateway_error)
    }
}

/// Signs a draft with its creator.
fn sign_draft(mut draft: Value, author: RoutineAuthor<'_>) -> Value {
    if let Some(fields) = draft.as_object_mut() {
        fields.remove(MESSAGE_BY);
        fields.insert(CREATED_BY.to_owned(), author.signature());
    }
    draft
}

/// Signs a patch with its author if the patch changes text for a model. The name counts where a model sees the name.
/// Other signatures are removed.
fn sign_patch(mut patch: Value, is_name_visible: bool, author: RoutineAuthor<'_>) -> Value {
    let payload = &patch["payload"];
    let has_text =
        is_name_visible || ["message", "text"].iter().any(|key| payload.get(key).is_some());
    if let Some(fields) = patch.as_object_mut() {
        fields.remove(MESSAGE_BY);
        fields.remove(CREATED_BY);
        if has_text {
            fields.insert(MESSAGE_BY.to_owned(), author.signature());
        }
    }
    patch
}

fn refusal(fault: Fault, message: impl Into<String>) -> RoutineRefusal {
    RoutineRefusal { fault, message: message.into() }
}

fn invalid(error: JobError) -> RoutineRefusal {
    refusal(Fault::InvalidParameters, format!("{error}."))
}

fn stale(revision: i64) -> RoutineRefusal {
    let message = format!(
        "This routine was changed elsewhere and is at revision {revision} now. Read it again first."
    );
    refusal(Fault::Execution, message)
}

fn from_gateway_error(error: RpcError) -> RoutineRefusal {
    let is = |code: ErrorCode| error.code == code.number();
    if is(ErrorCode::Stale) {
        return stale(error.data["revision"].as_i64().unwrap_or_default());
    }
    if is(ErrorCode::NotFound) {
        let message = format!("{} The list of jobs has the id of each job.", error.message);
        return refusal(Fault::Execution, message);
    }
    let fault =
        if is(ErrorCode::InvalidParams) { Fault::InvalidParameters } else { Fault::Execution };
    refusal(fault, error.message)
}
