//! `routine_update`: a change of a job, as it was when it was seen.

use rouse_core::routines::Wish;
use rouse_core::tool::{Annotations, ToolContext, ToolSpec};
use serde_json::{Value, json};

use super::draft::{self, Draft};
use super::{Verb, changing, id_parameter, shown};
use crate::answer::Told;
use crate::{arguments, spec};

/// The verb.
pub(super) struct Update;

impl Verb for Update {
    fn spec() -> ToolSpec {
        let description = "Changes a routine; what is left out stays. It takes the revision that routine_list told, and is \
                           refused when somebody else has changed the routine since: look again then. The person is asked \
                           before.";
        let mut fields = draft::parameters();
        fields.insert("id".to_owned(), id_parameter());
        let revision = json!({ "type": "integer", "minimum": 0, "description": "The revision that routine_list told." });
        fields.insert("revision".to_owned(), revision);
        let changing = changing(
            ("routine_update", "Change a job"),
            description,
            spec::object(&["id", "revision"], fields.into()),
        );
        ToolSpec { annotations: Annotations::OVERWRITES, ..changing }
    }

    fn wish(arguments: &Value, context: &ToolContext) -> Result<Wish, String> {
        let mut rest = arguments.clone();
        let mut take = |key: &str| {
            let fields = rest.as_object_mut().ok_or("The arguments are not an object.")?;
            fields.remove(key).ok_or_else(|| format!("The arguments do not fit: {key} is missing."))
        };
        let id = take("id")?.as_str().ok_or("id: expected a text.")?.to_owned();
        let revision = take("revision")?.as_i64().ok_or("revision: expected a number.")?;
        let draft: Draft = arguments::read(&rest)?;
        if draft.is_empty(context)? {
            return Err("Say what shall be different: nothing was given but the id.".to_owned());
        }
        Ok(Wish::Update { id, patch: draft.document(context)?.into(), revision })
    }

    fn told(answer: &Value, context: &ToolContext) -> Told {
        let routine = shown::routine(answer, context);
        let words = format!("Changed: {}", shown::line(&routine));
        Told { value: json!({ "routine": routine }), words, ..Told::default() }
    }
}
