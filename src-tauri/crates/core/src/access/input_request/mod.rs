//! Input requests: what a call asks the person before its end, and the answers.
//!
//! Owns the fields of a server's form, the permission that a coding agent asks for, the answers, and the rule that no
//! form asks for a secret. `answers` checks an answer. Never interprets the state of a call: only its tool reads it.
//! Pitfall: a text of the server without a bound; whoever builds a request has cut and escaped each text for people.

mod answers;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

pub use self::answers::AnswerError;

/// Parts of a field's name or label that stand for a secret, in lowercase letters and digits.
const SECRET_WORDS: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "token",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "onetimecode",
    "recoveryphrase",
    "seedphrase",
    "securitycode",
];

/// A request of a call to the person, before its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequest {
    /// What the person sees.
    #[serde(flatten)]
    pub subject: RequestSubject,
    /// The tool's name of the request.
    pub key: String,
    /// The state of the call, which goes back to the tool unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
}

/// What a call asks the person for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RequestSubject {
    /// Input for a server.
    #[serde(rename = "prompt")]
    Input(InputPrompt),
    /// Permission for an action of a coding agent. Decided like an approval of a call.
    #[serde(rename = "permission")]
    Permission(PermissionPrompt),
}

/// An action for which a coding agent asks permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionPrompt {
    /// The coding agent.
    pub agent: String,
    /// The action in words: untrusted text, never shortened, with visible escapes for invisible characters. The first
    /// line is its title.
    pub details: String,
}

impl InputRequest {
    /// The input for a server; none for a permission.
    #[must_use]
    pub const fn prompt(&self) -> Option<&InputPrompt> {
        match &self.subject {
            RequestSubject::Input(prompt) => Some(prompt),
            RequestSubject::Permission(_) => None,
        }
    }

    /// The action of a coding agent; none for input.
    #[must_use]
    pub const fn permission(&self) -> Option<&PermissionPrompt> {
        match &self.subject {
            RequestSubject::Input(_) => None,
            RequestSubject::Permission(permission) => Some(permission),
        }
    }
}

/// An input request with its answer. A permission has no answer of its own: the state of the approval decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputExchange {
    /// The request.
    pub request: InputRequest,
    /// The answer; none while pending, and after the expiry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<InputAnswer>,
}

/// What a server asks the person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InputPrompt {
    /// The server.
    pub server: String,
    /// Message of the server: untrusted text, with visible escapes for invisible characters.
    pub message: String,
    /// What the person fills in or opens.
    pub body: InputBody,
}

/// What the person fills in or opens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
pub enum InputBody {
    /// A form.
    Form {
        /// The fields.
        fields: Vec<InputField>,
    },
    /// A page of the server. Only the person opens the page.
    Url {
        /// Address of the page, https only.
        url: String,
        /// Host of the address.
        host: String,
    },
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InputField {
    /// Name in the answer.
    pub name: String,
    /// Label; the name when none.
    pub label: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Whether a value is required.
    pub is_required: bool,
    /// The possible values.
    pub value: InputValueKind,
}

/// The possible values of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
pub enum InputValueKind {
    /// A text.
    Text {
        /// Minimum characters.
        min_length: Option<u32>,
        /// Maximum characters.
        max_length: Option<u32>,
        /// Format; any text when none.
        format: Option<InputTextFormat>,
        /// Proposed value.
        default: Option<String>,
    },
    /// A number.
    Number {
        /// Whether only whole numbers are possible.
        is_whole: bool,
        /// Minimum.
        minimum: Option<f64>,
        /// Maximum.
        maximum: Option<f64>,
        /// Proposed value.
        default: Option<f64>,
    },
    /// True or false.
    Boolean {
        /// Proposed value.
        default: Option<bool>,
    },
    /// One of several texts.
    Choice {
        /// The texts.
        options: Vec<InputOption>,
        /// Proposed value.
        default: Option<String>,
    },
    /// Any of several texts.
    Choices {
        /// The texts.
        options: Vec<InputOption>,
        /// Minimum number.
        min_items: Option<u32>,
        /// Maximum number.
        max_items: Option<u32>,
        /// Proposed values.
        default: Vec<String>,
    },
}

/// The format of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "kebab-case")]
pub enum InputTextFormat {
    /// An e-mail address.
    Email,
    /// An address with a scheme.
    Uri,
    /// A day: `2026-11-28`.
    Date,
    /// An instant: `2026-11-28T09:00:00Z`.
    DateTime,
}

/// An option of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InputOption {
    /// Value in the answer.
    pub value: String,
    /// Label; the value when none.
    pub label: Option<String>,
}

