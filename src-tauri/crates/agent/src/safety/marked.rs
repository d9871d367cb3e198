//! Marks in the place of values: a call that stays here, as it may be asked about where no handle can stand.
//!
//! Ordinary words read like a stored secret by chance, in another case, with spaces or backwards, and a model may write
//! one down in an encoding. Where that stays here nothing leaves, so a person can say yes to it. One could get it wrong
//! with a command: a mark hides what is run, so in one only plain words may stand behind it.

use std::collections::BTreeMap;

use rouse_core::UnixMs;
use serde_json::Value;

use super::{Safety, leak};

/// Arguments with marks in the place of what reads like a stored secret.
pub(crate) struct Marked {
    pub(crate) arguments: Value,
    /// When the secrets that it reads like were set, by name.
    pub(crate) set_at: BTreeMap<String, UnixMs>,
    /// What each mark stands for, by the name of its secret.
    stretches: Vec<(String, String)>,
}

impl Safety {
    /// `arguments` with marks where anything reads like a stored secret; none when nothing does, or it is the name of a
    /// field.
    pub(crate) fn marked(&self, arguments: &Value) -> Option<Marked> {
        // Looked at first: what is set anew from here on is another one than was found.
        let mut set_at = self.secrets.all_set_at();
        let mut stretches = Vec::new();
        let marked = self.with_marks(arguments, &mut stretches);
        set_at.retain(|name, _| stretches.iter().any(|(found, _)| found == name));
        let is_whole = self.without_stored(&marked).is_none();
        let marked = Marked { arguments: marked, set_at, stretches };
        (is_whole && !marked.stretches.is_empty()).then_some(marked)
    }

    /// Whether all that `marked` hides are words that mean nothing to a shell and are not the value itself.
    pub(crate) fn hides_words_alone(&self, marked: &Marked) -> bool {
        let means_nothing = |sign: char| sign.is_alphanumeric() || " -_.,".contains(sign);
        marked.stretches.iter().all(|(name, stretch)| {
            stretch.chars().all(means_nothing) && self.secrets.reads_like(name, stretch)
        })
    }

    fn with_marks(&self, value: &Value, stretches: &mut Vec<(String, String)>) -> Value {
        match value {
            Value::String(text) => Value::String(self.text_with_marks(text, stretches)),
            Value::Number(number) => {
                let digits = number.to_string();
                let marked = self.text_with_marks(&digits, stretches);
                if marked == digits { value.clone() } else { Value::String(marked) }
            }
            Value::Array(items) => {
                items.iter().map(|item| self.with_marks(item, stretches)).collect()
            }
            Value::Object(fields) => {
                let marked = |(key, field): (&String, &Value)| {
                    (key.clone(), self.with_marks(field, stretches))
                };
                fields.iter().map(marked).collect()
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    fn text_with_marks(&self, text: &str, stretches: &mut Vec<(String, String)>) -> String {
        let found = leak::find_stored(text, &self.secrets.known());
        for one in &found {
            let name = one.what.strip_prefix("secret:").unwrap_or(&one.what);
            stretches.push((name.to_owned(), text[one.at.clone()].to_owned()));
        }
        leak::redacted(text, &found).unwrap_or_else(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::safety::testing::{VALUE, knowing, safety};

    #[test]
    fn whatever_reads_like_a_value_is_marked_and_the_name_of_a_field_cannot_be() {
        let turned: String = VALUE.chars().rev().collect();
        for text in [VALUE.to_owned(), VALUE.to_uppercase(), turned] {
            let marked = safety().marked(&json!({ "a": [text], "n": 1 })).expect("marked");
            assert_eq!(marked.arguments, json!({ "a": ["[redacted: secret:mail]"], "n": 1 }));
            assert_eq!(marked.set_at, BTreeMap::from([("mail".to_owned(), UnixMs(0))]));
        }
        assert!(safety().marked(&json!({ "a": "b" })).is_none());
        assert!(safety().marked(&json!({ VALUE: VALUE })).is_none());
    }

    #[test]
    fn words_alone_are_neither_the_value_nor_an_encoding_nor_anything_to_a_shell() {
        let safety = knowing("correcthorse");
        let hides_words =
            |text: &str| safety.hides_words_alone(&safety.marked(&json!(text)).expect("marked"));
        for (text, expected) in [
            ("Correct Horse", true),
            ("c-o-r-r-e-c-t-h-o-r-s-e", true),
            ("esrohtcerroc", true),
            ("correcthorse", false),
            ("Y29ycmVjdGhvcnNl", false),
            ("cor;rect;horse", false),
            ("Correct Horse, correcthorse", false),
        ] {
            assert_eq!(hides_words(text), expected, "{text}");
        }
    }
}
