//! The values of an input request: `--answer KEY=VALUE`, or one prompt per field.
//!
//! Owns the reading of a value by the kind of its field, and the errors by field. The engine checks the values again.
//! Pitfall: prompting without a terminal; a script would wait for ever.

use std::io::{IsTerminal as _, Write as _};

use rouse_core::input_request::AnswerError;
use rouse_core::text::suggest;
use rouse_gateway::wire::{ApprovalView, InputBody, InputField, InputPrompt, InputValueKind};
use serde_json::{Map, Value};

use crate::render::approval::{field_line, input_lines};
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::{is_confirmed, read_line};

/// The values by field name: from `texts` if there are any, else from the keyboard.
pub(super) async fn collect(
    engine: &EngineConnection,
    approval: &ApprovalView,
    texts: &[String],
) -> Result<Map<String, Value>, CliError> {
    let Some(prompt) = &approval.input else {
        return Err(CliError::input(format!(
            "The call of {} requests no input. To allow it: rouse approvals allow {}",
            approval.tool, approval.id
        )));
    };
    let fields = match &prompt.body {
        InputBody::Form { fields } => fields.as_slice(),
        InputBody::Url { .. } => &[],
    };
    if !texts.is_empty() {
        let answers = texts.iter().map(|text| parse_answer(text, fields));
        return checked(prompt, answers.collect::<Result<_, _>>()?);
    }
    if engine.json || !std::io::stdin().is_terminal() {
        let names: Vec<String> = fields.iter().map(|field| escape(&field.name)).collect();
        return Err(CliError::input(format!(
            "Give the answers with --answer KEY=VALUE. Fields: {}",
            names.join(", ")
        )));
    }
    let answers = ask(prompt, fields).await?;
    checked(prompt, answers)
}

fn checked(
    prompt: &InputPrompt,
    answers: Map<String, Value>,
) -> Result<Map<String, Value>, CliError> {
    match prompt.check(&answers) {
        Ok(()) => Ok(answers),
        Err(errors) => {
            let line = |error: &AnswerError| format!("{}: {}", error.field, error.message);
            Err(CliError::Input(errors.iter().map(line).collect()))
        }
    }
}

/// One prompt per field; for a page, the confirmation that the person has finished there.
async fn ask(prompt: &InputPrompt, fields: &[InputField]) -> Result<Map<String, Value>, CliError> {
    for line in input_lines(prompt) {
        anstream::eprintln!("  {line}");
    }
    if fields.is_empty() {
        show_prompt("Open the page in your browser. Are you finished there? [y/N] ");
        if is_confirmed(&read_line().await?) {
            return Ok(Map::new());
        }
        return Err(CliError::Refused("Nothing was answered; it is still pending.".to_owned()));
    }
    let mut answers = Map::new();
    for field in fields {
        if let Some(value) = ask_field(field).await? {
            answers.insert(field.name.clone(), value);
        }
    }
    Ok(answers)
}

/// The value of a field; the default for an empty line.
async fn ask_field(field: &InputField) -> Result<Option<Value>, CliError> {
    let default = default_of(&field.value);
    let shown = default.as_ref().map(|value| format!(" [default: {}]", escape(&text_of(value))));
    loop {
        show_prompt(&format!("{}{}: ", field_line(field), shown.as_deref().unwrap_or_default()));
        let line = read_line().await?;
        if line.is_empty() {
            return Err(CliError::Refused("Nothing was answered; it is still pending.".to_owned()));
        }
        match line.trim() {
            "" if default.is_some() || !field.is_required => return Ok(default),
            "" => anstream::eprintln!("A value is required."),
            text => match parse_value(text, &field.value) {
                Ok(value) => return Ok(Some(value)),
                Err(expected) => anstream::eprintln!("Expected {expected}."),
            },
        }
    }
}

fn show_prompt(text: &str) {
    anstream::eprint!("{text}");
    // An unflushed prompt appears with the next line.
    let _ = std::io::stderr().flush();
}

