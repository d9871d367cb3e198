//! The payload of a turn of a model.

use std::collections::HashSet;

use super::{WEEK_SECONDS, unsigned};
use crate::job::{AgentTurn, Payload};
use crate::json_fields::Fields;
use crate::model::Effort;
use crate::skills::{MOST_SKILLS, is_skill_name};

const MOST_FALLBACKS: usize = 5;

/// Reads it.
pub(super) fn read(mut fields: Fields<'_>) -> Payload {
    Payload::AgentTurn(Box::new(AgentTurn {
        message: fields.required_text("message"),
        deliver: fields.boolean("deliver"),
        channel: fields.text("channel"),
        to: fields.text("to"),
        timeout_seconds: unsigned(&mut fields, "timeoutSeconds", 1, WEEK_SECONDS),
        model: fields.text("model"),
        fallbacks: read_fallbacks(&mut fields),
        use_tools: fields.boolean("useTools"),
        tools: fields.texts("tools"),
        max_steps: unsigned(&mut fields, "maxSteps", 1, 50),
        max_tokens: unsigned(&mut fields, "maxTokens", 1, 1_000_000),
        effort: fields.choice("effort", &Effort::ALL.map(|effort| (effort.name(), effort))),
        context_paths: fields.texts("contextPaths").unwrap_or_default(),
        skills: read_skills(&mut fields),
        extra: fields.rest(),
    }))
}

fn read_skills(fields: &mut Fields<'_>) -> Vec<String> {
    let mut names = fields.texts("skills").unwrap_or_default();
    if names.len() > MOST_SKILLS {
        let found = names.len();
        fields.complain("skills", format!("must be at most {MOST_SKILLS}, found {found}"));
    }
    for at in (0..names.len()).filter(|at| !is_skill_name(&names[*at])) {
        let path = format!("skills[{at}]");
        fields.complain(&path, "must be the name of a skill: small letters, digits and hyphens");
    }
    let mut known = HashSet::new();
    names.retain(|name| known.insert(name.clone()));
    names
}

fn read_fallbacks(fields: &mut Fields<'_>) -> Vec<String> {
    let models = fields.texts("fallbacks").unwrap_or_default();
    if models.len() > MOST_FALLBACKS {
        let found = models.len();
        fields.complain("fallbacks", format!("must be at most {MOST_FALLBACKS}, found {found}"));
    }
    for at in (0..models.len()).filter(|at| models[*at].trim().is_empty()) {
        fields.complain(&format!("fallbacks[{at}]"), "must name a model");
    }
    models
}
