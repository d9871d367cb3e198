//! `skills.*`: skills, trust in skills, and installation. No tool calls these methods: only the person grants trust and
//! installs.

use std::collections::HashMap;
use std::path::Path;

use rouse_agent::{SkillInstallError, TrustError};
use rouse_core::job::Payload;
use rouse_core::skills::SkillFolder;
use rouse_store::JobQuery;

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    ChangeResult, EmptyObject, SkillInstallParams, SkillPage, SkillRef, SkillSourceParams,
    SkillTrustParams, SkillUser, SkillView, SkillsListResult,
};

pub(crate) async fn list(context: &Context, _: EmptyObject) -> Result<SkillsListResult, RpcError> {
    let mut users = users(context).await?;
    let folders = context.skills.list().await?;
    let skills = folders.into_iter().map(|folder| {
        // Of several skills with one name, jobs use the usable one.
        let used_by = folder.skill.is_ok().then(|| users.remove(&folder.name)).flatten();
        view(folder, used_by.unwrap_or_default())
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
    trusted.map_err(trust_error)?;
    find(context, &params.name).await
}

pub(crate) async fn distrust(context: &Context, params: SkillRef) -> Result<SkillView, RpcError> {
    let distrusted = context.skills.distrust(&params.name, context.clock.now()).await;
    distrusted.map_err(trust_error)?;
    find(context, &params.name).await
}

pub(crate) async fn preview(
    context: &Context,
    params: SkillSourceParams,
) -> Result<SkillPage, RpcError> {
    context.skill_installer.preview(Path::new(&params.path)).await.map_err(install_error)
}

pub(crate) async fn install(
    context: &Context,
    params: SkillInstallParams,
) -> Result<SkillView, RpcError> {
    let SkillInstallParams { path, hash } = params;
    let now = context.clock.now();
    let installed = context.skill_installer.install(Path::new(&path), &hash, now).await;
    find(context, &installed.map_err(install_error)?.name).await
}

pub(crate) async fn remove(context: &Context, params: SkillRef) -> Result<ChangeResult, RpcError> {
    let removed = context.skill_installer.remove(&params.name, context.clock.now()).await;
    removed.map(|()| ChangeResult { changed: true }).map_err(install_error)
}

async fn find(context: &Context, name: &str) -> Result<SkillView, RpcError> {
    let skills = list(context, EmptyObject {}).await?.skills;
    let skill = skills.into_iter().find(|skill| skill.name == name && skill.problem.is_none());
    skill.ok_or_else(|| RpcError::new(ErrorCode::NotFound, format!("There is no skill {name}.")))
}

/// The jobs with each skill, by name of the skill.
async fn users(context: &Context) -> Result<HashMap<String, Vec<SkillUser>>, RpcError> {
    let mut users: HashMap<String, Vec<SkillUser>> = HashMap::new();
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

fn trust_error(error: TrustError) -> RpcError {
    match error {
        TrustError::Store(error) => error.into(),
        TrustError::Unusable(reason) => RpcError::new(ErrorCode::NotFound, reason),
        TrustError::Changed(_) => RpcError::new(ErrorCode::Conflict, error.to_string()),
        TrustError::Own(_) => RpcError::field("name", &error.to_string()),
    }
}

fn install_error(error: SkillInstallError) -> RpcError {
    let text = error.to_string();
    match error {
        SkillInstallError::Trust(error) => trust_error(error),
        SkillInstallError::Source(reason) => RpcError::field("path", &reason),
        SkillInstallError::NotInstalled(_) => RpcError::new(ErrorCode::NotFound, text),
        SkillInstallError::Unwritable(_) => RpcError::new(ErrorCode::Storage, text),
        SkillInstallError::OwnName(_)
        | SkillInstallError::OwnSkill { .. }
        | SkillInstallError::Changed
        | SkillInstallError::Full => RpcError::new(ErrorCode::Conflict, text),
    }
}

fn view(folder: SkillFolder, used_by: Vec<SkillUser>) -> SkillView {
    let SkillFolder { name, folder, is_installed, skill } = folder;
    let path = folder.display().to_string();
    let (skill, problem) = match skill {
        Ok(skill) => (Some(skill), None),
        Err(problem) => (None, Some(problem)),
    };
    let trust = skill.as_ref().map(|skill| skill.trust);
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
