//! `skill_read`: the instructions of a skill, or another file of the skill.
//!
//! Reads only skills in the run's context, in the state at the start of the run. The result is untrusted input: trusted
//! instructions reach a model through `skill_load`. The result records whether the skill was trusted, for the taint of
//! later runs of the session.

use std::sync::Arc;

use rouse_core::policy::{ApprovedCall, SKILL_READ};
use rouse_core::skills::{SkillFiles, SkillInRun};
use rouse_core::tool::{BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::skill_load::SkillLoad;
use crate::spec::{object_schema, read_only_spec};
use crate::{arguments, output};

/// The tools for these skills.
#[must_use]
pub fn skill_tools(skills: Arc<dyn SkillFiles>) -> Vec<Arc<dyn Tool>> {
    let parameters = object_schema(
        &["skill"],
        json!({
            "skill": { "type": "string", "description": "One of this run's skills.", "minLength": 1, "maxLength": 64 },
            "path": { "type": "string", "description": "A file of it. Default: its instructions.", "minLength": 1, "maxLength": 4_096 },
        }),
    );
    let base = read_only_spec(SKILL_READ, "Read a skill", "Reads a file of a skill.", parameters);
    let load = SkillLoad::new(Arc::clone(&skills));
    let read = SkillRead { spec: ToolSpec { untrusted_output: true, ..base }, skills };
    vec![Arc::new(load), Arc::new(read)]
}

struct SkillRead {
    spec: ToolSpec,
    skills: Arc<dyn SkillFiles>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    skill: String,
    path: Option<String>,
}

impl SkillRead {
    async fn read(&self, arguments: &Arguments, context: &ToolContext) -> ToolOutput {
        let Arguments { skill: name, path } = arguments;
        let skills = context.skills.iter().collect();
        match read_skill_file(&*self.skills, skills, name, path.as_deref()).await {
            Ok((skill, content)) => {
                let trusted = skill.is_trusted;
                output::success(json!({ "skill": name, "trusted": trusted, "content": content }))
            }
            Err(refusal) => *refusal,
        }
    }
}

/// Finds a skill by name and reads a file of the skill.
pub(crate) async fn read_skill_file<'s>(
    files: &dyn SkillFiles,
    skills: Vec<&'s SkillInRun>,
    name: &str,
    path: Option<&str>,
) -> Result<(&'s SkillInRun, String), Box<ToolOutput>> {
    let Some(skill) = skills.iter().copied().find(|skill| skill.name == name) else {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
        let message =
            format!("{name} is not a skill of this run. Its skills are: {}.", names.join(", "));
        return Err(Box::new(output::failure(Fault::InvalidParameters, message)));
    };
    match files.read(skill, path).await {
        Ok(content) => Ok((skill, content)),
        Err(refusal) => Err(Box::new(output::failure(Fault::Execution, refusal.to_string()))),
    }
}

impl Tool for SkillRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match arguments::parse(call.arguments()) {
                Ok(arguments) => self.read(&arguments, context).await,
                Err(message) => arguments::invalid_arguments(message),
            }
        })
    }
}
