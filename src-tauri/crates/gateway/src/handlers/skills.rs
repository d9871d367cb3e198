//! `skills.*`. No tool of a model leads here: trust is a person's to give.

use std::collections::HashMap;

use rouse_agent::TrustError;
use rouse_core::job::Payload;
use rouse_core::skills::{SkillFolder, Trust};
use rouse_store::JobQuery;

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    Empty, SkillRef, SkillTrust, SkillTrustParams, SkillUser, SkillView, SkillsListResult,
};

pub(crate) async fn list(context: &Context, _: Empty) -> Result<SkillsListResult, RpcError> {
    let mut users = users(context).await?;
    let folders = context.skills.list().await?;
    let skills = folders.into_iter().map(|found| {
        // A job means the one that can be used.
        let used_by = found.skill.is_ok().then(|| users.remove(&found.name)).flatten();
        view(found, used_by.unwrap_or_default())
    });
    Ok(SkillsListResult {
        skills: skills.collect(),
        own_folder: context.skills.root().display().to_string(),
        installed_folder: context.skills.installed().display().to_string(),
    })
}

pub(crate) async fn trust(
    context: &Context,
    params: SkillTrustParams,
) -> Result<SkillView, RpcError> {
    let trusted = context.skills.trust(&params.name, &params.digest, context.clock.now()).await;
    trusted.map_err(refused)?;
    one(context, &params.name).await
}

pub(crate) async fn distrust(context: &Context, params: SkillRef) -> Result<SkillView, RpcError> {
    let taken = context.skills.distrust(&params.name, context.clock.now()).await;
    taken.map_err(refused)?;
    one(context, &params.name).await
}

async fn one(context: &Context, name: &str) -> Result<SkillView, RpcError> {
    let skills = list(context, Empty {}).await?.skills;
    let found = skills.into_iter().find(|skill| skill.name == name && skill.problem.is_none());
    found.ok_or_else(|| {
        RpcError::new(ErrorCode::NotFound, format!("There is no skill called {name}."))
    })
}

/// The jobs that name each skill.
async fn users(context: &Context) -> Result<HashMap<String, Vec<SkillUser>>, RpcError> {
    let mut users: HashMap<String, Vec<SkillUser>> = HashMap::new();
    // All of them.
    let query = JobQuery { include_disabled: true, ..JobQuery::default() };
    for job in context.store.jobs(&query).await?.jobs {
        let Payload::AgentTurn(turn) = &job.payload else { continue };
        for skill in &turn.skills {
            let user = SkillUser { job_id: job.id.to_string(), name: job.name.clone() };
            users.entry(skill.clone()).or_default().push(user);
        }
    }
    Ok(users)
}

fn refused(error: TrustError) -> RpcError {
    match error {
        TrustError::Store(error) => error.into(),
        TrustError::Unusable(why) => RpcError::new(ErrorCode::NotFound, why),
        TrustError::Changed(_) => RpcError::new(ErrorCode::Conflict, error.to_string()),
        TrustError::Own(_) => RpcError::field("name", &error.to_string()),
    }
}

fn view(found: SkillFolder, used_by: Vec<SkillUser>) -> SkillView {
    let SkillFolder { name, folder, is_installed, skill } = found;
    let path = folder.display().to_string();
    let (skill, problem) = match skill {
        Ok(skill) => (Some(skill), None),
        Err(flaw) => (None, Some(flaw)),
    };
    let trust = skill.as_ref().map(|skill| match skill.trust {
        Trust::Own => SkillTrust::Own,
        Trust::Trusted => SkillTrust::Trusted,
        Trust::Changed => SkillTrust::Changed,
        Trust::Untrusted => SkillTrust::Untrusted,
    });
    let files = skill.as_ref().map(|skill| skill.files.clone()).unwrap_or_default();
    let tools = skill.as_ref().and_then(|skill| skill.tools.clone());
    let digest = skill.as_ref().map(|skill| skill.digest.clone());
    let body = skill.as_ref().map(|skill| skill.body.clone());
    let description = skill.map(|skill| skill.description);
    SkillView {
        name,
        description,
        trust,
        is_installed,
        path,
        problem,
        body,
        files,
        tools,
        digest,
        used_by,
    }
}
