//! The answer of a person to an input request.
//!
//! Owns the check of the values against the form, with a field path for each error. Never stores the value of a stored
//! secret: the answer goes to a server. Pitfall: taking `once` for an answer; the server would get an empty form.

use rouse_core::input_request::{AnswerError, InputAnswer, InputBody, InputPrompt};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::handlers::input::check_secrets;
use crate::wire::DecisionDraft;

/// The path of the values in the parameters.
const ANSWERS: &str = "decision.answers";

/// The answer in a decision.
pub(super) async fn parse_input_answer(
    context: &Context,
    draft: DecisionDraft,
    prompt: &InputPrompt,
) -> Result<InputAnswer, RpcError> {
    match draft {
        DecisionDraft::Submit { answers } => {
            let answers = answers.unwrap_or_default();
            check_secrets(context, ANSWERS, &json!(answers)).await?;
            accept(answers, prompt)
        }
        DecisionDraft::Deny { .. } => Ok(InputAnswer::Decline),
        DecisionDraft::Cancel => Ok(InputAnswer::Cancel),
        DecisionDraft::Once | DecisionDraft::Run | DecisionDraft::Always { .. } => {
            let message = "must be `submit`, `deny` or `cancel`: the server asks for input";
            Err(RpcError::field("decision.kind", message))
        }
    }
}

fn accept(answers: Map<String, Value>, prompt: &InputPrompt) -> Result<InputAnswer, RpcError> {
    prompt.check(&answers).map_err(|errors| field_errors(&errors))?;
    let is_form = matches!(prompt.body, InputBody::Form { .. });
    Ok(InputAnswer::Accept { content: is_form.then_some(answers) })
}

/// All invalid fields in one error.
fn field_errors(errors: &[AnswerError]) -> RpcError {
    let path = |error: &AnswerError| format!("{ANSWERS}.{}", error.field);
    let lines: Vec<String> =
        errors.iter().map(|error| format!("{}: {}", path(error), error.message)).collect();
    let fields: Vec<Value> = errors
        .iter()
        .map(|error| json!({ "path": path(error), "message": error.message }))
        .collect();
    RpcError {
        data: json!({ "fields": fields }),
        ..RpcError::new(ErrorCode::InvalidParams, lines.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::input_request::{InputField, InputValueKind};

    use super::*;

    fn form() -> InputPrompt {
        let field = |name: &str, is_required, value| InputField {
            name: name.to_owned(),
            label: None,
            description: None,
            is_required,
            value,
        };
        let text = InputValueKind::Text {
            min_length: None,
            max_length: None,
            format: None,
            default: None,
        };
        let count = InputValueKind::Number {
            is_whole: true,
            minimum: Some(1.0),
            maximum: None,
            default: None,
        };
        let fields = vec![field("name", true, text), field("count", false, count)];
        let body = InputBody::Form { fields };
        InputPrompt { server: "cal".to_owned(), message: "Who?".to_owned(), body }
    }

    fn answered(values: Value) -> Result<InputAnswer, RpcError> {
        accept(values.as_object().cloned().expect("an object"), &form())
    }

    #[test]
    fn invalid_answers_are_refused_with_field_paths() {
        let error = answered(json!({ "count": 0, "x": 1 })).expect_err("invalid");
        let paths: Vec<&str> = error.data["fields"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|field| field["path"].as_str())
            .collect();
        assert_eq!(
            paths,
            ["decision.answers.name", "decision.answers.count", "decision.answers.x"]
        );
        assert!(error.message.contains("decision.answers.name: is required"), "{error}");
    }

    #[test]
    fn valid_answers_are_accepted_with_their_values() {
        let values = json!({ "name": "Ada", "count": 2 });
        let content = values.as_object().cloned();
        assert_eq!(answered(values).expect("valid"), InputAnswer::Accept { content });
        let body = InputBody::Url { url: "https://a.example".into(), host: "a.example".into() };
        let page = InputPrompt { body, ..form() };
        let answer = accept(Map::new(), &page).expect("valid");
        assert_eq!(answer, InputAnswer::Accept { content: None });
    }
}
