//! `routine_history`: how the newest runs of a job went.

use rouse_core::routines::Wish;
use rouse_core::tool::{ToolContext, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Verb, id_parameter, shown};
use crate::answer::Told;
use crate::{arguments, spec};

/// Runs when the caller names no number, and the most.
const USUAL: u32 = 10;
const MOST: u32 = 50;

/// The verb.
pub(super) struct History;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: String,
    limit: Option<u32>,
}

impl Verb for History {
    fn spec() -> ToolSpec {
        let description =
            "Lists the newest runs of a routine, with how they ended and what they reported.";
        let parameters = spec::object(
            &["id"],
            json!({
                "id": id_parameter(),
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": format!("Default: {USUAL}.") },
            }),
        );
        let harmless = spec::harmless(
            ("routine_history", "Look at the runs of a job"),
            description,
            parameters,
        );
        // A report quotes what a run has read.
        ToolSpec { untrusted_output: true, ..harmless }
    }

    fn wish(arguments: &Value, _: &ToolContext) -> Result<Wish, String> {
        let Arguments { id, limit } = arguments::read(arguments)?;
        Ok(Wish::History { id, limit: limit.unwrap_or(USUAL).clamp(1, MOST) })
    }

    fn told(answer: &Value, context: &ToolContext) -> Told {
        let entries = answer["entries"].as_array().into_iter().flatten();
        let runs: Vec<Value> = entries.map(|run| shown::run(run, context)).collect();
        let line = |run: &Value| {
            let text = |key: &str| run[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text("at"), text("state"), text("summary") + &text("error"))
        };
        let lines: Vec<String> = runs.iter().map(line).collect();
        let words =
            if lines.is_empty() { "It has not run yet.".to_owned() } else { lines.join("\n") };
        Told { value: json!({ "runs": runs }), words, ..Told::default() }
    }
}