fn parse_answer(text: &str, fields: &[InputField]) -> Result<(String, Value), CliError> {
    let error = |reason: &str| CliError::input(format!("--answer {text}: {reason}"));
    let (name, value) = text.split_once('=').ok_or_else(|| error("expected KEY=VALUE"))?;
    let Some(field) = fields.iter().find(|field| field.name == name) else {
        let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        return Err(error(&format!("the form has no field {name}{}", suggest(name, &known))));
    };
    let value = parse_value(value, &field.value);
    let value = value.map_err(|expected| error(&format!("expected {expected}")))?;
    Ok((name.to_owned(), value))
}

/// The value of a text for a field of this kind, or what is expected instead.
fn parse_value(text: &str, kind: &InputValueKind) -> Result<Value, &'static str> {
    match kind {
        InputValueKind::Text { .. } | InputValueKind::Choice { .. } => Ok(text.into()),
        InputValueKind::Number { .. } => match serde_json::from_str::<Value>(text.trim()) {
            Ok(number) if number.is_number() => Ok(number),
            _ => Err("a number"),
        },
        InputValueKind::Boolean { .. } => match text.trim().to_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(true.into()),
            "n" | "no" | "false" => Ok(false.into()),
            _ => Err("yes or no"),
        },
        InputValueKind::Choices { .. } => {
            let values = text.split(',').map(str::trim).filter(|value| !value.is_empty());
            Ok(values.collect::<Vec<_>>().into())
        }
    }
}

fn default_of(kind: &InputValueKind) -> Option<Value> {
    match kind {
        InputValueKind::Text { default, .. } | InputValueKind::Choice { default, .. } => {
            default.as_deref().map(Value::from)
        }
        InputValueKind::Number { default, .. } => default.map(number_value),
        InputValueKind::Boolean { default } => default.map(Value::from),
        InputValueKind::Choices { default, .. } => {
            (!default.is_empty()).then(|| default.clone().into())
        }
    }
}

/// A number without a needless fraction, which a strict server refuses.
fn number_value(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        (number as i64).into()
    } else {
        number.into()
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rouse_gateway::wire::InputOption;
    use serde_json::json;

    use super::*;

    fn field(name: &str, value: InputValueKind) -> InputField {
        InputField {
            name: name.to_owned(),
            label: None,
            description: None,
            is_required: true,
            value,
        }
    }

    fn fields() -> Vec<InputField> {
        let text = InputValueKind::Text {
            min_length: None,
            max_length: None,
            format: None,
            default: None,
        };
        let count = InputValueKind::Number {
            is_whole: true,
            minimum: None,
            maximum: None,
            default: Some(3.0),
        };
        let options = vec![InputOption { value: "red".to_owned(), label: None }];
        let colours = InputValueKind::Choices {
            options,
            min_items: None,
            max_items: None,
            default: Vec::new(),
        };
        let sure = InputValueKind::Boolean { default: None };
        vec![
            field("name", text),
            field("count", count),
            field("sure", sure),
            field("colours", colours),
        ]
    }

    #[test]
    fn value_is_read_by_the_kind_of_its_field() {
        for (text, expected) in [
            ("name=a=b", json!("a=b")),
            ("name=7", json!("7")),
            ("count=7", json!(7)),
            ("sure=yes", json!(true)),
            ("colours=red, blue", json!(["red", "blue"])),
        ] {
            let (_, value) = parse_answer(text, &fields()).expect("a value");
            assert_eq!(value, expected, "{text}");
        }
    }

    #[test]
    fn unusable_answer_is_refused_with_its_reason() {
        for (text, reason) in [
            ("name", "expected KEY=VALUE"),
            ("nme=a", "the form has no field nme; did you mean `name`?"),
            ("count=x", "expected a number"),
            ("sure=maybe", "expected yes or no"),
        ] {
            let error = parse_answer(text, &fields()).expect_err("refused").lines();
            assert_eq!(error, [format!("--answer {text}: {reason}")]);
        }
    }

    #[test]
    fn default_is_shown_as_the_person_writes_it() {
        let count = default_of(&fields()[1].value).expect("a default");
        assert_eq!(text_of(&count), "3");
        assert_eq!(text_of(&json!(["a", "b"])), "a, b");
        assert_eq!(default_of(&fields()[0].value), None);
    }
}
