//! The form of a server: the fields of a flat schema.
//!
//! Owns the limits of a form, and the texts for people, cut and escaped. Names and values go back to the server and stay
//! as they are; one with hidden characters refuses the form.
//! Pitfall: skipping a field that Rouse does not know; the person would answer another question than the server asked.

use rouse_core::input_request::{InputField, InputOption, InputTextFormat, InputValueKind};
use rouse_core::text::{escape_line, first_line, has_hidden_text};
use serde_json::Value;

/// The most fields of a form, and the most options of a field.
const MAX_FIELDS: usize = 30;
const MAX_OPTIONS: usize = 100;

/// The most characters of a name or value, and of a text for people.
const MAX_NAME: usize = 200;
const MAX_LABEL: usize = 300;

/// Reads the fields of a form. The error is a sentence.
pub(super) fn read_fields(schema: &Value) -> Result<Vec<InputField>, String> {
    let properties = match (schema["type"].as_str(), schema["properties"].as_object()) {
        (Some("object") | None, Some(properties)) => properties,
        _ => return Err("The form has no fields.".to_owned()),
    };
    if properties.len() > MAX_FIELDS {
        let count = properties.len();
        return Err(format!("The form has {count} fields; at most {MAX_FIELDS} are possible."));
    }
    let required: Vec<&str> = texts(&schema["required"]);
    properties.iter().map(|(name, property)| read_field(name, property, &required)).collect()
}

fn read_field(name: &str, property: &Value, required: &[&str]) -> Result<InputField, String> {
    let shown = shown(name);
    if !is_usable(name) {
        return Err(format!("The field {shown} has an unusable name."));
    }
    let value = read_value(property)
        .ok_or_else(|| format!("The field {shown} has a type that no form can have."))?;
    let text = |key: &str| property[key].as_str().map(self::shown).filter(|text| !text.is_empty());
    Ok(InputField {
        name: name.to_owned(),
        label: text("title"),
        description: text("description"),
        is_required: required.contains(&name),
        value,
    })
}

/// The values of a field; none for a type that no form can have.
fn read_value(property: &Value) -> Option<InputValueKind> {
    let default = &property["default"];
    match property["type"].as_str()? {
        "string" => match read_options(property)? {
            options if options.is_empty() => Some(read_text(property)),
            options => {
                let default = default.as_str().map(str::to_owned);
                Some(InputValueKind::Choice { options, default })
            }
        },
        kind @ ("number" | "integer") => Some(InputValueKind::Number {
            is_whole: kind == "integer",
            minimum: property["minimum"].as_f64(),
            maximum: property["maximum"].as_f64(),
            default: default.as_f64(),
        }),
        "boolean" => Some(InputValueKind::Boolean { default: default.as_bool() }),
        "array" => {
            let options = read_options(&property["items"])?;
            (!options.is_empty()).then(|| InputValueKind::Choices {
                options,
                min_items: count(&property["minItems"]),
                max_items: count(&property["maxItems"]),
                default: texts(default).into_iter().map(str::to_owned).collect(),
            })
        }
        _ => None,
    }
}

fn read_text(property: &Value) -> InputValueKind {
    let format = match property["format"].as_str() {
        Some("email") => Some(InputTextFormat::Email),
        Some("uri") => Some(InputTextFormat::Uri),
        Some("date") => Some(InputTextFormat::Date),
        Some("date-time") => Some(InputTextFormat::DateTime),
        _ => None,
    };
    InputValueKind::Text {
        min_length: count(&property["minLength"]),
        max_length: count(&property["maxLength"]),
        format,
        default: property["default"].as_str().map(str::to_owned),
    }
}

