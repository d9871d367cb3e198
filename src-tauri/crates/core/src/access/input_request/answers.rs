//! The check of the person's values against the fields of a form.
//!
//! Owns the messages. Never changes a value. Pitfall: stopping at the first error; the person corrects all at once.

use chrono::{DateTime, NaiveDate};
use serde_json::{Map, Value};

use super::{InputBody, InputField, InputOption, InputPrompt, InputTextFormat, InputValueKind};

/// The most characters of a text in an answer.
const MAX_TEXT: usize = 10_000;

/// An invalid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerError {
    /// The name of the field.
    pub field: String,
    /// The error, as the predicate of a sentence.
    pub message: String,
}

impl InputPrompt {
    /// Checks the values of the person. A page takes no values.
    ///
    /// # Errors
    /// Each field with an invalid, missing or unknown value.
    pub fn check(&self, values: &Map<String, Value>) -> Result<(), Vec<AnswerError>> {
        let fields = match &self.body {
            InputBody::Form { fields } => fields.as_slice(),
            InputBody::Url { .. } => &[],
        };
        let mut errors = Vec::new();
        for field in fields {
            let problem = match values.get(&field.name) {
                Some(value) => field.value.problem_of(value),
                None => field.is_required.then(|| "is required".to_owned()),
            };
            errors.extend(problem.map(|message| error(&field.name, message)));
        }
        let is_unknown = |name: &&String| !fields.iter().any(|field| field.name == **name);
        let unknown = values.keys().filter(is_unknown);
        errors.extend(unknown.map(|name| error(name, unknown_field(fields))));
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

fn error(field: &str, message: String) -> AnswerError {
    AnswerError { field: field.to_owned(), message }
}

fn unknown_field(fields: &[InputField]) -> String {
    match fields {
        [] => "is unknown: the request takes no values".to_owned(),
        fields => {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            format!("is unknown; there are {}", names.join(", "))
        }
    }
}

impl InputValueKind {
    /// Why the value is invalid; none when valid.
    fn problem_of(&self, value: &Value) -> Option<String> {
        match self {
            Self::Text { min_length, max_length, format, .. } => {
                let Some(text) = value.as_str() else { return Some("must be a text".to_owned()) };
                length_problem(text, *min_length, *max_length)
                    .or_else(|| format.and_then(|format| format.problem_of(text)))
            }
            Self::Number { is_whole, minimum, maximum, .. } => {
                let Some(number) = value.as_f64() else {
                    return Some("must be a number".to_owned());
                };
                if *is_whole && number.fract() != 0.0 {
                    return Some("must be a whole number".to_owned());
                }
                let below = minimum.filter(|least| number < *least);
                let above = maximum.filter(|most| number > *most);
                below
                    .map(|least| format!("must be at least {least}"))
                    .or_else(|| above.map(|most| format!("must be at most {most}")))
            }
            Self::Boolean { .. } => {
                (!value.is_boolean()).then(|| "must be true or false".to_owned())
            }
            Self::Choice { options, .. } => {
                let is_option = value.as_str().is_some_and(|text| has_option(options, text));
                (!is_option).then(|| option_list(options))
            }
            Self::Choices { options, min_items, max_items, .. } => {
                choices_problem(value, options, *min_items, *max_items)
            }
        }
    }
}

fn length_problem(text: &str, min: Option<u32>, max: Option<u32>) -> Option<String> {
    let length = text.chars().count();
    let max = max.map_or(MAX_TEXT, |max| MAX_TEXT.min(max as usize));
    let min = min.map_or(0, |min| min as usize);
    if length > max {
        Some(format!("must be at most {max} characters, found {length}"))
    } else {
        (length < min).then(|| format!("must be at least {min} characters, found {length}"))
    }
}

fn choices_problem(
    value: &Value,
    options: &[InputOption],
    min: Option<u32>,
    max: Option<u32>,
) -> Option<String> {
    let texts: Option<Vec<&str>> =
        value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
    let Some(texts) = texts else { return Some("must be a list of texts".to_owned()) };
    let (count, least) = (texts.len(), min.map_or(0, |min| min as usize));
    let most = max.map_or(options.len(), |max| max as usize);
    if count < least {
        return Some(format!("must have at least {least} values, found {count}"));
    }
    if count > most {
        return Some(format!("must have at most {most} values, found {count}"));
    }
    let are_options = texts.iter().all(|text| has_option(options, text));
    (!are_options).then(|| option_list(options))
}

fn has_option(options: &[InputOption], text: &str) -> bool {
    options.iter().any(|option| option.value == text)
}

fn option_list(options: &[InputOption]) -> String {
    let values: Vec<&str> = options.iter().map(|option| option.value.as_str()).collect();
    format!("must be one of {}", values.join(", "))
}

impl InputTextFormat {
    /// Why the text has another format; none when it has this format.
    fn problem_of(self, text: &str) -> Option<String> {
        let (is_valid, expected) = match self {
            Self::Email => (is_email(text), "must be an e-mail address"),
            Self::Uri => (is_uri(text), "must be an address such as https://example.org"),
            Self::Date => {
                let date = NaiveDate::parse_from_str(text, "%Y-%m-%d");
                (date.is_ok(), "must be a day such as 2026-11-28")
            }
            Self::DateTime => {
                let time = DateTime::parse_from_rfc3339(text);
                (time.is_ok(), "must be an instant such as 2026-11-28T09:00:00Z")
            }
        };
        (!is_valid).then(|| expected.to_owned())
    }
}

fn is_email(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.contains(['@', ' ', '\n', '\t']);
    text.split_once('@').is_some_and(|(user, host)| is_part(user) && is_part(host))
}

fn is_uri(text: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let has_space = text.contains(char::is_whitespace);
    text.split_once(':').is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.is_empty())
        && !has_space
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(min: u32, max: u32, format: Option<InputTextFormat>) -> InputValueKind {
        InputValueKind::Text { min_length: Some(min), max_length: Some(max), format, default: None }
    }

    fn whole(minimum: f64, maximum: f64) -> InputValueKind {
        let (minimum, maximum) = (Some(minimum), Some(maximum));
        InputValueKind::Number { is_whole: true, minimum, maximum, default: None }
    }

    fn options() -> Vec<InputOption> {
        ["red", "blue"].map(|value| InputOption { value: value.into(), label: None }).to_vec()
    }

    fn choices() -> InputValueKind {
        InputValueKind::Choices {
            options: options(),
            min_items: Some(1),
            max_items: None,
            default: Vec::new(),
        }
    }

    fn form(fields: Vec<(&str, bool, InputValueKind)>) -> InputPrompt {
        let field = |(name, is_required, value): (&str, bool, InputValueKind)| InputField {
            name: name.to_owned(),
            label: None,
            description: None,
            is_required,
            value,
        };
        let body = InputBody::Form { fields: fields.into_iter().map(field).collect() };
        InputPrompt { server: "cal".to_owned(), message: "Who?".to_owned(), body }
    }

    fn errors(prompt: &InputPrompt, values: Value) -> Vec<(String, String)> {
        let values = values.as_object().cloned().expect("an object");
        let errors = prompt.check(&values).err().unwrap_or_default();
        errors.into_iter().map(|error| (error.field, error.message)).collect()
    }

    #[test]
    fn every_invalid_value_has_its_error() {
        use InputTextFormat::{Date, DateTime, Email, Uri};
        let choice = InputValueKind::Choice { options: options(), default: None };
        for (kind, valid, invalid, message) in [
            (text(2, 3, None), json!("ab"), json!("a"), "at least 2 characters"),
            (text(2, 3, None), json!("äbc"), json!("abcd"), "at most 3 characters"),
            (text(0, 9, None), json!(""), json!(5), "a text"),
            (text(0, 99, Some(Email)), json!("a@b.c"), json!("a@"), "an e-mail address"),
            (text(0, 99, Some(Uri)), json!("mailto:a@b"), json!("a b"), "an address"),
            (text(0, 99, Some(Date)), json!("2026-02-28"), json!("2026-02-30"), "a day"),
            (
                text(0, 99, Some(DateTime)),
                json!("2026-02-28T01:02:03Z"),
                json!("now"),
                "an instant",
            ),
            (whole(1.0, 5.0), json!(5), json!(6), "at most 5"),
            (whole(1.0, 5.0), json!(2.0), json!(0), "at least 1"),
            (whole(1.0, 5.0), json!(1), json!(1.5), "a whole number"),
            (whole(1.0, 5.0), json!(1), json!("1"), "a number"),
            (InputValueKind::Boolean { default: None }, json!(false), json!("no"), "true or false"),
            (choice, json!("red"), json!("green"), "one of red, blue"),
            (choices(), json!(["red"]), json!(["red", "green"]), "one of red, blue"),
            (choices(), json!(["red", "blue"]), json!([]), "at least 1 values"),
            (choices(), json!(["red"]), json!("red"), "a list"),
        ] {
            let prompt = form(vec![("a", true, kind)]);
            assert!(errors(&prompt, json!({ "a": valid })).is_empty(), "{valid}");
            let found = errors(&prompt, json!({ "a": invalid }));
            assert!(found.len() == 1 && found[0].1.contains(message), "{invalid}: {found:?}");
        }
    }

    #[test]
    fn all_invalid_fields_are_named_at_once() {
        let prompt = form(vec![
            ("name", true, text(1, 9, None)),
            ("count", true, whole(1.0, 5.0)),
            ("note", false, text(0, 9, None)),
        ]);
        let found = errors(&prompt, json!({ "count": 9, "colour": "red" }));
        let fields: Vec<&str> = found.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(fields, ["name", "count", "colour"]);
        assert_eq!(found[2].1, "is unknown; there are name, count, note");
    }

    #[test]
    fn page_takes_no_values() {
        let body = InputBody::Url { url: "https://a.example/b".into(), host: "a.example".into() };
        let prompt = InputPrompt { server: "cal".into(), message: "Sign.".into(), body };
        assert!(errors(&prompt, json!({})).is_empty());
        assert_eq!(errors(&prompt, json!({ "a": 1 })).len(), 1);
    }
}
