//! `tools.*`: what there is, and what the model of a job is offered.

use rouse_agent::offered;
use rouse_core::JobId;
use rouse_core::job::Payload;
use rouse_core::tool::{ApprovalRule, Domain, ToolSpec};

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    Empty, JobRef, ToolApproval, ToolDomain, ToolView, ToolsCatalogResult, ToolsEffectiveResult,
};

pub(crate) async fn catalog(context: &Context, _: Empty) -> Result<ToolsCatalogResult, RpcError> {
    Ok(ToolsCatalogResult { tools: context.gate.tools().specs().map(view).collect() })
}

/// The same list as a run of the job gets, without a run.
pub(crate) async fn effective(
    context: &Context,
    params: JobRef,
) -> Result<ToolsEffectiveResult, RpcError> {
    let job = context.store.job(&JobId::new(params.id.as_str())).await?.ok_or_else(|| {
        RpcError::new(ErrorCode::NotFound, format!("There is no job {}.", params.id))
    })?;
    let tools = match &job.payload {
        Payload::AgentTurn(turn) => offered(&context.gate, &job, turn),
        Payload::ToolCall(call) => {
            let tool = context.gate.tools().get(&call.tool);
            tool.map(|tool| tool.spec().clone()).into_iter().collect()
        }
        Payload::SystemEvent { .. } => Vec::new(),
    };
    Ok(ToolsEffectiveResult { tools: tools.iter().map(view).collect() })
}

fn view(spec: &ToolSpec) -> ToolView {
    ToolView {
        name: spec.name.clone(),
        description: spec.description.clone(),
        parameters: spec.parameters.clone(),
        approval: match spec.approval {
            ApprovalRule::Never => ToolApproval::Never,
            ApprovalRule::UnlessGranted => ToolApproval::UnlessGranted,
            ApprovalRule::Always => ToolApproval::Always,
        },
        domain: match spec.domain {
            Domain::InProcess => ToolDomain::InProcess,
            Domain::Container => ToolDomain::Container,
        },
        calls_per_minute: spec.rate.per_minute,
        calls_per_hour: spec.rate.per_hour,
        read_only: spec.annotations.read_only,
        destructive: spec.annotations.destructive,
        idempotent: spec.annotations.idempotent,
        open_world: spec.annotations.open_world,
        reads_outside: spec.untrusted_output,
        attended_only: spec.attended_only,
    }
}
