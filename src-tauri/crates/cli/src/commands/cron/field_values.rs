//! Flag values as JSON values of the job document.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use rouse_core::schedule::parse_duration;
use serde_json::{Map, Value, json};
use strum::VariantNames;

use crate::resolve::error::CliError;

/// The value that removes a setting.
pub(super) const NONE: &str = "none";

/// A parser for a closed set of the job document, by the names of its variants.
pub(in crate::commands) fn choice<T>() -> impl TypedValueParser<Value = T>
where
    T: VariantNames + std::str::FromStr + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(T::VARIANTS.iter().copied())
        .map(|name| name.parse::<T>().ok().expect("BUG: the name of a variant does not parse"))
}

/// Sets `key` if there is a value.
pub(super) fn set(object: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value.into());
    }
}

/// Sets `key` if the object has fields.
pub(super) fn set_object(object: &mut Map<String, Value>, key: &str, fields: Map<String, Value>) {
    set(object, key, (!fields.is_empty()).then_some(Value::Object(fields)));
}

/// A number; null for `none`.
pub(super) fn parse_number(text: &str) -> Result<Value, String> {
    if text == NONE {
        return Ok(Value::Null);
    }
    text.parse::<u32>().map(Value::from).map_err(|_| "expected a number, or none".to_owned())
}

/// A text; null for the empty text.
pub(super) fn text_value(text: Option<&str>) -> Option<Value> {
    text.map(|text| if text.is_empty() { Value::Null } else { json!(text) })
}

/// Comma-separated names; null for the word `null_word`.
pub(super) fn names_value(text: Option<&str>, null_word: &str) -> Option<Value> {
    text.map(
        |text| {
            if text == null_word { Value::Null } else { text.split(',').map(str::trim).collect() }
        },
    )
}

/// Comma-separated channels; null for `none` and the empty text.
pub(super) fn channels_value(text: Option<&str>) -> Option<Value> {
    names_value(text.map(|names| if names.is_empty() { NONE } else { names }), NONE)
}

/// A duration in milliseconds; null for `none`.
pub(super) fn milliseconds(text: &str, flag: &str) -> Result<Value, CliError> {
    if text == NONE {
        return Ok(Value::Null);
    }
    let ms = parse_duration(text).map_err(|error| CliError::input(format!("--{flag}: {error}")))?;
    Ok(json!(ms))
}

/// A duration in seconds, rounded up; null for `none`.
pub(super) fn seconds(text: &str, flag: &str) -> Result<Value, CliError> {
    let ms = milliseconds(text, flag)?.as_i64();
    Ok(ms.map_or(Value::Null, |ms| json!((ms + 999) / 1_000)))
}

#[cfg(test)]
mod tests {
    use rouse_core::job::{MisfireMode, Notify, Overlap, WakeMode};

    use super::*;

    #[test]
    fn choices_are_written_as_in_the_job_format() {
        fn written<T>(name: &str) -> Value
        where
            T: VariantNames + std::str::FromStr + serde::Serialize,
        {
            assert!(T::VARIANTS.contains(&name), "{name}");
            json!(name.parse::<T>().ok().expect("a variant"))
        }
        assert_eq!(written::<MisfireMode>("run-once"), json!("runOnce"));
        assert_eq!(written::<Overlap>("cancel-other"), json!("cancelOther"));
        assert_eq!(written::<Notify>("never"), json!("never"));
        assert_eq!(written::<WakeMode>("next-heartbeat"), json!("next-heartbeat"));
    }
}
