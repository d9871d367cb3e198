//! Reading a JSON object field by field with exact complaints.
//!
//! Owns the rule that bad input is answered with the path of the field and what was expected there, all complaints at
//! once, and that keys nobody asked for are kept. It can note what was asked for, so that nobody has to keep a second list
//! of the keys that there are. serde's derive cannot do this: its tagged enums buffer the input and lose the path, and it
//! stops at the first complaint. A change to an object is laid over it here too, in the same order of keys, which the usual
//! crates for that do not keep.

use serde_json::{Map, Value};

/// One complaint about one field of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Where: `schedule.expr`, `payload.tools[2]`.
    pub path: String,
    /// What is wrong and what was expected, as a sentence.
    pub message: String,
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// An object being read. Each accessor takes its key out; what is left at the end are unknown keys.
pub struct Fields<'e> {
    path: String,
    map: Map<String, Value>,
    /// What is no object was complained about as a whole; its fields are not missing one by one.
    is_object: bool,
    errors: &'e mut Vec<FieldError>,
    /// The paths that were asked for, whether they were there or not, if somebody wants to know.
    asked: Option<&'e mut Vec<String>>,
}

impl<'e> Fields<'e> {
    /// Starts reading `value`, which must be an object; anything else is a complaint and reads as empty.
    pub fn new(path: &str, value: Value, errors: &'e mut Vec<FieldError>) -> Self {
        Self::of(path, value, errors, None)
    }

    /// The same, and every path that is asked for goes into `asked`.
    pub fn noting(
        path: &str,
        value: Value,
        errors: &'e mut Vec<FieldError>,
        asked: &'e mut Vec<String>,
    ) -> Self {
        Self::of(path, value, errors, Some(asked))
    }

    fn of(
        path: &str,
        value: Value,
        errors: &'e mut Vec<FieldError>,
        asked: Option<&'e mut Vec<String>>,
    ) -> Self {
        let is_object = value.is_object();
        let map = match value {
            Value::Object(map) => map,
            other => {
                errors.push(FieldError {
                    path: if path.is_empty() {
                        "(whole input)".to_owned()
                    } else {
                        path.to_owned()
                    },
                    message: format!("expected an object, found {}", kind_of(&other)),
                });
                Map::new()
            }
        };
        Self { path: path.to_owned(), map, is_object, errors, asked }
    }