/// The options of a choice, empty for a text without options; none when unusable.
fn read_options(property: &Value) -> Option<Vec<InputOption>> {
    let titled = property["oneOf"].as_array().or_else(|| property["anyOf"].as_array());
    let options: Vec<InputOption> = match titled {
        Some(options) => {
            let option = |option: &Value| {
                let label = option["title"].as_str().map(shown);
                Some(InputOption { value: option["const"].as_str()?.to_owned(), label })
            };
            options.iter().map(option).collect::<Option<_>>()?
        }
        None => {
            let labels = texts(&property["enumNames"]);
            let values = texts(&property["enum"]).into_iter().enumerate();
            let label = |index: usize| labels.get(index).map(|label| shown(label));
            values
                .map(|(index, value)| InputOption { value: value.to_owned(), label: label(index) })
                .collect()
        }
    };
    let is_possible = options.len() <= MAX_OPTIONS
        && options.iter().all(|option| option.value.is_empty() || is_usable(&option.value));
    is_possible.then_some(options)
}

fn is_usable(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_NAME && !has_hidden_text(text)
}

/// A text of the server on one line.
fn shown(text: &str) -> String {
    first_line(text, MAX_LABEL, escape_line)
}

fn count(value: &Value) -> Option<u32> {
    value.as_u64().map(|count| u32::try_from(count).unwrap_or(u32::MAX))
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn field(property: Value) -> Result<InputField, String> {
        let schema = json!({"type": "object", "properties": {"a": property}, "required": ["a"]});
        read_fields(&schema).map(|mut fields| fields.remove(0))
    }

    fn option(value: &str, label: Option<&str>) -> InputOption {
        InputOption { value: value.to_owned(), label: label.map(str::to_owned) }
    }

    #[test]
    fn every_kind_of_field_is_read() {
        let text = json!({"type": "string", "title": "Day\nx", "format": "date", "minLength": 2});
        let read = field(text).expect("a field");
        assert_eq!((read.label.as_deref(), read.is_required), (Some("Day…"), true));
        let expected = InputValueKind::Text {
            min_length: Some(2),
            max_length: None,
            format: Some(InputTextFormat::Date),
            default: None,
        };
        assert_eq!(read.value, expected);
        let number = json!({"type": "integer", "minimum": 1, "default": 3});
        let expected = InputValueKind::Number {
            is_whole: true,
            minimum: Some(1.0),
            maximum: None,
            default: Some(3.0),
        };
        assert_eq!(field(number).expect("a field").value, expected);
        let boolean = field(json!({"type": "boolean", "default": true})).expect("a field");
        assert_eq!(boolean.value, InputValueKind::Boolean { default: Some(true) });
    }

    #[test]
    fn choices_are_read_with_their_labels() {
        let options = vec![option("r", Some("Red")), option("b", None)];
        let plain = json!({"type": "string", "enum": ["r", "b"], "enumNames": ["Red"]});
        let titled = json!({"type": "string",
            "oneOf": [{"const": "r", "title": "Red"}, {"const": "b"}]});
        for property in [plain, titled] {
            let expected = InputValueKind::Choice { options: options.clone(), default: None };
            assert_eq!(field(property).expect("a field").value, expected);
        }
        let several = json!({"type": "array", "maxItems": 1, "default": ["b"],
            "items": {"anyOf": [{"const": "r", "title": "Red"}, {"const": "b"}]}});
        let expected = InputValueKind::Choices {
            options,
            min_items: None,
            max_items: Some(1),
            default: vec!["b".to_owned()],
        };
        assert_eq!(field(several).expect("a field").value, expected);
    }

    #[test]
    fn unusable_form_is_refused_whole() {
        let many: Map<String, Value> =
            (0..31).map(|number| (format!("f{number}"), json!({"type": "string"}))).collect();
        let form = |properties: Value| json!({"type": "object", "properties": properties});
        for (schema, part) in [
            (json!({"type": "object"}), "no fields"),
            (json!({"type": "string"}), "no fields"),
            (form(Value::Object(many)), "31 fields"),
            (form(json!({"a": {"type": "object"}})), "field a has a type"),
            (form(json!({"a": {"type": "array", "items": {"type": "string"}}})), "has a type"),
            (form(json!({"a": {"type": "string", "enum": ["x\u{e0041}"]}})), "has a type"),
            (form(json!({"a\u{200b}": {"type": "string"}})), "an unusable name"),
        ] {
            let error = read_fields(&schema).expect_err("no form");
            assert!(error.contains(part), "{error}");
        }
    }
}
