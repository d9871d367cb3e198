//! A judged call, as the input of a tool.
//!
//! Owns the only change on the way to the tool: values replace secret handles. The person's answer to an input request
//! comes with the approval, so no argument of a model can stand for the answer.
//! Pitfall: a public constructor; then a call could exist without a judgement.

use serde_json::Value;

use crate::approval::Surroundings;
use crate::input_request::InputReply;
use crate::redaction::handles;

/// A call that may run. Without a public constructor: a value proves the judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovedCall {
    arguments: Value,
    /// The surroundings in the approval; none when no approval was needed.
    bound: Option<Surroundings>,
    /// Whether values of secrets replaced the handles.
    has_values: bool,
    /// The answer to the input request of the same call before.
    input: Option<Box<InputReply>>,
}

impl ApprovedCall {
    pub(super) const fn new(arguments: Value) -> Self {
        Self { arguments, bound: None, has_values: false, input: None }
    }

    /// The arguments.
    #[must_use]
    pub const fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// The surroundings in the approval. The tool compares them with the present surroundings before the start.
    #[must_use]
    pub const fn bound(&self) -> Option<&Surroundings> {
        self.bound.as_ref()
    }

    /// Whether the arguments hold values of stored secrets. The tool then sends the values only to the approved host,
    /// and never cuts an answer inside a value.
    #[must_use]
    pub const fn has_values(&self) -> bool {
        self.has_values
    }

    /// The person's answer to the input request of the same call before; none for a first call.
    #[must_use]
    pub fn input(&self) -> Option<&InputReply> {
        self.input.as_deref()
    }

    /// The same call with this answer.
    pub(super) fn with_input(self, input: Option<InputReply>) -> Self {
        Self { input: input.map(Box::new), ..self }
    }

    /// The same call bound to these surroundings.
    #[must_use]
    pub fn bound_to(self, surroundings: Surroundings) -> Self {
        Self { bound: Some(surroundings), ..self }
    }

    /// The same call with values in the place of secret handles; none when anything else differs.
    #[must_use]
    pub fn with_values(self, arguments: Value) -> Option<Self> {
        let has_values = self.arguments != arguments;
        differ_by_handles_alone(&self.arguments, &arguments).then_some(Self {
            arguments,
            bound: self.bound,
            has_values,
            input: self.input,
        })
    }
}

fn differ_by_handles_alone(judged: &Value, filled: &Value) -> bool {
    match (judged, filled) {
        (Value::String(judged), Value::String(filled)) => {
            judged == filled || handles(judged).next().is_some()
        }
        (Value::Array(judged), Value::Array(filled)) => {
            let mut pairs = judged.iter().zip(filled);
            judged.len() == filled.len() && pairs.all(|(a, b)| differ_by_handles_alone(a, b))
        }
        (Value::Object(judged), Value::Object(filled)) => {
            let mut pairs = judged.iter().zip(filled);
            judged.len() == filled.len()
                && pairs.all(|((a, judged), (b, filled))| {
                    a == b && differ_by_handles_alone(judged, filled)
                })
        }
        (judged, filled) => judged == filled,
    }
}
