//! Calls that write the value of a stored secret into the workspace, or what reads like one.
//!
//! Owns how such a call is asked about and made. The question, the answer, a grant and hooks know it by its handles;
//! the value is in memory only, as long as the answer of the model is. After a question the call, and any that waited
//! behind it, comes out of the transcript, which marks where a value stood, and its arguments are put together again
//! from what was kept of them by handles when the run began to wait. Where no handle can stand for what is there
//! (another spelling, words that read like it), the question shows marks, and memory alone has the arguments. One could
//! get it wrong by putting a value wherever a transcript has such a mark: a model can write the mark, too.

use rouse_core::approval::{Approval, Surroundings, values_in};
use rouse_core::message::ToolCallRequest;
use rouse_core::tool::{Fault, ToolContext, ToolOutput};
use rouse_store::StoreError;
use serde_json::{Value, json};

use super::guard::is_alone;
use super::{Called, Gate};
use crate::safety::Safety;

/// The arguments of a call that holds stored secrets, as they are written down.
pub(crate) struct Kept {
    pub(crate) arguments: Value,
    /// Marks stand in them, and under this name memory has what they stand for; else handles do.
    pub(crate) held: Option<String>,
    /// The secrets that the marks name.
    names: Vec<String>,
}

impl Kept {
    /// `surroundings` with how the arguments beside them are written down.
    pub(super) fn noted(kept: Option<&Self>, surroundings: Surroundings) -> Surroundings {
        let held = kept.and_then(|kept| kept.held.clone());
        Surroundings { holds_values: kept.is_some() && held.is_none(), held, ..surroundings }
    }
}

/// The arguments of a call as hooks are shown them.
pub(super) struct Shown {
    pub(super) arguments: Value,
    /// The stored secrets whose values it writes here, where their handles are shown, by name.
    values: Vec<String>,
}

impl Gate {
    /// The arguments as hooks are shown them: with handles in the place of values, and with marks where none can stand.
    pub(super) async fn shown_to_hooks(&self, request: &ToolCallRequest) -> Shown {
        let arguments = request.arguments.clone();
        let by_handles = move |safety: &Safety| match safety.with_handles(&arguments) {
            Some(kept) => (kept, true),
            None => (safety.without_stored(&arguments).unwrap_or(arguments), false),
        };
        let (arguments, holds_values) = self.safety.apart(by_handles).await;
        let holds_values = holds_values && self.writes_here(&request.tool);
        let surroundings = Surroundings { holds_values, ..Surroundings::default() };
        Shown { values: values_in(&arguments, &surroundings), arguments }
    }

    /// What a hook has made of what it was `shown`, with the values in the place of the handles that it was shown for them.
    pub(super) fn made_of(&self, shown: &Shown, made: &Value) -> Value {
        self.safety.put_back_of(&shown.values, made)
    }