/// The answer of the person, in the form of the protocol. Only a person makes an `Accept`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "action", rename_all_fields = "camelCase")]
pub enum InputAnswer {
    /// The person gave the values, or has opened the page.
    Accept {
        /// Values by field name; none for a page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(type = "Record<string, unknown> | null")]
        content: Option<Map<String, Value>>,
    },
    /// The person refused.
    Decline,
    /// The person chose neither, or the request expired.
    Cancel,
}

/// The answer of the person, for the repeated call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputReply {
    /// The tool's name of the request.
    pub key: String,
    /// The state of the call.
    pub request_state: Option<String>,
    /// The answer. An allowed permission is accepted without content.
    pub answer: InputAnswer,
    /// Whether an allowed permission counts for the rest of the run.
    pub is_for_run: bool,
}

impl InputExchange {
    /// The answer for the repeated call; an unanswered request counts as cancelled.
    #[must_use]
    pub fn reply(&self) -> InputReply {
        InputReply {
            key: self.request.key.clone(),
            request_state: self.request.request_state.clone(),
            answer: self.answer.clone().unwrap_or(InputAnswer::Cancel),
            is_for_run: false,
        }
    }
}

impl InputField {
    /// The label, or the name.
    #[must_use]
    pub fn title(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.name)
    }

    /// Whether name, label or description stand for a secret. A number is none: `max_tokens` is a count.
    #[must_use]
    pub fn asks_for_secret(&self) -> bool {
        let is_text = matches!(self.value, InputValueKind::Text { .. });
        let texts = [Some(self.name.as_str()), Some(self.title()), self.description.as_deref()];
        is_text && texts.into_iter().flatten().any(names_secret)
    }
}

fn names_secret(text: &str) -> bool {
    let plain: String = text
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    SECRET_WORDS.iter().any(|word| plain.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(name: &str, label: Option<&str>, value: InputValueKind) -> InputField {
        InputField {
            name: name.to_owned(),
            label: label.map(str::to_owned),
            description: None,
            is_required: true,
            value,
        }
    }

    fn text() -> InputValueKind {
        InputValueKind::Text { min_length: None, max_length: None, format: None, default: None }
    }

    #[test]
    fn text_field_for_a_secret_is_recognised() {
        for (name, label) in [
            ("password", None),
            ("user_Password", None),
            ("api_key", None),
            ("value", Some("API key")),
            ("value", Some("Your access-token")),
            ("clientSecret", None),
        ] {
            assert!(field(name, label, text()).asks_for_secret(), "{name} {label:?}");
        }
        for (name, label) in [("name", Some("Name")), ("keyboard", None), ("city", None)] {
            assert!(!field(name, label, text()).asks_for_secret(), "{name} {label:?}");
        }
        let described = InputField {
            description: Some("Your GitHub password".to_owned()),
            ..field("value", None, text())
        };
        assert!(described.asks_for_secret());
        let count =
            InputValueKind::Number { is_whole: true, minimum: None, maximum: None, default: None };
        assert!(!field("max_tokens", None, count).asks_for_secret());
    }

    #[test]
    fn answer_has_the_form_of_the_protocol() {
        let content = json!({ "name": "Ada" }).as_object().cloned();
        assert_eq!(
            json!(InputAnswer::Accept { content }),
            json!({ "action": "accept", "content": { "name": "Ada" } })
        );
        assert_eq!(json!(InputAnswer::Accept { content: None }), json!({ "action": "accept" }));
        assert_eq!(json!(InputAnswer::Decline), json!({ "action": "decline" }));
        assert_eq!(json!(InputAnswer::Cancel), json!({ "action": "cancel" }));
    }

    #[test]
    fn unanswered_request_counts_as_cancelled() {
        let body = InputBody::Form { fields: vec![field("name", None, text())] };
        let prompt = InputPrompt { server: "cal".into(), message: "Who?".into(), body };
        let subject = RequestSubject::Input(prompt);
        let request = InputRequest { subject, key: "q".into(), request_state: Some("s".into()) };
        let exchange = InputExchange { request, answer: None };
        let stored: InputExchange = serde_json::from_value(json!(exchange)).expect("an exchange");
        assert_eq!(stored, exchange);
        let expected = InputReply {
            key: "q".into(),
            request_state: Some("s".into()),
            answer: InputAnswer::Cancel,
            is_for_run: false,
        };
        assert_eq!(stored.reply(), expected);
    }
}
