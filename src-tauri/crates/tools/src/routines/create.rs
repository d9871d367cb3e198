//! `routine_create`: a new job.

use rouse_core::routines::Wish;
use rouse_core::tool::{Annotations, RateLimit, ToolContext, ToolSpec};
use serde_json::{Value, json};

use super::draft::{self, Draft};
use super::{Verb, changing, shown};
use crate::answer::Told;
use crate::{arguments, spec};

/// The verb.
pub(super) struct Create;

impl Verb for Create {
    fn spec() -> ToolSpec {
        let description = "Makes a routine: something that happens once or again and again at the person's times. It is for \
                           what the person wants; look with routine_list whether there is one already. The person is asked \
                           before it is made.";
        let parameters = spec::object(&["name", "schedule"], draft::parameters().into());
        let rate = RateLimit { per_minute: 5, per_hour: 30 };
        let changing = changing(("routine_create", "Make a job"), description, parameters);
        ToolSpec { annotations: Annotations::ADDS, rate, ..changing }
    }

    fn wish(arguments: &Value, context: &ToolContext) -> Result<Wish, String> {
        let draft: Draft = arguments::read(arguments)?;
        let document = draft.document(context)?;
        if document.get("payload").is_none_or(|payload| payload.get("kind").is_none()) {
            return Err("Say what it does: give message, reminder or call.".to_owned());
        }
        Ok(Wish::Create { draft: document.into() })
    }

    fn told(answer: &Value, context: &ToolContext) -> Told {
        let routine = shown::routine(answer, context);
        let words = format!("New job: {}", shown::line(&routine));
        Told { value: json!({ "routine": routine }), words, ..Told::default() }
    }
}
