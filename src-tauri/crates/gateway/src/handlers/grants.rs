//! `grants.*`: grants of jobs.

use std::collections::HashMap;

use rouse_core::approval::{ArgumentRule, Grant, GrantFolder, GrantScope};
use rouse_core::job::Job;
use rouse_core::{GrantId, JobId};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{
    ChangeResult, GrantRef, GrantScopeView, GrantView, GrantsListParams, GrantsListResult,
};

pub(crate) async fn list(
    context: &Context,
    params: GrantsListParams,
) -> Result<GrantsListResult, RpcError> {
    let grants = match params.job_id {
        Some(job) => {
            let mut grants = context.store.grants_of_job(&JobId::new(job)).await?;
            grants.reverse();
            grants
        }
        None => context.store.grants().await?,
    };
    let mut names: HashMap<JobId, Option<String>> = HashMap::new();
    let mut views = Vec::with_capacity(grants.len());
    for grant in grants {
        if !names.contains_key(&grant.job_id) {
            let job = context.store.job(&grant.job_id).await?;
            names.insert(grant.job_id.clone(), job.map(|job| job.name));
        }
        let name = names.get(&grant.job_id).cloned().flatten();
        views.push(view(context, grant, name));
    }
    Ok(GrantsListResult { grants: views })
}

/// The valid grants of a job.
pub(super) async fn valid_grants(context: &Context, job: &Job) -> Result<Vec<GrantView>, RpcError> {
    let grants = context.store.grants_of_job(&job.id).await?.into_iter();
    let valid = grants.filter(|grant| grant.is_valid(context.clock.now()));
    Ok(valid.map(|grant| view(context, grant, Some(job.name.clone()))).collect())
}

/// Revokes a grant, also for active runs.
pub(crate) async fn revoke(context: &Context, params: GrantRef) -> Result<ChangeResult, RpcError> {
    let id = GrantId::new(params.id);
    Ok(ChangeResult { changed: context.store.revoke_grant(&id, context.clock.now()).await? })
}

fn view(context: &Context, grant: Grant, job_name: Option<String>) -> GrantView {
    let is_valid = grant.is_valid(context.clock.now());
    let void_reason = grant.void_reason().map(str::to_owned);
    let covers = match grant.covers {
        GrantScope::Exact { arguments, .. } => GrantScopeView::Exact {
            arguments: context.gate.shown_arguments(&grant.tool, &arguments),
        },
        GrantScope::Pattern { rules, works_in } => GrantScopeView::Pattern {
            folder: match works_in {
                GrantFolder::Folder(folder) => Some(folder),
                GrantFolder::NoFolder | GrantFolder::Unknown => None,
            },
            rules: rules
                .into_iter()
                .map(|(name, rule)| {
                    let rule = shown_rule(context, &grant.tool, &name, rule);
                    (name, rule)
                })
                .collect(),
        },
    };
    GrantView {
        id: grant.id.to_string(),
        job_id: grant.job_id.to_string(),
        job_name,
        tool: grant.tool,
        covers,
        created_at_ms: grant.created_at.0,
        expires_at_ms: grant.expires_at.map(|at| at.0),
        uses_left: grant.uses_left,
        used: grant.used,
        revoked_at_ms: grant.revoked_at.map(|at| at.0),
        is_valid,
        void_reason,
    }
}

/// The rule without values that the tool hides.
fn shown_rule(context: &Context, tool: &str, argument: &str, rule: ArgumentRule) -> ArgumentRule {
    let shown = |value: Value| {
        context.gate.shown_arguments(tool, &json!({ argument: value }))[argument].clone()
    };
    match rule {
        ArgumentRule::Equals(value) => ArgumentRule::Equals(shown(value)),
        ArgumentRule::OneOf(values) => ArgumentRule::OneOf(values.into_iter().map(shown).collect()),
        ArgumentRule::Any | ArgumentRule::Below(_) => rule,
    }
}
