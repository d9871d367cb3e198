//! `grants.*`: the standing answers of a person.

use std::collections::HashMap;

use rouse_core::approval::{Cover, Grant, Rule, WorksIn};
use rouse_core::job::Job;
use rouse_core::{GrantId, JobId};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{CoverView, Done, GrantRef, GrantView, GrantsListParams, GrantsListResult};

pub(crate) async fn list(
    context: &Context,
    params: GrantsListParams,
) -> Result<GrantsListResult, RpcError> {
    let grants = match params.job_id {
        Some(job) => {
            let mut of_job = context.store.grants_of(&JobId::new(job)).await?;
            of_job.reverse();
            of_job
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

/// The grants of a job that count.
pub(super) async fn good_of(context: &Context, job: &Job) -> Result<Vec<GrantView>, RpcError> {
    let grants = context.store.grants_of(&job.id).await?.into_iter();
    let good = grants.filter(|grant| grant.is_good(context.clock.now()));
    Ok(good.map(|grant| view(context, grant, Some(job.name.clone()))).collect())
}

/// Takes a grant back; runs that are at work ask again from now on.
pub(crate) async fn revoke(context: &Context, params: GrantRef) -> Result<Done, RpcError> {
    let id = GrantId::new(params.id);
    Ok(Done { changed: context.store.revoke_grant(&id, context.clock.now()).await? })
}

fn view(context: &Context, grant: Grant, job_name: Option<String>) -> GrantView {
    let is_good = grant.is_good(context.clock.now());
    let why_void = grant.why_void().map(str::to_owned);
    let shown = |arguments: &Value| context.gate.shown_arguments(&grant.tool, arguments);
    let shown_at = |name: &str, value: Value| shown(&json!({ name: value }))[name].clone();
    let shown_rule = |name: &str, rule: Rule| match rule {
        Rule::Equals(value) => Rule::Equals(shown_at(name, value)),
        Rule::OneOf(values) => {
            Rule::OneOf(values.into_iter().map(|value| shown_at(name, value)).collect())
        }
        Rule::Any | Rule::Below(_) => rule,
    };
    GrantView {
        id: grant.id.to_string(),
        job_id: grant.job_id.to_string(),
        job_name,
        tool: grant.tool.clone(),
        writes_values: grant.covers.values().to_vec(),
        covers: match grant.covers {
            Cover::Exact { arguments, .. } => CoverView::Exact { arguments: shown(&arguments) },
            Cover::Pattern { rules, works_in, .. } => CoverView::Pattern {
                folder: match works_in {
                    WorksIn::Folder(folder) => Some(folder),
                    WorksIn::NoFolder | WorksIn::Unknown => None,
                },
                rules: rules
                    .into_iter()
                    .map(|(name, rule)| {
                        let rule = shown_rule(&name, rule).into();
                        (name, rule)
                    })
                    .collect(),
            },
        },
        created_at_ms: grant.created_at.0,
        expires_at_ms: grant.expires_at.map(|at| at.0),
        uses_left: grant.uses_left,
        used: grant.used,
        revoked_at_ms: grant.revoked_at.map(|at| at.0),
        is_good,
        why_void,
    }
}
