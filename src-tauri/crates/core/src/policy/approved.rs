//! A call that was judged: what a tool is handed.
//!
//! Owns what may still change on its way to the tool: values come where its handles stood, and nothing else. One could get it
//! wrong by a public way to make one: then nothing would have judged it.

use serde_json::Value;

use crate::approval::Surroundings;
use crate::hidden::REDACTED;

/// A call that may run. It has no public constructor: holding one proves that it was judged here.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovedCall {
    arguments: Value,
    /// What the yes to it is bound to; none for a call that needed none.
    bound: Option<Surroundings>,
    /// Whether values of secrets stand in it.
    has_values: bool,
}

impl ApprovedCall {
    pub(super) const fn judged(arguments: Value) -> Self {
        Self { arguments, bound: None, has_values: false }
    }

    /// The arguments, as they were judged.
    #[must_use]
    pub const fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// What it worked with when it was judged, where a person's yes is bound to that: the tool holds it against what is
    /// there when it begins.
    #[must_use]
    pub const fn bound(&self) -> Option<&Surroundings> {
        self.bound.as_ref()
    }

    /// Whether values of stored secrets stand where it was judged with handles: the tool keeps what it sends where it was
    /// meant to go, and cuts no answer where that would leave a part of one.
    #[must_use]
    pub const fn has_values(&self) -> bool {
        self.has_values
    }

    /// The same call, bound to this.
    #[must_use]
    pub fn bound_to(self, surroundings: Surroundings) -> Self {
        Self { bound: Some(surroundings), ..self }
    }

    /// The same call with values of secrets where its handles or marks stand, for the last step before the tool; none when
    /// anything else in it differs.
    #[must_use]
    pub fn with_values(self, arguments: Value) -> Option<Self> {
        let has_values = self.has_values || self.arguments != arguments;
        differ_by_stand_ins_alone(&self.arguments, &arguments).then_some(Self {
            arguments,
            bound: self.bound,
            has_values,
        })
    }
}

pub(super) fn differ_by_stand_ins_alone(judged: &Value, filled: &Value) -> bool {
    match (judged, filled) {
        (Value::String(judged), Value::String(filled)) => judged == filled || stands_in(judged),
        // Digits may be a secret, too.
        (Value::String(judged), Value::Number(_)) => stands_in(judged),
        (Value::Array(judged), Value::Array(filled)) => {
            let pairs = judged.iter().zip(filled);
            judged.len() == filled.len()
                && pairs.into_iter().all(|(a, b)| differ_by_stand_ins_alone(a, b))
        }
        (Value::Object(judged), Value::Object(filled)) => {
            let pairs = judged.iter().zip(filled);
            let same = |((a, judged), (b, filled)): ((&String, &Value), (&String, &Value))| {
                a == b && differ_by_stand_ins_alone(judged, filled)
            };
            judged.len() == filled.len() && pairs.into_iter().all(same)
        }
        (judged, filled) => judged == filled,
    }
}

/// Whether something in the text can stand for a value: a handle, or a mark.
fn stands_in(text: &str) -> bool {
    text.contains("{{") && text.contains("secret:") || text.contains(REDACTED)
}
