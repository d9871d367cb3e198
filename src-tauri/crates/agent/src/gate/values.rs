//! Calls that write the value of a stored secret into the workspace.
//!
//! Owns how such a call is asked about and made. The question, the answer, a grant and hooks know it by its handles;
//! the value is in memory only, as long as the answer of the model is. After a question the call, and any that waited
//! behind it, comes out of the transcript, which marks where a value stood, and its arguments are put together again
//! from what was kept of them by handles when the run began to wait. What cannot be put together like that, with the very
//! values that stood there, is refused (`Lost`). One could get it wrong by putting a value wherever a transcript has such a
//! mark: a model can write the mark, too.

use rouse_core::approval::{Approval, Refusal, Surroundings, values_in};
use rouse_core::hidden::handles;
use rouse_core::message::ToolCallRequest;
use rouse_core::tool::{ApprovalRule, ToolContext};
use rouse_store::StoreError;
use serde_json::{Value, json};

use super::refused::Refused;
use super::{Called, Gate, Terms};
use crate::safety::Safety;
use crate::secret::{ByHandles, Gone};

/// The arguments of a call as hooks are shown them.
pub(super) struct Shown {
    pub(super) arguments: Value,
    /// The stored secrets whose values it writes here, where their handles are shown, by name.
    values: Vec<String>,
}

/// Why a call that held the value of a stored secret is not made any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It could not be kept by handles when its run began to wait.
    Unkept,
    /// Rouse was stopped before it was made, or kept.
    CutOff,
    /// It was kept, and cannot be made with the same value.
    Gone(Gone),
}

