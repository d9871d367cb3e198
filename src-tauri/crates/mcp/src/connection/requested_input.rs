//! A request for input in the place of a result, and the parameters of the repeated call.
//!
//! Owns the reading of `input_required`: exactly one question for the person. Never reads the state of the server.
//! Pitfall: a form that the protocol library does not know; the request is read from the JSON of the result.

use std::collections::BTreeMap;

use rmcp::model::CallToolRequestParams;
use rouse_core::input_request::InputReply;
use serde_json::{Map, Value, json};

/// The method of a question for the person.
const ELICITATION_METHOD: &str = "elicitation/create";

/// What a server asks in the middle of a call, as the server sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestedInput {
    /// The server's name of the request.
    pub(crate) key: String,
    /// The parameters of the question.
    pub(crate) params: Value,
    /// The state of the call, for the repeated call.
    pub(crate) request_state: Option<String>,
}

impl RequestedInput {
    /// Reads a result of the type `input_required`. The error is a sentence.
    pub(super) fn read(result: &Value) -> Result<Self, String> {
        let requests: Vec<_> = result["inputRequests"].as_object().into_iter().flatten().collect();
        let (key, request) = match requests.as_slice() {
            [] => {
                return Err("The server wants the same call again later, without a reason.".into());
            }
            [one] => *one,
            several => {
                let count = several.len();
                return Err(format!(
                    "The server asks {count} questions at once; Rouse answers one at a time."
                ));
            }
        };
        if request["method"] != ELICITATION_METHOD {
            return Err("The server asks for something else than input of a person.".to_owned());
        }
        Ok(Self {
            key: key.clone(),
            params: request["params"].clone(),
            request_state: result["requestState"].as_str().map(str::to_owned),
        })
    }
}

/// The parameters of a call; with the answer to the input request of the same call before, if any.
pub(super) fn call_params(
    raw_name: &str,
    arguments: Map<String, Value>,
    input: Option<&InputReply>,
) -> CallToolRequestParams {
    let mut params = CallToolRequestParams::new(raw_name.to_owned()).with_arguments(arguments);
    if let Some(reply) = input {
        let answers = BTreeMap::from([(reply.key.clone(), json!(reply.answer))]);
        params.input_responses = Some(answers);
        params.request_state = reply.request_state.clone();
    }
    params
}

#[cfg(test)]
mod tests {
    use rouse_core::input_request::InputAnswer;

    use super::*;

    fn question() -> Value {
        json!({"method": "elicitation/create", "params": {"message": "Who?"}})
    }

    #[test]
    fn one_question_is_read_with_its_state() {
        let result = json!({"inputRequests": {"q": question()}, "requestState": "st.ate \"1\""});
        let read = RequestedInput::read(&result).expect("a question");
        assert_eq!(read.key, "q");
        assert_eq!(read.params, json!({"message": "Who?"}));
        assert_eq!(read.request_state.as_deref(), Some("st.ate \"1\""));
    }

    #[test]
    fn other_requests_are_errors() {
        let sampling = json!({"method": "sampling/createMessage", "params": {}});
        for (requests, part) in [
            (json!({}), "again later"),
            (json!({"a": question(), "b": question()}), "2 questions"),
            (json!({"a": sampling}), "something else"),
        ] {
            let result = json!({"inputRequests": requests, "requestState": "s"});
            let error = RequestedInput::read(&result).expect_err("no question");
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn repeated_call_has_answer_and_state() {
        let content = json!({"name": "Ada"}).as_object().cloned();
        let reply = InputReply {
            key: "q".to_owned(),
            request_state: Some("s".to_owned()),
            answer: InputAnswer::Accept { content },
            is_for_run: false,
        };
        let params = json!(call_params("work", Map::new(), Some(&reply)));
        let expected = json!({"q": {"action": "accept", "content": {"name": "Ada"}}});
        assert_eq!((&params["inputResponses"], &params["requestState"]), (&expected, &json!("s")));
        let first = json!(call_params("work", Map::new(), None));
        assert!(first.get("inputResponses").is_none() && first.get("requestState").is_none());
    }
}
