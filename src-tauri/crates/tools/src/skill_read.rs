//! `skill_read`: the instructions of a skill, or another of its files.
//!
//! It reads only skills that the run was told of, as they were then: the list stands in the run's context, and no argument
//! adds to it. Whatever it reads is text from outside: the instructions of a skill that is trusted reach a model by another
//! way, and the other files of one may hold what somebody has pasted there. It says whether a person trusted the skill as it
//! was: by that later runs of the session know what they inherit, whatever becomes of the skill.

use std::sync::Arc;

use rouse_core::policy::{ApprovedCall, SKILL_READ};
use rouse_core::skills::{SkillFiles, SkillInRun};
use rouse_core::tool::{BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::skill_load::SkillLoad;
use crate::{answer, arguments, spec};

/// The tools, over the skills there are.
#[must_use]
pub fn skill_tools(skills: Arc<dyn SkillFiles>) -> Vec<Arc<dyn Tool>> {
    let parameters = spec::object(
        &["skill"],
        json!({
            "skill": { "type": "string", "description": "One of this run's skills.", "minLength": 1, "maxLength": 64 },
            "path": { "type": "string", "description": "A file of it. Default: its instructions.", "minLength": 1, "maxLength": 4_096 },
        }),
    );
    let harmless =
        spec::harmless((SKILL_READ, "Read a skill"), "Reads a file of a skill.", parameters);
    let load = SkillLoad::new(Arc::clone(&skills));
    let read = SkillRead { spec: ToolSpec { untrusted_output: true, ..harmless }, skills };
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
    async fn read(&self, asked: &Arguments, context: &ToolContext) -> ToolOutput {
        let Arguments { skill: name, path } = asked;
        let skills = context.skills.iter().collect();
        match read_of(&*self.skills, skills, name, path.as_deref()).await {
            Ok((skill, content)) => {
                let trusted = skill.is_trusted;
                answer::done(json!({ "skill": name, "trusted": trusted, "content": content }))
            }
            Err(refusal) => *refusal,
        }
    }
}

/// The skill of this name among `skills`, and a file of it.
pub(crate) async fn read_of<'s>(
    files: &dyn SkillFiles,
    skills: Vec<&'s SkillInRun>,
    name: &str,
    path: Option<&str>,
) -> Result<(&'s SkillInRun, String), Box<ToolOutput>> {
    let Some(skill) = skills.iter().copied().find(|skill| skill.name == name) else {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
        let words =
            format!("{name} is no skill of this run. Its skills are: {}.", names.join(", "));
        return Err(Box::new(answer::failed(Fault::InvalidParameters, words)));
    };
    match files.read(skill, path).await {
        Ok(content) => Ok((skill, content)),
        Err(refusal) => Err(Box::new(answer::failed(Fault::Execution, refusal.to_string()))),
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
            match arguments::read(call.arguments()) {
                Ok(asked) => self.read(&asked, context).await,
                Err(words) => arguments::misfit(words),
            }
        })
    }
}