impl Gate {
    /// The arguments as hooks are shown them: with handles in the place of values, and with marks where none can stand.
    pub(super) async fn shown_to_hooks(&self, request: &ToolCallRequest) -> Shown {
        let arguments = request.arguments.clone();
        let by_handles = move |safety: &Safety| match safety.with_handles(&arguments) {
            Some(kept) => (kept.arguments, true),
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

    /// The arguments as they are asked about, with handles in the place of values; none when there is no value in them, or
    /// the call cannot be asked about like that.
    pub(crate) async fn by_handles(&self, request: &ToolCallRequest) -> Option<ByHandles> {
        if !self.writes_here(&request.tool) {
            return None;
        }
        let arguments = request.arguments.clone();
        self.safety.apart(move |safety| safety.with_handles(&arguments)).await
    }

    /// Whether a question with these facts would write down the value of a stored secret; `kept` are its arguments where
    /// they hold one.
    pub(super) fn would_tell(
        &self,
        request: &ToolCallRequest,
        kept: Option<&ByHandles>,
        surroundings: &Surroundings,
    ) -> bool {
        match kept {
            // The path of a file may be one.
            Some(_) => self.safety.without_stored(&json!(surroundings)).is_some(),
            None => self.safety.without_stored(&request.arguments).is_some(),
        }
    }

    /// Refuses a call that is `lost`, in words that are true of it.
    pub(crate) async fn refuse_lost(
        &self,
        terms: &Terms,
        request: &ToolCallRequest,
        lost: &Lost,
        context: &ToolContext,
    ) -> Result<Called, StoreError> {
        let tool = self.tools.get(&request.tool);
        let would_ask = tool.is_some_and(|tool| {
            tool.approval(&request.arguments, context) != ApprovalRule::Never
                && !terms.policy.is_granted(&request.tool)
        });
        let name = &request.tool;
        let words = match lost {
            // One that would have been asked about is refused as it would have been alone.
            Lost::Unkept => {
                let when = if would_ask { Unkept::Asked } else { Unkept::Waited };
                unkept(request, self.writes_here(name), when)
            }
            Lost::CutOff => format!(
                "This call of {name} held the value of a stored secret, and Rouse was stopped before the call had an end. What is left of it has a mark in the place of the value, so it is not made from that."
            ),
            Lost::Gone(gone) => format!("This call of {name} held {gone}. So it was not made."),
        };
        self.refuse(request, context, Refused::new(Refusal::Unkept, words)).await
    }

    /// The arguments of a question's call, as it is to be made.
    ///
    /// # Errors
    /// Why it cannot be made with the values that the answer is about.
    pub(crate) async fn asked_call(&self, asked: &Approval) -> Result<Value, Lost> {
        let arguments = asked.arguments.clone();
        if !asked.surroundings.holds_values {
            return Ok(arguments);
        }
        let set_at = asked.surroundings.values_set_at.clone();
        let kept = ByHandles { arguments, set_at };
        self.safety.secrets().put_back_after_a_look(&kept).await.map_err(Lost::Gone)
    }

    /// The arguments of a call out of a transcript as the model had written them, of what was `kept` of them by handles.
    ///
    /// # Errors
    /// Why they cannot be had.
    pub(crate) async fn as_written(
        &self,
        call: &ToolCallRequest,
        kept: &ByHandles,
    ) -> Result<Value, Lost> {
        let written = self.safety.secrets().put_back_after_a_look(kept).await;
        let written = written.map_err(Lost::Gone)?;
        let is_call = self.safety.without_stored(&written).as_ref() == Some(&call.arguments);
        if is_call { Ok(written) } else { Err(Lost::Gone(Gone::Unlike)) }
    }
}

/// For what a call with the value of a stored secret would have to be written down.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unkept {
    /// A person would have to be asked about it.
    Asked,
    /// It has waited for the answer to another one's question, and needs nobody's yes itself.
    Waited,
}

/// What a model is told of a call that cannot be written down, because that would hold a secret, or because a handle that
/// stands in it word for word would be taken for one that stands for a value.
pub(super) fn unkept(request: &ToolCallRequest, writes_here: bool, when: Unkept) -> String {
    let ToolCallRequest { tool, arguments, .. } = request;
    let arguments = arguments.to_string();
    let begin = match when {
        Unkept::Asked => format!("This call of {tool} needs a person's yes, and it holds"),
        Unkept::Waited => format!(
            "This call of {tool} has waited until a person had answered about another one, and it holds"
        ),
    };
    if let Some(handle) = handles(&arguments).next().filter(|_| writes_here) {
        let why = match when {
            Unkept::Asked => {
                "The person would be shown a value by such words and could not tell the two apart, so it cannot be asked about"
            }
            Unkept::Waited => {
                "A value is kept by such words meanwhile and the two could not be told apart, so it was not made"
            }
        };
        return format!(
            "{begin} both the value of a stored secret and the words {}. {why}. Leave those words out, or spell them in another way, as with a space behind `secret:`; the value may stay. Where both have to stand there as they are, end the run and say which file they belong into, so that the person writes them there.",
            &arguments[handle.at]
        );
    }
    let why = match when {
        Unkept::Asked => "that a question would write down, so it cannot be asked about",
        Unkept::Waited => "that could not be kept meanwhile, so it was not made",
    };
    let then = match when {
        Unkept::Asked => "then the person is asked, and sees its name",
        Unkept::Waited => "then it is kept by its name",
    };
    let what_to_do = match writes_here {
        true => format!(
            "Write the value into the content as it is, not in another spelling and not into the path: {then}. Where that does not help, end the run and say which file it belongs into, so that the person writes it there"
        ),
        false => "Take it out: in a request, write {{secret:NAME}} in its place; for a file, call write_file with it, which can be asked about".to_owned(),
    };
    format!("{begin} the value of a stored secret in a way {why}. {what_to_do}.")
}

/// What a person is told of the values of these secrets in a call that they are asked about.
pub(super) fn told_of_values(names: &[String]) -> String {
    let secrets = match names {
        [one] => format!("the value of the stored secret {one}"),
        several => format!("the values of the stored secrets {}", several.join(", ")),
    };
    format!("It writes {secrets} into the file, where the handle is shown.")
}
