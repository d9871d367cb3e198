//! Calls that write the value of a stored secret into the workspace, or what reads like one.
//!
//! Owns how such a call is asked about and made. The question, the answer, a grant and hooks know it by its handles;
//! the value is in memory only, as long as the answer of the model is. After a question the call, and any that waited
//! behind it, comes out of the transcript, which marks where a value stood, and its arguments are put together again
//! from what was kept of them when the run began to wait: by handles, or, where no handle can stand for what is there
//! (another spelling, words that read like it), in memory alone, and then the question shows marks. What cannot be put
//! together like that, with the very values that stood there, is refused (`Lost`). One could get it wrong by putting a value
//! wherever a transcript has such a mark: a model can write the mark, too.

use std::collections::BTreeMap;

use rouse_core::UnixMs;
use rouse_core::approval::{Approval, Refusal, Surroundings, values_in};
use rouse_core::message::ToolCallRequest;
use rouse_core::tool::{ApprovalRule, ToolContext};
use rouse_store::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::guard::is_alone;
use super::refused::Refused;
use super::{Called, Gate, Terms};
use crate::safety::{Marked, Safety};
use crate::secret::{ByHandles, Gone};

/// The arguments of a call that holds stored secrets, as they are written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Kept {
    /// Handles stand in them.
    ByHandles(ByHandles),
    /// Marks stand in them, and memory has what they stand for.
    InMemory {
        /// The arguments.
        arguments: Value,
        /// Under what name memory has them as they are.
        held: String,
        /// When the secrets that the marks name were set, by name.
        set_at: BTreeMap<String, UnixMs>,
    },
}

impl Kept {
    pub(super) const fn arguments(&self) -> &Value {
        match self {
            Self::ByHandles(ByHandles { arguments, .. }) | Self::InMemory { arguments, .. } => {
                arguments
            }
        }
    }

    /// `surroundings` with how the arguments beside them are written down.
    pub(super) fn noted(kept: Option<&Self>, surroundings: Surroundings) -> Surroundings {
        match kept {
            None => surroundings,
            Some(Self::ByHandles(kept)) => Surroundings {
                holds_values: true,
                values_set_at: kept.set_at.clone(),
                ..surroundings
            },
            Some(Self::InMemory { held, set_at, .. }) => Surroundings {
                held: Some(held.clone()),
                values_set_at: set_at.clone(),
                ..surroundings
            },
        }
    }
}

/// What can stand in the arguments of a call for what it holds.
enum StandIns {
    Handles(ByHandles),
    Marks(Marked),
}

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
    /// Memory alone had it, and that is another one by now.
    Forgotten,
    /// It was kept, and the secret is not the one of then.
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
            Some(kept) if writes_here => Some(StandIns::Handles(kept)),
            _ => {
                let marked = safety.marked(&arguments)?;
                let may_be_asked = writes_here || safety.hides_words_alone(&marked);
                may_be_asked.then_some(StandIns::Marks(marked))
            }
        };
        Some(match self.safety.apart(look).await? {
            StandIns::Handles(kept) => Kept::ByHandles(kept),
            StandIns::Marks(marked) => Kept::InMemory {
                held: self.held.keep(&request.tool, &request.arguments),
                arguments: marked.arguments,
                set_at: marked.set_at,
            },
        })
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
            Lost::Unkept => unkept(name, if would_ask { Unkept::Asked } else { Unkept::Waited }),
            Lost::CutOff => format!(
                "This call of {name} held the value of a stored secret, and Rouse was stopped before the call had an end. What is left of it has a mark in the place of the value, so it is not made from that."
            ),
            Lost::Forgotten => format!(
                "This call of {name} waited for a person. It holds what reads like a stored secret, which memory alone had, and it is gone from there, as after a new start of Rouse; so it was not made. Make this call of {name} again: then the person is asked anew."
            ),
            Lost::Gone(gone) => {
                format!("This call of {name} held or read like {gone}. So it was not made.")
            }
        };
        self.refuse(request, context, Refused::new(Refusal::Unkept, words)).await
    }

    /// The arguments of a question's call, as it is to be made.
    ///
    /// # Errors
    /// Why it cannot be made with the values that the answer is about.
    pub(crate) async fn asked_call(&self, asked: &Approval) -> Result<Value, Lost> {
        let arguments = asked.arguments.clone();
        if let Some(held) = &asked.surroundings.held {
            return self.out_of_memory(held, &asked.surroundings.values_set_at).await;
        }
        if !asked.surroundings.holds_values {
            return Ok(arguments);
        }
        let set_at = asked.surroundings.values_set_at.clone();
        let kept = ByHandles { arguments, set_at };
        self.safety.secrets().put_back_after_a_look(&kept).await.map_err(Lost::Gone)
    }

    /// The arguments of a call out of a transcript as the model had written them, of what was `kept` of them.
    ///
    /// # Errors
    /// Why they cannot be had.
    pub(crate) async fn as_written(
        &self,
        call: &ToolCallRequest,
        kept: &Kept,
    ) -> Result<Value, Lost> {
        let kept = match kept {
            Kept::ByHandles(kept) => kept,
            Kept::InMemory { held, set_at, .. } => return self.out_of_memory(held, set_at).await,
        };
        let written = self.safety.secrets().put_back_after_a_look(kept).await;
        let written = written.map_err(Lost::Gone)?;
        let is_call = self.safety.without_stored(&written).as_ref() == Some(&call.arguments);
        if is_call { Ok(written) } else { Err(Lost::Gone(Gone::Unlike)) }
    }

    /// The arguments that memory has under the name `held`, while the secrets that they read like are those of then: of
    /// any other one, what is written down of the call would hide nothing.
    async fn out_of_memory(
        &self,
        held: &str,
        set_at: &BTreeMap<String, UnixMs>,
    ) -> Result<Value, Lost> {
        let arguments = self.held.arguments(held).ok_or(Lost::Forgotten)?;
        self.safety.secrets().still_has_after_a_look(set_at).await.map_err(Lost::Gone)?;
        Ok(arguments)
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

/// What a model is told of a call that cannot be written down, because that would hold a secret.
pub(super) fn unkept(tool: &str, when: Unkept) -> String {
    let (begin, why, then) = match when {
        Unkept::Asked => (
            "needs a person's yes",
            "that a question would write down, so it cannot be asked about",
            "which can be asked about",
        ),
        Unkept::Waited => (
            "has waited until a person had answered about another one",
            "that could not be kept meanwhile, so it was not made",
            "which can be kept",
        ),
    };
    format!(
        "This call of {tool} {begin}, and it holds the value of a stored secret in a way {why}. Take it out: in a request, write {{{{secret:NAME}}}} in its place; for a file, call write_file with it in the content and not in the path, {then}."
    )
}

/// What a person is told of a call that shows marks.
pub(super) fn told_of_marks(names: &[&str]) -> String {
    let secrets = match names {
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
