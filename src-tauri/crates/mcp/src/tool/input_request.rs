//! The question of a server in the middle of a call, as a request to the person.
//!
//! Owns the message and the page for the person; `form` owns the fields. A form for a secret is refused, and the person
//! is notified: a secret belongs in the secret store, bound to the server. A page is https only, and Rouse never opens it.
//! Pitfall: answering for the person; a refused question fails the call, and the server gets no answer.

use http::Uri;
use rouse_core::extension::ExtensionName;
use rouse_core::input_request::{InputBody, InputField, InputPrompt, InputRequest, RequestSubject};
use rouse_core::text::escape_invisible;
use rouse_core::tool::{Fault, ToolEffect, ToolOutput};
use serde_json::Value;

use super::form;
use crate::connection::RequestedInput;

/// The most characters of a message.
const MAX_MESSAGE: usize = 2_000;

/// The most bytes of an address.
const MAX_URL: usize = 2_000;

/// The output of a call in which the server asks for input.
pub(super) fn output_of(requested: &RequestedInput, server: &ExtensionName) -> ToolOutput {
    let message = message(&requested.params["message"]);
    let body = match read_body(&requested.params) {
        Ok(body) => body,
        Err(why) => {
            let text = format!("The server {server} asks for input that Rouse cannot show. {why}");
            return ToolOutput::faulty(Fault::Refused, text);
        }
    };
    if let Some(field) = secret_field(&body) {
        return refused_secret(server, field);
    }
    let text = format!("The server {server} asks: {message}");
    let prompt = InputPrompt { server: server.to_string(), message, body };
    let RequestedInput { key, request_state, .. } = requested.clone();
    let subject = RequestSubject::Input(prompt);
    let request = Box::new(InputRequest { subject, key, request_state });
    ToolOutput::ok(text).with_effect(ToolEffect::RequestInput(request))
}

fn read_body(params: &Value) -> Result<InputBody, String> {
    match params["mode"].as_str() {
        Some("url") => {
            let url = params["url"].as_str().unwrap_or_default();
            let host = https_host(url).ok_or("The address of its page is not an https address.")?;
            Ok(InputBody::Url { url: url.to_owned(), host })
        }
        Some("form") | None => {
            Ok(InputBody::Form { fields: form::read_fields(&params["requestedSchema"])? })
        }
        Some(_) => Err("It is neither a form nor a page.".to_owned()),
    }
}

/// The host of an https address; none for another or an ambiguous address.
fn https_host(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let authority = uri.authority()?;
    let is_plain = url.len() <= MAX_URL && !authority.as_str().contains('@');
    let is_https = uri.scheme_str() == Some("https") && !authority.host().is_empty();
    (is_plain && is_https).then(|| authority.host().to_ascii_lowercase())
}

fn secret_field(body: &InputBody) -> Option<&InputField> {
    match body {
        InputBody::Form { fields } => fields.iter().find(|field| field.asks_for_secret()),
        InputBody::Url { .. } => None,
    }
}

/// The refusal of a form for a secret, and the notification of the person.
fn refused_secret(server: &ExtensionName, field: &InputField) -> ToolOutput {
    let text = format!(
        "The server {server} asks for a secret in a form (“{}”). Rouse asks for no secrets in forms. Store the secret with `rouse secrets set NAME --server {server}`, and pass it to the server as a variable or header.",
        field.title()
    );
    let body = text.clone();
    ToolOutput::faulty(Fault::Refused, text).with_effect(ToolEffect::Notify { title: None, body })
}

/// The message, with invisible characters escaped.
fn message(message: &Value) -> String {
    let text = escape_invisible(message.as_str().unwrap_or_default().trim());
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None if text.is_empty() => "(no message)".to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(params: Value) -> ToolOutput {
        let (key, request_state) = ("q".to_owned(), Some("s".to_owned()));
        let requested = RequestedInput { key, params, request_state };
        output_of(&requested, &"cal".parse().expect("a name"))
    }

    fn form(properties: Value) -> Value {
        json!({"message": "Who\u{202e}?",
            "requestedSchema": {"type": "object", "properties": properties}})
    }

    #[test]
    fn form_becomes_a_request_to_the_person() {
        let output = output(form(json!({"name": {"type": "string"}})));
        assert_eq!((output.fault, output.text().contains("cal asks: Who")), (None, true));
        let Some(ToolEffect::RequestInput(request)) = output.effect else { panic!("no request") };
        assert_eq!((request.key.as_str(), request.request_state.as_deref()), ("q", Some("s")));
        let prompt = request.prompt().expect("input").clone();
        assert_eq!(prompt.message, "Who⟨U+202E⟩?");
        let InputBody::Form { fields } = prompt.body else { panic!("no form") };
        assert_eq!(fields[0].name, "name");
    }

    #[test]
    fn page_needs_a_plain_https_address() {
        let page = |url: &str| output(json!({"mode": "url", "message": "Sign.", "url": url}));
        let Some(ToolEffect::RequestInput(request)) = page("https://A.example/b?c").effect else {
            panic!("no request")
        };
        let url = "https://A.example/b?c".to_owned();
        let body = request.prompt().map(|prompt| prompt.body.clone());
        assert_eq!(body, Some(InputBody::Url { url, host: "a.example".to_owned() }));
        for url in [
            "http://a.example/",
            "https://bank.example@evil.example/",
            "javascript:alert(1)",
            "https:///a",
            "",
        ] {
            let refused = page(url);
            assert_eq!((refused.fault, refused.effect), (Some(Fault::Refused), None), "{url}");
        }
    }

    #[test]
    fn form_for_a_secret_is_refused_and_notified() {
        let output = output(form(json!({"api_key": {"type": "string", "title": "Key"}})));
        assert_eq!(output.fault, Some(Fault::Refused));
        let Some(ToolEffect::Notify { body, .. }) = &output.effect else { panic!("no notice") };
        assert!(body.contains("“Key”") && body.contains("--server cal"), "{body}");
    }

    #[test]
    fn form_that_cannot_be_shown_fails_the_call() {
        for params in [
            form(json!({"a": {"type": "object"}})),
            json!({"message": "Who?"}),
            json!({"mode": "voice", "message": "Who?"}),
        ] {
            let output = output(params);
            assert_eq!((output.fault, output.effect), (Some(Fault::Refused), None));
        }
    }

    #[test]
    fn long_message_is_cut() {
        let text = message(&json!("ä".repeat(3_000)));
        assert_eq!(text.chars().count(), MAX_MESSAGE + 1);
        assert_eq!(message(&json!(null)), "(no message)");
    }
}