    /// The full path of `key` inside this object.
    #[must_use]
    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The keys that nobody took yet.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.map.keys().cloned().collect()
    }

    /// Whether `key` holds nothing at all.
    #[must_use]
    pub fn text_is_absent(&self, key: &str) -> bool {
        self.is_object && self.map.get(key).is_none_or(Value::is_null)
    }

    /// Adds a complaint about `key` unless there is one already (a wrong type was reported before).
    pub fn complain_once(&mut self, key: &str, message: impl Into<String>) {
        if self.is_object && self.silent_about(key) {
            self.complain(key, message);
        }
    }

    /// Adds a complaint about `key`.
    pub fn complain(&mut self, key: &str, message: impl Into<String>) {
        let path = self.path_of(key);
        self.errors.push(FieldError { path, message: message.into() });
    }

    /// Adds a complaint about this object.
    pub fn complain_about_all(&mut self, message: impl Into<String>) {
        self.errors.push(FieldError { path: self.path.clone(), message: message.into() });
    }

    /// Whether `key` holds an object.
    #[must_use]
    pub fn is_object(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(Value::is_object)
    }

    /// Takes the raw value of `key`; `null` counts as absent.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        let path = self.asked.is_some().then(|| self.path_of(key));
        if let (Some(asked), Some(path)) = (self.asked.as_deref_mut(), path) {
            asked.push(path);
        }
        // `shift_remove` keeps the order of the keys that stay: an unknown key returns where it was.
        self.map.shift_remove(key).filter(|value| !value.is_null())
    }

    /// Takes an object below this one and reads it with `read`.
    pub fn object<T>(&mut self, key: &str, read: impl FnOnce(Fields<'_>) -> T) -> Option<T> {
        let value = self.take(key)?;
        let path = self.path_of(key);
        Some(read(Fields::of(&path, value, self.errors, self.asked.as_deref_mut())))
    }

    /// An optional text.
    pub fn text(&mut self, key: &str) -> Option<String> {
        match self.take(key)? {
            Value::String(text) => Some(text),
            other => self.mismatch(key, "a text", &other),
        }
    }

    /// A text that must be there and must not be blank.
    pub fn required_text(&mut self, key: &str) -> String {
        match self.text(key) {
            Some(text) if !text.trim().is_empty() => return text,
            Some(_) => self.complain(key, "must not be empty"),
            None => self.complain_once(key, "is required: expected a text"),
        }
        String::new()
    }

    /// An optional yes or no.
    pub fn boolean(&mut self, key: &str) -> Option<bool> {
        match self.take(key)? {
            Value::Bool(yes) => Some(yes),
            other => self.mismatch(key, "true or false", &other),
        }
    }

    /// An optional whole number within `range`.
    pub fn integer(&mut self, key: &str, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let value = self.take(key)?;
        let whole = value.as_i64().or_else(|| whole_float(&value));
        match whole {
            Some(number) if range.contains(&number) => Some(number),
            Some(number) => {
                let (low, high) = (range.start(), range.end());
                self.complain(key, format!("must be between {low} and {high}, found {number}"));
                None
            }
            None if value.is_number() => {
                self.complain(key, format!("expected a whole number, found {value}"));
                None
            }
            None => self.mismatch(key, "a whole number", &value),
        }
    }

    /// An optional list of texts.
    pub fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        match self.take(key)? {
            Value::Array(items) => Some(self.texts_of(key, items)),
            other => self.mismatch(key, "a list of texts", &other),
        }
    }

    /// An optional choice: one of `choices` by name.
    pub fn choice<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(key)?;
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.complain(key, format!("expected one of {}, found `{text}`", names.join(", ")));
        }
        found
    }

    /// Ends the reading: the keys that nobody took, kept for the round trip.
    #[must_use]
    pub fn rest(self) -> Map<String, Value> {
        self.map
    }

    fn texts_of(&mut self, key: &str, items: Vec<Value>) -> Vec<String> {
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text),
                other => {
                    let message = format!("expected a text, found {}", kind_of(&other));
                    self.complain(&format!("{key}[{index}]"), message);
                }
            }
        }
        texts
    }

    fn mismatch<T>(&mut self, key: &str, expected: &str, found: &Value) -> Option<T> {
        self.complain(key, format!("expected {expected}, found {}", kind_of(found)));
        None
    }

    /// Whether no complaint about `key` was made yet (a wrong type was already reported).
    #[must_use]
    pub fn silent_about(&self, key: &str) -> bool {
        let path = self.path_of(key);
        !self.errors.iter().any(|error| error.path == path)
    }
}

/// JSON written by JavaScript may carry `60000.0`.
fn whole_float(value: &Value) -> Option<i64> {
    let number = value.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked to be whole and in the exact range"
    )]
    (number.fract() == 0.0 && number.abs() < 9.0e15).then_some(number as i64)
}

/// The kind of a JSON value in words.
#[must_use]
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Lays `patch` over `target` (RFC 7396): `null` takes a key away, and the other keys stay in their order. The depth is
/// bounded by what the JSON parser accepts.
pub fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.shift_remove(&key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Fields, merge};

    #[test]
    fn a_number_with_a_fraction_is_refused_by_its_value() {
        let mut errors = Vec::new();
        let input = json!({ "timeoutSeconds": 10.02, "limit": "ten", "whole": 60000.0 });
        let mut fields = Fields::new("policies", input, &mut errors);
        let read = ["timeoutSeconds", "limit", "whole"].map(|key| fields.integer(key, 0..=60_000));
        assert_eq!(read, [None, None, Some(60_000)]);
        let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "policies.timeoutSeconds: expected a whole number, found 10.02",
                "policies.limit: expected a whole number, found a text",
            ]
        );
    }

    #[test]
    fn the_keys_that_stay_keep_their_order() {
        let mut target = json!({ "a": 1, "b": { "c": 1, "d": 2, "e": 3 }, "f": 4 });
        merge(&mut target, json!({ "a": null, "b": { "c": null, "e": 5 }, "g": 6 }));
        assert_eq!(target.to_string(), r#"{"b":{"d":2,"e":5},"f":4,"g":6}"#);
    }
}
