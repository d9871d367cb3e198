//! `routine_fire`: a run of a job at once; its schedule does not move.

use rouse_core::routines::Wish;
use rouse_core::tool::{Annotations, RateLimit, ToolContext, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Verb, changing, id_parameter};
use crate::answer::Told;
use crate::{arguments, spec};

/// The verb.
pub(super) struct Fire;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: String,
}

impl Verb for Fire {
    fn spec() -> ToolSpec {
        let description = "Runs a routine at once, beside its schedule. It works by itself; look for the outcome later with \
                           routine_history. The person is asked before.";
        let parameters = spec::object(&["id"], json!({ "id": id_parameter() }));
        let changing = changing(("routine_fire", "Run a job"), description, parameters);
        // What the run does is for the routine to say.
        let rate = RateLimit { per_minute: 10, per_hour: 60 };
        ToolSpec { annotations: Annotations::ANYTHING, rate, ..changing }
    }

    fn wish(arguments: &Value, _: &ToolContext) -> Result<Wish, String> {
        let Arguments { id } = arguments::read(arguments)?;
        Ok(Wish::Fire { id })
    }

    fn told(answer: &Value, _: &ToolContext) -> Told {
        Told {
            value: json!({ "runId": answer["runId"] }),
            words: "It was started.".to_owned(),
            ..Told::default()
        }
    }
}
