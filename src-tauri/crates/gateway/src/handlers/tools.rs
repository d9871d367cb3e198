//! `tools.*`: the catalogue, the tools of a job, and trial calls.

use rouse_agent::{
    OfferedTools, RefusedTool, ToolCallError, context_tokens, is_callable_alone, offered_tools,
    policy_of, sandbox_of, without_unusable_grants,
};
use rouse_core::SessionKey;
use rouse_core::job::{AgentTurn, Job, Payload};
use rouse_core::policy::{ToolPolicy, WithheldGrant};
use rouse_core::text::capitalize;
use rouse_core::tool::{ApprovalRule, SandboxMode, ToolSpec};
use serde_json::json;

use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::cron::{find_job, parse_draft};
use crate::wire::{
    EmptyObject, RefusedToolView, ToolView, ToolsCatalogResult, ToolsEffectiveParams,
    ToolsEffectiveResult, ToolsTryParams, ToolsTryResult, WithheldTool,
};

/// The sandbox of a model without a job.
const DEFAULT_SANDBOX: SandboxMode = SandboxMode::Sandboxed { hosts: Vec::new() };

pub(crate) async fn catalog(
    context: &Context,
    _: EmptyObject,
) -> Result<ToolsCatalogResult, RpcError> {
    let tools = context.gate.tools();
    let specs: Vec<ToolSpec> = tools.specs().cloned().collect();
    let refused = tools.refused().iter().map(refused_view).collect();
    Ok(ToolsCatalogResult { tools: views(context, &specs, &DEFAULT_SANDBOX).await, refused })
}

/// The tools that a run of the job would get.
pub(crate) async fn effective(
    context: &Context,
    params: ToolsEffectiveParams,
) -> Result<ToolsEffectiveResult, RpcError> {
    let job = find_or_parse_job(context, params).await?;
    let (mut problem, mut searchable) = (None, Vec::new());
    let (tools, policy) = match &job.payload {
        Payload::AgentTurn(turn) => {
            let skills = context.skills.load_named(&turn.skills).await?;
            let skills = skills.unwrap_or_else(|reason| {
                problem = Some(reason);
                Vec::new()
            });
            let remembered = context.skills.session_skills(&SessionKey::of_job(&job.id)).await?;
            let grants = context.store.grants_of_job(&job.id).await?;
            let policy = policy_of(&job, turn, &grants, context.clock.now());
            let policy = policy.with_skills(&skills).after_reading(remembered.names);
            let policy = without_unusable_grants(&context.gate, &job, turn, policy).await;
            let tools = offered_tools(&context.gate, turn, &policy);
            searchable = searchable_tools(context, turn, &tools, &policy);
            (tools, policy)
        }
        Payload::ToolCall(call) => {
            let tool = context.gate.tools().get(&call.tool);
            let tools = tool.iter().map(|tool| tool.spec().clone()).collect();
            (tools, ToolPolicy::default())
        }
        Payload::SystemEvent { .. } => (Vec::new(), ToolPolicy::default()),
    };
    // A run with a missing skill does not start, so it has no tools and no withheld tools.
    let can_start = problem.is_none();
    let (tools, searchable) =
        if can_start { (tools, searchable) } else { (Vec::new(), Vec::new()) };
    let withheld = policy.withheld().iter().filter(|_| can_start).map(withheld_view).collect();
    let ceiling = policy.read_only_reason();
    let tools = views(context, &tools, &sandbox_for(&job)).await;
    Ok(ToolsEffectiveResult { tools, searchable, withheld, ceiling, problem })
}

/// The names of the tools that the requests of a run leave out.
fn searchable_tools(
    context: &Context,
    turn: &AgentTurn,
    offered: &[ToolSpec],
    policy: &ToolPolicy,
) -> Vec<String> {
    let window = context_tokens(context.models.context_tokens(turn.model.as_deref()));
    let tools = OfferedTools::new(&context.gate.tools(), offered.to_vec(), policy, window);
    tools.searchable().iter().map(|tool| tool.name.clone()).collect()
}

async fn find_or_parse_job(
    context: &Context,
    params: ToolsEffectiveParams,
) -> Result<Job, RpcError> {
    if let Some(draft) = params.job {
        return parse_draft(context, draft).await;
    }
    let id = params.id.ok_or_else(|| RpcError::field("id", "is required without a `job`"))?;
    find_job(context, &id).await
}

fn refused_view(refused: &RefusedTool) -> RefusedToolView {
    let reason = format!("{}.", capitalize(&refused.error.to_string()));
    RefusedToolView { name: refused.name.clone(), reason }
}

fn withheld_view(withheld: &WithheldGrant) -> WithheldTool {
    WithheldTool { name: withheld.tool.clone(), reason: withheld.reason.clone() }
}

/// Starts a run with this one call. An invalid call is refused here, with the field.
pub(crate) async fn try_call(
    context: &Context,
    params: ToolsTryParams,
) -> Result<ToolsTryResult, RpcError> {
    let arguments = params.arguments.unwrap_or_else(|| json!({}));
    let tools = context.gate.tools();
    match tools.call_error(&params.tool, &arguments) {
        Some(ToolCallError::Tool(message)) => return Err(RpcError::field("tool", &message)),
        Some(ToolCallError::Arguments(message)) => {
            return Err(RpcError::field("arguments", &message));
        }
        None => {}
    }
    super::input::check_secrets(context, "arguments", &arguments).await?;
    let run_id = context.scheduler.try_tool(&params.tool, arguments).await?;
    Ok(ToolsTryResult { run_id: run_id.to_string() })
}

fn limit(count: u32) -> Option<u32> {
    (count != u32::MAX).then_some(count)
}

/// The sandbox of a run of `job`. A fixed call has the rights of the person, who wrote the call.
fn sandbox_for(job: &Job) -> SandboxMode {
    match job.payload {
        Payload::ToolCall(_) => {
            SandboxMode::ByPersonUnsandboxed { hosts: job.policies.hosts.clone() }
        }
        Payload::AgentTurn(_) | Payload::SystemEvent { .. } => sandbox_of(job),
    }
}

/// The tools in runs with this sandbox.
async fn views(context: &Context, specs: &[ToolSpec], sandbox: &SandboxMode) -> Vec<ToolView> {
    let mut views = Vec::with_capacity(specs.len());
    for spec in specs {
        let tool = context.gate.tools().get(&spec.name);
        let approval = tool.as_ref().map_or(spec.approval, |tool| tool.default_approval(sandbox));
        let unavailable_reason = match &tool {
            Some(tool) => tool.unavailable_reason(sandbox).await,
            None => None,
        };
        views.push(view(spec, approval, unavailable_reason));
    }
    views
}

fn view(spec: &ToolSpec, approval: ApprovalRule, unavailable_reason: Option<String>) -> ToolView {
    ToolView {
        name: spec.name.clone(),
        label: spec.label.clone(),
        description: spec.description.clone(),
        parameters: spec.parameters.clone(),
        approval,
        domain: spec.domain,
        calls_per_minute: limit(spec.rate.per_minute),
        calls_per_hour: limit(spec.rate.per_hour),
        read_only: spec.annotations.read_only,
        destructive: spec.annotations.destructive,
        idempotent: spec.annotations.idempotent,
        open_world: spec.annotations.open_world,
        reads_untrusted: spec.untrusted_output,
        attended_only: spec.attended_only,
        can_be_tried: is_callable_alone(spec),
        unavailable_reason,
        origin: spec.origin.clone(),
    }
}
