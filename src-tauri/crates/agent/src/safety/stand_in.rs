//! Handles in the place of values: a call that writes a secret down here, as it may be asked about.
//!
//! A model may know a secret, because a person has told it one and stored it later, or because what is stored is a word like
//! any other. Where it writes that into a file of the workspace nothing leaves, and a person can say yes to it. The
//! question is written down and the value must not be, so its handle stands there, and the value is put back when the call
//! is made. That works only where a value stands as it is: another spelling of it could not be put back. One could get it
//! wrong by putting values in the place of a handle that the model itself has written: a model that knows none would have
//! found a way to get one into a file. So what is put back must be, byte for byte, what was written.

use rouse_core::hidden::handles;
use serde_json::Value;

use super::{Safety, leak};
use crate::secret::ByHandles;

impl Safety {
    /// `arguments` with handles where values of stored secrets stand; none when they could not be made again from that, or
    /// there is none in them.
    pub(crate) fn with_handles(&self, arguments: &Value) -> Option<ByHandles> {
        // Looked at first: what is set anew from here on is no value that is found below, or cannot be put back.
        let mut set_at = self.secrets.all_set_at();
        let kept = self.by_handles(arguments)?;
        let text = kept.to_string();
        set_at.retain(|name, _| handles(&text).any(|handle| handle.name == name));
        let kept = ByHandles { arguments: kept, set_at };
        let is_whole = self.without_stored(&kept.arguments).is_none()
            && self.secrets.put_back(&kept).as_ref() == Ok(arguments);
        (is_whole && kept.arguments != *arguments).then_some(kept)
    }

    /// `made` of arguments that were shown by the handles of `names`, with the values in the place of these.
    pub(crate) fn put_back_of(&self, names: &[String], made: &Value) -> Value {
        self.secrets.put_back_of(names, made)
    }

    /// What a person is shown of a call that holds values: their handles, and what else is found as what it is.
    pub(crate) fn shown_by_handles(&self, text: &str) -> String {
        let shown = self.text_by_handles(text, |what| Some(leak::mark(what)));
        shown.unwrap_or_else(|| self.words(text))
    }

    fn by_handles(&self, value: &Value) -> Option<Value> {
        match value {
            Value::String(text) => self.text_by_handles(text, |_| None).map(Value::String),
            Value::Array(items) => items.iter().map(|item| self.by_handles(item)).collect(),
            Value::Object(fields) => {
                let kept =
                    |(key, field): (&String, &Value)| Some((key.clone(), self.by_handles(field)?));
                fields.iter().map(kept).collect::<Option<_>>().map(Value::Object)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(value.clone()),
        }
    }

    /// `text` with the handles of its plain values, and with what `other` says for any other spelling.
    fn text_by_handles(
        &self,
        text: &str,
        other: impl Fn(&str) -> Option<String>,
    ) -> Option<String> {
        let (mut shown, mut rest) = (String::with_capacity(text.len()), 0);
        for found in leak::find_stored(text, &self.secrets.known()) {
            let name = found.what.strip_prefix("secret:").unwrap_or_default();
            let stretch = &text[found.at.clone()];
            shown.push_str(&text[rest..found.at.start]);
            shown.push_str(&match self.secrets.as_handle(name, stretch) {
                Some(handle) => handle,
                None => other(&found.what)?,
            });
            rest = found.at.end;
        }
        shown.push_str(&text[rest..]);
        Some(shown)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use rouse_core::UnixMs;
    use serde_json::json;

    use super::*;
    use crate::safety::testing::{self, VALUE};
    use crate::secret::{Gone, Secret, SecretBook, SecretValue};

    fn safety() -> Safety {
        let secret = |name: &str, value: &str| {
            let value = SecretValue::new(value).expect("a value");
            Secret::new(name, value, &["a.example".to_owned()]).expect("a secret")
        };
        let book = SecretBook::default();
        book.replace(vec![secret("mail", VALUE), secret("pin", "4711")]);
        Safety::new(Arc::new(book))
    }

    #[test]
    fn what_holds_plain_values_is_kept_by_their_handles_and_made_again_exactly() {
        for (written, kept) in [
            (
                json!({"content": format!("A={VALUE}\nB={VALUE}\n")}),
                json!({"content": "A={{secret:mail}}\nB={{secret:mail}}\n"}),
            ),
            (
                json!({"content": format!("https://a.example/?k={VALUE}")}),
                json!({"content": "https://a.example/?k={{secret:mail}}"}),
            ),
            (json!({"content": "4711\n", "n": 1}), json!({"content": "{{secret:pin}}\n", "n": 1})),
            (json!([[VALUE], null]), json!([["{{secret:mail}}"], null])),
        ] {
            let by_handles = safety().with_handles(&written).expect("kept");
            assert_eq!(by_handles.arguments, kept, "{written}");
            assert_eq!(safety().secrets().put_back(&by_handles), Ok(written));
        }
    }

    #[test]
    fn a_handle_stands_for_the_value_that_it_was_kept_of_and_for_no_other() {
        let safety = safety();
        let written = json!({ "content": format!("A={VALUE}") });
        let kept = safety.with_handles(&written).expect("kept");
        assert_eq!(kept.set_at.keys().collect::<Vec<_>>(), ["mail"]);
        let set = |value: &str, at: i64| {
            let value = SecretValue::new(value).expect("a value");
            Secret::new("mail", value, &["a.example".to_owned()]).expect("one").set(UnixMs(at))
        };
        let book = safety.secrets();
        book.replace(vec![set("another-one-42", 7)]);
        assert_eq!(book.put_back(&kept), Err(Gone::Replaced("mail".to_owned())));
        book.replace(Vec::new());
        assert_eq!(book.put_back(&kept), Err(Gone::Deleted("mail".to_owned())));
        let (name, why) = ("mail".to_owned(), "it is locked".to_owned());
        book.hold(Vec::new(), BTreeMap::from([(name.clone(), why.clone())]));
        assert_eq!(book.put_back(&kept), Err(Gone::NotAtHand { name: name.clone(), why }));
        book.replace(vec![set(VALUE, 0)]);
        let undated = ByHandles { set_at: BTreeMap::new(), ..kept.clone() };
        assert_eq!(book.put_back(&undated), Err(Gone::Undated(name)));
        assert_eq!(book.put_back(&kept), Ok(written));
    }

    #[test]
    fn what_could_not_be_made_again_has_no_handles() {
        for written in [
            json!({"content": "nothing"}),
            json!({"content": "c3VuZmxvd2VyLTQyLVRhbmdv"}),
            json!({"content": VALUE.to_uppercase()}),
            json!({"content": format!("{VALUE} c3VuZmxvd2VyLTQyLVRhbmdv")}),
            json!({VALUE: "a"}),
            json!({"pin": 4711}),
            // A handle that the model itself has written stays one.
            json!({"content": "{{secret:mail}}"}),
            json!({"content": format!("{{{{secret:mail}}}} {VALUE}")}),
        ] {
            assert_eq!(safety().with_handles(&written), None, "{written}");
        }
        // No handle stands for a key of a provider.
        assert_eq!(testing::safety().with_handles(&json!({"content": VALUE})), None);
    }

    #[test]
    fn a_preview_shows_handles_and_marks() {
        let preview = format!("+A={VALUE}\n-B: c3VuZmxvd2VyLTQyLVRhbmdv");
        let shown = safety().shown_by_handles(&preview);
        assert_eq!(shown, "+A={{secret:mail}}\n-B: [redacted: secret:mail]");
    }
}
