//! What a model says: the words of its answers, and the ids and arguments of its calls.
//!
//! A model is told no secret, and one that has put one together all the same, out of pieces or out of a spelling that no
//! list knows, must not get it written down by saying it. So the values of stored secrets are taken out of its answer
//! before anything else is done with it: the transcript, the journal, the outcome and the next request to a model all come
//! from what is left. Only what is stored counts here, and not what merely looks like a key: a model may write an
//! example. A call is judged by its arguments as they were written, which stay in memory until the call has been made; one
//! could get it wrong by judging what is left, for then nothing would hold a secret any more.

use std::collections::{HashMap, HashSet};

use rouse_core::message::{ModelAnswer, Part, ToolCallRequest};
use serde_json::Value;

use super::{Safety, leak};

/// The arguments of calls as a model has written them, by the ids of the calls; only where they hold a secret.
pub(crate) type Written = HashMap<String, Value>;

impl Safety {
    /// The answer as it may be kept, and what its calls held beside that.
    pub(crate) fn kept_answer(&self, answer: ModelAnswer) -> (ModelAnswer, Written) {
        let mut written = Written::new();
        let mut ids: HashSet<String> = answer.calls().map(|call| call.id.clone()).collect();
        let parts = answer.parts.into_iter().filter_map(|part| match part {
            Part::Text { text } => Some(Part::Text { text: self.words(&text) }),
            Part::ToolCall(call) => {
                let id = self.kept_id(call.id, &mut ids);
                Some(Part::ToolCall(self.kept_call(ToolCallRequest { id, ..call }, &mut written)))
            }
            // What only its provider reads is not to be changed, so a block that holds a value goes whole.
            Part::Opaque { ref block, .. } => self.without_stored(block).is_none().then_some(part),
        });
        (ModelAnswer { parts: parts.collect(), ..answer }, written)
    }

    /// The id of a call; one that holds a stored secret is replaced by one that no other call of the answer has.
    fn kept_id(&self, id: String, ids: &mut HashSet<String>) -> String {
        if self.text_without_stored(&id).is_none() {
            return id;
        }
        let own = (1..).map(|number| format!("rouse-{number}")).find(|own| !ids.contains(own));
        let own = own.expect("BUG: an answer has an end");
        ids.insert(own.clone());
        own
    }

    fn kept_call(&self, call: ToolCallRequest, written: &mut Written) -> ToolCallRequest {
        let ToolCallRequest { id, tool, arguments } = call;
        let tool = self.words(&tool);
        let arguments = match self.without_stored(&arguments) {
            Some(kept) => {
                written.insert(id.clone(), arguments);
                kept
            }
            None => arguments,
        };
        ToolCallRequest { id, tool, arguments }
    }

    /// `text` without the values of stored secrets; none when it holds none.
    pub(crate) fn text_without_stored(&self, text: &str) -> Option<String> {
        leak::redacted(text, &leak::find_stored(text, &self.secrets.known()))
    }

    /// What somebody else has sent, as it may be kept: without the values of stored secrets, and still JSON where it is.
    #[must_use]
    pub fn sent(&self, text: &str) -> String {
        let json = serde_json::from_str(text).ok().and_then(|value| self.without_stored(&value));
        self.words(json.map(|json| json.to_string()).as_deref().unwrap_or(text))
    }

    /// `value` without the values of stored secrets; none when it holds none.
    pub(crate) fn without_stored(&self, value: &Value) -> Option<Value> {
        let kept = self.cleaned(value);
        (kept != *value).then_some(kept)
    }

    fn cleaned(&self, value: &Value) -> Value {
        let text = |text: &str| self.words(text);
        match value {
            Value::String(words) => Value::String(text(words)),
            Value::Number(number) => self
                .text_without_stored(&number.to_string())
                .map_or_else(|| value.clone(), Value::String),
            Value::Array(items) => items.iter().map(|item| self.cleaned(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(key, field)| (text(key), self.cleaned(field))).collect()
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::message::StopReason;
    use rouse_core::run::Usage;
    use serde_json::json;

    use super::*;
    use crate::safety::testing::{VALUE, knowing, safety};

    #[test]
    fn what_somebody_sends_is_kept_without_stored_secrets_and_as_the_json_it_is() {
        let pin = knowing("4929103847561");
        assert_eq!(
            pin.sent(r#"{"type": "paid", "by": 4929103847561}"#),
            r#"{"type":"paid","by":"[redacted: secret:mail]"}"#
        );
        assert_eq!(pin.sent("{ \"by\":  1 }"), "{ \"by\":  1 }", "nothing to hide");
        assert_eq!(safety().sent(&format!("by {VALUE}")), "by [redacted: secret:mail]");
    }

    #[test]
    fn what_a_model_says_is_kept_without_stored_secrets_and_judged_with_them() {
        let arguments = json!({ "path": "a.txt", "content": [VALUE, { VALUE: 1 }] });
        let call = ToolCallRequest {
            id: "c1".to_owned(),
            tool: VALUE.to_owned(),
            arguments: arguments.clone(),
        };
        let harmless = ToolCallRequest {
            id: "c2".to_owned(),
            tool: "echo".to_owned(),
            arguments: json!({ "text": "AKIAIOSFODNN7EXAMPLE" }),
        };
        let answer = ModelAnswer {
            parts: vec![
                Part::Text { text: format!("It is {VALUE}.") },
                Part::ToolCall(call),
                Part::ToolCall(harmless.clone()),
            ],
            usage: Usage::default(),
            model: "m".to_owned(),
            stop: StopReason::ToolCalls,
        };
        let (kept, written) = safety().kept_answer(answer);
        assert!(!format!("{kept:?}").contains(VALUE), "{kept:?}");
        assert_eq!(
            kept.parts[2],
            Part::ToolCall(harmless),
            "what only looks like a key is left alone"
        );
        assert_eq!(written, Written::from([("c1".to_owned(), arguments)]));
    }

    #[test]
    fn a_block_that_only_its_provider_reads_goes_whole_where_it_holds_a_secret() {
        let opaque = |block: Value| Part::Opaque { provider: "p".to_owned(), block };
        let words = Part::Text { text: "Done.".to_owned() };
        let signed = opaque(json!({ "kind": "reasoning", "item": { "signature": "c2lnbmVk" } }));
        let answer = ModelAnswer {
            parts: vec![
                opaque(json!({ "kind": "reasoning", "text": [format!("It is {VALUE}.")] })),
                opaque(
                    json!({ "kind": "call", "item": { "arguments": format!("{{\"a\":\"{VALUE}\"}}") } }),
                ),
                signed.clone(),
                words.clone(),
            ],
            usage: Usage::default(),
            model: "m".to_owned(),
            stop: StopReason::End,
        };
        assert_eq!(safety().kept_answer(answer).0.parts, [signed, words]);
    }

    #[test]
    fn a_secret_of_digits_is_none_as_a_number_either() {
        let kept = knowing("1234567890").without_stored(&json!({ "pin": 1234567890 }));
        assert_eq!(kept, Some(json!({ "pin": "[redacted: secret:mail]" })));
        assert_eq!(safety().without_stored(&json!({ "pin": 1234567890 })), None);
    }
}
