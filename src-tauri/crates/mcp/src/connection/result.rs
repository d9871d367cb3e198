//! The result of a tool call.
//!
//! Owns the parts of a result as the server sent them. A request for input in the place of a result is an error here,
//! because the call is not finished. Never decodes base64 and never shortens a text. Unknown kinds of
//! content become their JSON text, so a newer server loses nothing.

use serde_json::Value;

use super::error::ConnectionError;
use super::requested_input::RequestedInput;

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallResult {
    /// The content, in the order of the server.
    pub(crate) content: Vec<ContentPart>,
    /// The structured form of the content.
    pub(crate) structured: Option<Value>,
    /// Whether the tool failed.
    pub(crate) is_error: bool,
}

/// A part of a result. `data` is base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContentPart {
    /// Text.
    Text(String),
    /// An image.
    Image { mime: String, data: String },
    /// A sound.
    Audio { mime: String, data: String },
    /// An embedded resource: its text or its data.
    Resource { uri: String, mime: Option<String>, text: Option<String>, data: Option<String> },
    /// A link to a resource.
    Link { uri: String, name: String, description: Option<String> },
}

impl CallResult {
    /// Reads the result of `tools/call`.
    pub(super) fn read(result: Value) -> Result<Self, ConnectionError> {
        if result["resultType"] == "input_required" {
            let input = RequestedInput::read(&result).map_err(ConnectionError::Protocol)?;
            return Err(ConnectionError::InputRequired(Box::new(input)));
        }
        let Value::Object(mut fields) = result else {
            return Err(ConnectionError::Protocol(
                "The server answered the call with something other than a JSON object.".to_owned(),
            ));
        };
        let content = match fields.remove("content") {
            Some(Value::Array(parts)) => parts.iter().map(ContentPart::read).collect(),
            Some(Value::Null) | None => Vec::new(),
            Some(other) => vec![ContentPart::Text(other.to_string())],
        };
        let structured = fields.remove("structuredContent").filter(|value| !value.is_null());
        let is_error = fields.get("isError").and_then(Value::as_bool).unwrap_or(false);
        Ok(Self { content, structured, is_error })
    }
}

impl ContentPart {
    fn read(part: &Value) -> Self {
        Self::read_known(part).unwrap_or_else(|| Self::Text(part.to_string()))
    }

    /// A part of a known kind with all its fields.
    fn read_known(part: &Value) -> Option<Self> {
        let known = match part.get("type")?.as_str()? {
            "text" => Self::Text(string(part, "text")?),
            "image" => Self::Image { mime: string(part, "mimeType")?, data: string(part, "data")? },
            "audio" => Self::Audio { mime: string(part, "mimeType")?, data: string(part, "data")? },
            "resource" => {
                let resource = part.get("resource")?;
                Self::Resource {
                    uri: string(resource, "uri")?,
                    mime: string(resource, "mimeType"),
                    text: string(resource, "text"),
                    data: string(resource, "blob"),
                }
            }
            "resource_link" => Self::Link {
                uri: string(part, "uri")?,
                name: string(part, "name")?,
                description: string(part, "description"),
            },
            _ => return None,
        };
        Some(known)
    }
}

fn string(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn known_content_is_read_by_kind() {
        let result = CallResult::read(json!({"content": [
            {"type": "text", "text": "hello"},
            {"type": "image", "mimeType": "image/png", "data": "AA=="},
            {"type": "resource", "resource": {"uri": "note://1", "text": "n"}},
            {"type": "resource_link", "uri": "note://2", "name": "two"},
        ], "structuredContent": {"sum": 3}, "isError": true}))
        .expect("a result");
        assert_eq!(
            result.content,
            [
                ContentPart::Text("hello".to_owned()),
                ContentPart::Image { mime: "image/png".to_owned(), data: "AA==".to_owned() },
                ContentPart::Resource {
                    uri: "note://1".to_owned(),
                    mime: None,
                    text: Some("n".to_owned()),
                    data: None
                },
                ContentPart::Link {
                    uri: "note://2".to_owned(),
                    name: "two".to_owned(),
                    description: None
                },
            ]
        );
        assert_eq!((result.structured, result.is_error), (Some(json!({"sum": 3})), true));
    }

    #[test]
    fn unknown_content_becomes_json_text() {
        let result = CallResult::read(json!({"content": [{"type": "hologram", "data": 1}]}));
        let expected = ContentPart::Text(r#"{"type":"hologram","data":1}"#.to_owned());
        assert_eq!(result.expect("a result").content, [expected]);
    }

    #[test]
    fn unfinished_call_is_an_input_request() {
        let request = json!({"method": "elicitation/create", "params": {"message": "Who?"}});
        let result = json!({"resultType": "input_required", "inputRequests": {"q": request}});
        let error = CallResult::read(result).expect_err("no result");
        assert!(matches!(error, ConnectionError::InputRequired(_)), "{error:?}");
        let odd = json!({"resultType": "input_required", "requestState": "later"});
        let error = CallResult::read(odd).expect_err("no result");
        assert!(matches!(error, ConnectionError::Protocol(_)), "{error:?}");
    }

    #[test]
    fn result_without_object_is_a_protocol_error() {
        let error = CallResult::read(json!([1])).expect_err("no result");
        assert!(matches!(error, ConnectionError::Protocol(_)), "{error:?}");
    }
}
