//! `routine_list`: the person's jobs.

use rouse_core::routines::Wish;
use rouse_core::tool::{ToolContext, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Verb, shown};
use crate::answer::Told;
use crate::{arguments, spec};

/// Routines when the caller names no number, and the most.
const USUAL: u32 = 25;
const MOST: u32 = 100;

/// The verb.
pub(super) struct List;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    search: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

impl Verb for List {
    fn spec() -> ToolSpec {
        let description = "Lists the person's routines, those that fire soonest first, with their ids, revisions, next times \
                           and last outcomes. Never say from memory how a routine stands: look here.";
        let parameters = spec::object(
            &[],
            json!({
                "search": { "type": "string", "description": "Words in name, description or task.", "maxLength": 200 },
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": format!("Default: {USUAL}.") },
                "cursor": { "type": "string", "description": "Goes on where nextCursor of an earlier answer says.", "maxLength": 500 },
            }),
        );
        let harmless = spec::harmless(("routine_list", "List the jobs"), description, parameters);
        // Errors of runs quote what programs and pages have said.
        ToolSpec { untrusted_output: true, ..harmless }
    }

    fn wish(arguments: &Value, _: &ToolContext) -> Result<Wish, String> {
        let Arguments { search, limit, cursor } = arguments::read(arguments)?;
        Ok(Wish::List { search, limit: limit.unwrap_or(USUAL).clamp(1, MOST), cursor })
    }

    fn told(answer: &Value, context: &ToolContext) -> Told {
        let jobs = answer["jobs"].as_array().into_iter().flatten();
        let routines: Vec<Value> = jobs.map(|view| shown::routine(view, context)).collect();
        let lines: Vec<String> = routines.iter().map(shown::line).collect();
        let words = if lines.is_empty() { "There are none.".to_owned() } else { lines.join("\n") };
        let mut value = json!({});
        if !answer["nextCursor"].is_null() {
            value["nextCursor"] = answer["nextCursor"].clone();
        }
        value["routines"] = routines.into();
        Told { value, words, ..Told::default() }
    }
}
