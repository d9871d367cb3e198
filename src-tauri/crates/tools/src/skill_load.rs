//! `skill_load`: the instructions of a skill that the person trusts.
//!
//! Owns nothing but the check that the run was told of the skill as trusted. Its result is an instruction, so the tool never
//! reads another file: `skill_read` does that, and its results are text from outside.

use std::sync::Arc;

use rouse_core::policy::{ApprovedCall, SKILL_LOAD};
use rouse_core::skills::SkillFiles;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::skill_read::read_of;
use crate::{answer, arguments, spec};

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
        let parameters = spec::object(&["skill"], json!({ "skill": name }));
        let description = "Loads the instructions of a skill that the person gave to this run.";
        let spec = spec::harmless((SKILL_LOAD, "Load a skill"), description, parameters);
        Self { spec, skills }
    }

    async fn load(&self, name: &str, context: &ToolContext) -> ToolOutput {
        let trusted = context.skills.iter().filter(|skill| skill.is_trusted).collect();
        match read_of(&*self.skills, trusted, name, None).await {
            Ok((_, text)) => answer::done(json!({ "skill": name, "instructions": text })),
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
            match arguments::read::<Arguments>(call.arguments()) {
                Ok(Arguments { skill }) => self.load(&skill, context).await,
                Err(words) => arguments::misfit(words),
            }
        })
    }
}
