//! `routine_delete`: the end of a job.

use rouse_core::routines::Wish;
use rouse_core::tool::{Annotations, ToolContext, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Verb, changing, id_parameter};
use crate::answer::Told;
use crate::{arguments, spec};

/// The verb.
pub(super) struct Delete;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: String,
}

impl Verb for Delete {
    fn spec() -> ToolSpec {
        let description = "Deletes a routine; what it is doing ends. To stop it for a while, switch it off with \
                           routine_update instead. The person is asked before.";
        let parameters = spec::object(&["id"], json!({ "id": id_parameter() }));
        let changing = changing(("routine_delete", "Delete a job"), description, parameters);
        ToolSpec { annotations: Annotations::OVERWRITES, ..changing }
    }

    fn wish(arguments: &Value, _: &ToolContext) -> Result<Wish, String> {
        let Arguments { id } = arguments::read(arguments)?;
        Ok(Wish::Delete { id })
    }

    /// Who waited for it is named: those routines do not fire any more.
    fn told(answer: &Value, _: &ToolContext) -> Told {
        let name = answer["job"]["name"].as_str().unwrap_or_default();
        let names: Vec<&str> = answer["followers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|follower| follower["name"].as_str())
            .collect();
        let mut value = json!({ "deleted": name });
        if !names.is_empty() {
            value["waitedForIt"] = names.into();
        }
        Told { value, words: format!("Deleted: {name}."), ..Told::default() }
    }
}
