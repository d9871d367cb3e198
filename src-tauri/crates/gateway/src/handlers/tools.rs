//! `tools.*`: what there is, what the model of a job is offered, and a call to try one out.

use rouse_agent::{Complaint, is_by_itself, offered, policy_of, sandbox_of, withholding};
use rouse_core::job::{Job, Payload};
use rouse_core::policy::{ToolPolicy, Withheld};
use rouse_core::tool::{ApprovalRule, Domain, SandboxMode, ToolSpec};
use rouse_core::{JobId, SessionKey};
use serde_json::json;

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::handlers::cron::drafted;
use crate::wire::{
    Empty, ToolApproval, ToolDomain, ToolView, ToolsCatalogResult, ToolsEffectiveParams,
    ToolsEffectiveResult, ToolsTryParams, ToolsTryResult, WithheldTool,
};

/// What a model has chosen where no job says anything else.
const CONFINED: SandboxMode = SandboxMode::Sandboxed { hosts: Vec::new() };

pub(crate) async fn catalog(context: &Context, _: Empty) -> Result<ToolsCatalogResult, RpcError> {
    let specs: Vec<ToolSpec> = context.gate.tools().specs().cloned().collect();
    Ok(ToolsCatalogResult { tools: views(context, &specs, &CONFINED).await })
}

/// The same list as a run of the job gets, without a run.
pub(crate) async fn effective(
    context: &Context,
    params: ToolsEffectiveParams,
) -> Result<ToolsEffectiveResult, RpcError> {
    let job = meant(context, params).await?;
    let mut problem = None;
    let (tools, policy) = match &job.payload {
        Payload::AgentTurn(turn) => {
            let skills = context.skills.named(&turn.skills).await?;
            let skills = skills.unwrap_or_else(|why| {
                problem = Some(why);
                Vec::new()
            });
            let remembered = context.skills.remembered(&SessionKey::of_job(&job.id)).await?;
            let grants = context.store.grants_of(&job.id).await?;
            let policy = policy_of(&job, turn, &grants, context.clock.now());
            let policy = policy.told_of(&skills).having_read(remembered.names);
            let policy = withholding(&context.gate, &job, turn, policy).await;
            (offered(&context.gate, turn, &policy), policy)
        }
        Payload::ToolCall(call) => {
            let tool = context.gate.tools().get(&call.tool);
            let tools = tool.map(|tool| tool.spec().clone()).into_iter().collect();
            (tools, ToolPolicy::default())
        }
        Payload::SystemEvent { .. } => (Vec::new(), ToolPolicy::default()),
    };
    // A run that lacks a skill does not begin, so it is offered nothing, and nothing is kept from it.
    let begins = problem.is_none();
    let tools = if begins { tools } else { Vec::new() };
    let withheld = policy.withheld().iter().filter(|_| begins).map(withheld_view).collect();
    let ceiling = policy.ceiling();
    let tools = views(context, &tools, &confined(&job)).await;
    Ok(ToolsEffectiveResult { tools, withheld, ceiling, problem })
}

async fn meant(context: &Context, params: ToolsEffectiveParams) -> Result<Job, RpcError> {
    if let Some(draft) = params.job {
        return drafted(context, draft).await;
    }
    let id = params.id.ok_or_else(|| RpcError::field("id", "is required without a `job`"))?;
    let stored = context.store.job(&JobId::new(id.as_str())).await?;
    stored.ok_or_else(|| RpcError::new(ErrorCode::NotFound, format!("There is no job {id}.")))
}

fn withheld_view(withheld: &Withheld) -> WithheldTool {
    WithheldTool { name: withheld.tool.clone(), why: withheld.why.clone() }
}

/// Begins a run that makes this one call. What could only fail is refused here, beside its field.
pub(crate) async fn try_call(
    context: &Context,
    params: ToolsTryParams,
) -> Result<ToolsTryResult, RpcError> {
    let arguments = params.arguments.unwrap_or_else(|| json!({}));
    let tools = context.gate.tools();
    match tools.complaint(&params.tool, &arguments) {
        Some(Complaint::Tool(message)) => return Err(RpcError::field("tool", &message)),
        Some(Complaint::Arguments(message)) => return Err(RpcError::field("arguments", &message)),
        None => {}
    }
    super::check_secrets(context, "arguments", &arguments).await?;
    let run_id = context.scheduler.try_tool(&params.tool, arguments).await?;
    Ok(ToolsTryResult { run_id: run_id.to_string() })
}

fn limit(most: u32) -> Option<u32> {
    (most != u32::MAX).then_some(most)
}

/// How what a run of `job` calls is confined: its own call has the rights of the person who has written it.
fn confined(job: &Job) -> SandboxMode {
    match job.payload {
        Payload::ToolCall(_) => {
            SandboxMode::ByPersonUnsandboxed { hosts: job.policies.hosts.clone() }
        }
        Payload::AgentTurn(_) | Payload::SystemEvent { .. } => sandbox_of(job),
    }
}

/// The tools as they are in runs that are confined like this.
async fn views(context: &Context, specs: &[ToolSpec], sandbox: &SandboxMode) -> Vec<ToolView> {
    let mut views = Vec::with_capacity(specs.len());
    for spec in specs {
        let tool = context.gate.tools().get(&spec.name);
        let approval = tool.map_or(spec.approval, |tool| tool.usual_approval(sandbox));
        let why_not_here = match tool {
            Some(tool) => tool.why_not_here(sandbox).await,
            None => None,
        };
        views.push(view(spec, approval, why_not_here));
    }
    views
}

fn view(spec: &ToolSpec, approval: ApprovalRule, why_not_here: Option<String>) -> ToolView {
    ToolView {
        name: spec.name.clone(),
        label: spec.label.clone(),
        description: spec.description.clone(),
        parameters: spec.parameters.clone(),
        approval: match approval {
            ApprovalRule::Never => ToolApproval::Never,
            ApprovalRule::UnlessGranted => ToolApproval::UnlessGranted,
            ApprovalRule::Always => ToolApproval::Always,
        },
        domain: match spec.domain {
            Domain::InProcess => ToolDomain::InProcess,
            Domain::Container => ToolDomain::Container,
        },
        calls_per_minute: limit(spec.rate.per_minute),
        calls_per_hour: limit(spec.rate.per_hour),
        read_only: spec.annotations.read_only,
        destructive: spec.annotations.destructive,
        idempotent: spec.annotations.idempotent,
        open_world: spec.annotations.open_world,
        reads_outside: spec.untrusted_output,
        attended_only: spec.attended_only,
        can_be_tried: is_by_itself(spec),
        why_not_here,
    }
}