    fn writes_here(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|tool| tool.writes_here())
    }

    /// The arguments as they are asked about and kept, without the values in them; none when there is no value in them, or
    /// the call cannot be asked about.
    pub(crate) async fn kept_by_stand_ins(
        &self,
        request: &ToolCallRequest,
        context: &ToolContext,
    ) -> Option<Kept> {
        let writes_here = self.writes_here(&request.tool);
        let tool = self.tools.get(&request.tool)?;
        if !writes_here && !is_alone(tool.as_ref(), context) {
            return None;
        }
        let arguments = request.arguments.clone();
        let look = move |safety: &Safety| match safety.with_handles(&arguments) {
            Some(kept) if writes_here => Some((kept, None)),
            _ => {
                let marked = safety.marked(&arguments)?;
                let may_be_asked = writes_here || safety.hides_words_alone(&marked);
                let names = marked.names().into_iter().map(str::to_owned).collect();
                may_be_asked.then_some((marked.arguments, Some(names)))
            }
        };
        let (arguments, names): (Value, Option<Vec<String>>) = self.safety.apart(look).await?;
        let held = names.as_ref().map(|_| self.held.keep(&request.tool, &request.arguments));
        Some(Kept { arguments, held, names: names.unwrap_or_default() })
    }

    /// What is written down of what a call works with whose arguments are `kept` like this. The path of a file may read
    /// like a secret as well.
    pub(super) fn noted(&self, kept: Option<&Kept>, surroundings: Surroundings) -> Surroundings {
        let noted = Kept::noted(kept, surroundings);
        if noted.held.is_none() {
            return noted;
        }
        let marked = self.safety.without_stored(&json!(noted));
        // silent-ok: what a mark does not fit into stays as it is, and then nobody is asked.
        marked.and_then(|marked| serde_json::from_value(marked).ok()).unwrap_or(noted)
    }

    /// Whether a question with these facts, as they are `noted`, would write down the value of a stored secret; `kept` are
    /// its arguments where they hold one.
    pub(super) fn would_tell(
        &self,
        request: &ToolCallRequest,
        kept: Option<&Kept>,
        noted: &Surroundings,
    ) -> bool {
        match kept {
            Some(_) => self.safety.without_stored(&json!(noted)).is_some(),
            None => self.safety.without_stored(&request.arguments).is_some(),
        }
    }

    /// The arguments of a call that memory has under this name; none when they are not there any more.
    pub(crate) fn held_call(&self, name: &str) -> Option<Value> {
        self.held.arguments(name)
    }

    /// Refuses a call that has waited behind another one's question and holds a value that could not be kept by a handle, as
    /// it would have been refused alone.
    pub(crate) async fn refuse_unkept(
        &self,
        request: &ToolCallRequest,
        context: &ToolContext,
    ) -> Result<Called, StoreError> {
        let words = match self.writes_here(&request.tool) {
            true => forgotten(&request.tool),
            false => unkept(request),
        };
        self.refuse(request, context, ToolOutput::faulty(Fault::NotAuthorised, words)).await
    }

    /// The arguments of a question's call, as it is to be made; none when a value in them is there no more.
    pub(crate) fn asked_call(&self, asked: &Approval) -> Option<Value> {
        match &asked.surroundings {
            Surroundings { held: Some(name), .. } => self.held_call(name),
            Surroundings { holds_values: true, .. } => self.safety.put_back(&asked.arguments),
            _ => Some(asked.arguments.clone()),
        }
    }

    /// The arguments of a call out of a transcript as the model had written them, of what was `kept` of them by handles;
    /// none when that was another call, or a value in it is there no more.
    pub(crate) fn as_written(&self, call: &ToolCallRequest, kept: &Value) -> Option<Value> {
        let written = self.safety.put_back(kept)?;
        let is_call = self.safety.without_stored(&written).as_ref() == Some(&call.arguments);
        is_call.then_some(written)
    }
}

/// What a model is told of a call that nobody can be asked about, because the question would hold a secret.
pub(super) fn unkept(request: &ToolCallRequest) -> String {
    let tool = &request.tool;
    format!(
        "This call of {tool} needs a person's yes, and it holds the value of a stored secret in a way that a question would write down, so it cannot be asked about. Take it out: in a request, write {{{{secret:NAME}}}} in its place; for a file, call write_file with it in the content and not in the path, which can be asked about."
    )
}

/// What a model is told of a write that has waited and of which memory alone had the words.
fn forgotten(tool: &str) -> String {
    format!(
        "This call of {tool} waited for a person. It holds what reads like a stored secret, which memory alone has, and there it is gone, as after a new start of Rouse; so it was not made. Make this call of {tool} again: then the person is asked anew."
    )
}

/// What a person is told of a call that shows marks.
pub(super) fn told_of_marks(kept: &Kept) -> String {
    let secrets = match kept.names.as_slice() {
        [one] => format!("the stored secret {one}"),
        several => format!("the stored secrets {}", several.join(", ")),
    };
    format!(
        "What stands where the mark is reads like {secrets}, and is written as the model has it. Until then it is in memory only: after a start of Rouse it is asked about again."
    )
}

/// Why no standing yes is made of a call that shows marks.
pub(super) const HELD: &str =
    "Part of it is a mark for what reads like a stored secret, so it cannot be allowed for always.";

/// What a person is told of the values of these secrets in a call that they are asked about.
pub(super) fn told_of_values(names: &[String]) -> String {
    let secrets = match names {
        [one] => format!("the value of the stored secret {one}"),
        several => format!("the values of the stored secrets {}", several.join(", ")),
    };
    format!("It writes {secrets} into the file, where the handle is shown.")
}
