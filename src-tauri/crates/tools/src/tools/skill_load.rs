//! `skill_load`: the instructions of a trusted skill.
//!
//! Owns the check that the run lists the skill as trusted. Never reads another file: the result is an instruction,
//! while results of `skill_read` are untrusted input.

use std::sync::Arc;

use rouse_core::policy::{ApprovedCall, SKILL_LOAD};
use rouse_core::skills::SkillFiles;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::skill_read::read_skill_file;
use crate::spec::{object_schema, read_only_spec};
use crate::{arguments, output};

pub(crate) struct SkillLoad {
    spec: ToolSpec,
    skills: Arc<dyn SkillFiles>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    skill: String,
}

impl SkillLoad {
    pub(crate) fn new(skills: Arc<dyn SkillFiles>) -> Self {
        let name = json!({ "type": "string", "minLength": 1, "maxLength": 64 });
        let parameters = object_schema(&["skill"], json!({ "skill": name }));
        let description = "Loads the instructions of a skill that the person gave to this run.";
        let spec = read_only_spec(SKILL_LOAD, "Load a skill", description, parameters);
        Self { spec, skills }
    }

    async fn load(&self, name: &str, context: &ToolContext) -> ToolOutput {
        let trusted = context.skills.iter().filter(|skill| skill.is_trusted).collect();
        match read_skill_file(&*self.skills, trusted, name, None).await {
            Ok((_, text)) => output::success(json!({ "skill": name, "instructions": text })),
            Err(refusal) => *refusal,
        }
    }
}

impl Tool for SkillLoad {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match arguments::parse::<Arguments>(call.arguments()) {
                Ok(Arguments { skill }) => self.load(&skill, context).await,
                Err(message) => arguments::invalid_arguments(message),
            }
        })
    }
}
