//! What goes out: the arguments of a call that sends something away, a notification, a request to a model.
//!
//! A call that holds a secret is not made, and is told what it held, so that it can be made without. Only what can hardly
//! be anything else stops one: the value of a stored secret, in whatever spelling, and what has the shape of a key. What
//! is told only by a name beside it stops nothing, because every form has a field called token. The pieces of a secret that
//! stand in several arguments are put together again. A call that works on what is here may well hold the mere shape of a
//! key, so a leak says whether it is no more than that, and where.
//!
//! It asks for the arguments as they were judged, with their handles: a handle is how a secret is meant to travel. One
//! could get it wrong by asking about every call: writing a key into a file of the workspace is no leak.

use rouse_core::tool::Annotations;
use serde_json::Value;

use super::{Known, Safety, leak};

/// A secret that was about to leave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "Not sent: it holds what must not leave this computer ({}). Take it out, or let a person store it with `rouse secrets \
     set` and write {{{{secret:NAME}}}} in its place.",
    what.join(", ")
)]
pub struct Leak {
    /// What it is: `secret:NAME` of a stored one, or what it looks like.
    pub what: Vec<String>,
}

impl Leak {
    /// Whether all of it only looks like keys, and no stored value is among it.
    pub(crate) fn is_only_shaped(&self) -> bool {
        self.what.iter().all(|what| !what.starts_with("secret:"))
    }
}

impl Safety {
    /// Whether a call that does this to the world sends its arguments away, so that `outgoing` has to be asked.
    ///
    /// `notify` sends as well: what it says is shown on a locked screen.
    #[must_use]
    pub fn leaves(tool: &str, does: Annotations) -> bool {
        does.open_world || tool == "notify"
    }

    /// Whether `leaving` may leave.
    ///
    /// # Errors
    /// When it holds a secret; nothing of it may be sent then.
    pub fn outgoing(&self, leaving: &Value) -> Result<(), Leak> {
        let known = self.secrets.known();
        let mut texts = [leaving.to_string(), String::new(), String::new()];
        pieces(leaving, false, &mut texts[1]);
        pieces(leaving, true, &mut texts[2]);
        let mut what: Vec<String> = texts
            .iter()
            .flat_map(|text| leak::find(text, &known))
            .filter(|finding| finding.certain)
            .map(|finding| finding.what)
            .collect();
        short(leaving, &known, &mut what);
        what.sort();
        what.dedup();
        if what.is_empty() { Ok(()) } else { Err(Leak { what }) }
    }

    /// What `leak` is of, with where in these arguments it stands first. What several of them make together stands in none.
    pub(crate) fn places(&self, leak: &Leak, arguments: &Value) -> String {
        let known = self.secrets.known();
        let fields = arguments.as_object().into_iter().flatten();
        let texts = fields.filter_map(|(name, field)| Some((name, field.as_str()?)));
        let found: Vec<(String, String)> = texts
            .flat_map(|(name, text)| {
                let found = leak::find(text, &known).into_iter().filter(|it| it.certain);
                found.map(move |it| (it.what, place(name, text, it.at.start)))
            })
            .collect();
        let named = leak.what.iter().map(|what| {
            let first = found.iter().find(|(of, _)| of == what);
            first.map_or_else(|| what.clone(), |(_, place)| format!("{what} in {place}"))
        });
        named.collect::<Vec<_>>().join("; ")
    }

    /// Arguments as they may be kept and shown: without the secrets that somebody has written into them.
    #[must_use]
    pub fn kept(&self, arguments: Value) -> Value {
        self.value_without(arguments, &mut Vec::new())
    }
}

/// Where in the text of this argument a byte stands.
fn place(name: &str, text: &str, at: usize) -> String {
    match text.contains('\n') {
        true => format!("{name}, line {}", text[..at].matches('\n').count() + 1),
        false => name.to_owned(),
    }
}

/// The short secrets that are a whole field of `value`, or the name of one.
fn short(value: &Value, known: &Known, what: &mut Vec<String>) {
    match value {
        Value::String(text) => what.extend(known.short_one(text).map(str::to_owned)),
        Value::Number(number) => {
            what.extend(known.short_one(&number.to_string()).map(str::to_owned));
        }
        Value::Array(items) => items.iter().for_each(|item| short(item, known, what)),
        Value::Object(fields) => {
            for (key, field) in fields {
                what.extend(known.short_one(key).map(str::to_owned));
                short(field, known, what);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// All texts of `value`, one behind the other, with the keys before their values or without them.
fn pieces(value: &Value, with_keys: bool, together: &mut String) {
    match value {
        Value::String(text) => together.push_str(text),
        Value::Number(number) => together.push_str(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| pieces(item, with_keys, together)),
        Value::Object(fields) => {
            for (key, field) in fields {
                if with_keys {
                    together.push_str(key);
                }
                pieces(field, with_keys, together);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::safety::testing::{VALUE, knowing, safety};

    #[test]
    fn a_short_secret_leaves_in_no_field_of_its_own() {
        let safety = knowing("4711");
        for leaving in [
            json!({"json": {"pin": "4711"}}),
            json!({"json": [4711]}),
            json!({"body": "4711"}),
            json!({"json": {"4711": 1}}),
            json!({"json": [{"pin": 4711.0}]}),
            json!({"body": "4711.00"}),
        ] {
            assert!(safety.outgoing(&leaving).is_err(), "{leaving}");
        }
        assert_eq!(safety.outgoing(&json!({"4711.5": 4711.01, "x": "4711."})), Ok(()));
        // Nobody could tell it from a number of an order there.
        assert_eq!(safety.outgoing(&json!({"url": "https://shop.example/orders/4711"})), Ok(()));
    }

    fn what(leaving: &Value) -> Vec<String> {
        safety().outgoing(leaving).err().map(|leak| leak.what).unwrap_or_default()
    }

    #[test]
    fn a_stored_secret_does_not_leave_in_any_part_of_a_request() {
        let stripe = format!("sk_{}_{}", "live", "4eC39HqLyjWDarjtT1zdp7dc");
        let cases = [
            json!({"url": format!("https://x.example/?q={VALUE}")}),
            json!({"url": "https://x.example/", "headers": {"x": VALUE}}),
            json!({"url": "https://x.example/", "headers": {VALUE: "x"}}),
            json!({"url": "https://x.example/", "body": "c3VuZmxvd2VyLTQyLVRhbmdv"}),
            json!({"url": "https://x.example/", "json": {"a": ["sunflower", "-42-", {"b": "Tango"}]}}),
            json!({"url": "https://sunflower-42-tango.x.example/73756e666c6f7765722d34322d54616e676f"}),
            json!({"title": "sunflower", "body": "-42-Tango"}),
        ];
        for leaving in cases {
            assert_eq!(what(&leaving), ["secret:mail"], "{leaving}");
        }
        assert_eq!(what(&json!({"body": format!("key={stripe}&x=1")})), ["stripe-access-token"]);
    }

    #[test]
    fn what_only_looks_like_keys_is_told_from_a_stored_value_and_has_its_places() {
        let stripe = format!("sk_{}_{}", "live", "4eC39HqLyjWDarjtT1zdp7dc");
        let (begin, end) = stripe.split_at(12);
        for (arguments, places) in [
            (json!({"command": stripe}), "stripe-access-token in command"),
            (
                json!({"command": format!("é\n\n {stripe} \n{stripe}")}),
                "stripe-access-token in command, line 3",
            ),
            (json!({"command": "ls", "cwd": stripe}), "stripe-access-token in cwd"),
            (json!({"command": begin, "cwd": end}), "stripe-access-token"),
        ] {
            let leak = safety().outgoing(&arguments).expect_err("a leak");
            assert!(leak.is_only_shaped(), "{arguments}");
            assert_eq!(safety().places(&leak, &arguments), places);
        }
        let both = json!({"command": format!("{stripe} {VALUE}")});
        assert!(!safety().outgoing(&both).expect_err("a leak").is_only_shaped());
    }

    #[test]
    fn what_is_no_secret_leaves() {
        for leaving in [
            json!({"url": "https://api.example.com/", "headers": {"authorization": "Bearer {{secret:mail}}"}}),
            json!({"url": "https://x.example/", "json": {"discord_token": "0123456789abcdef0123456789abcdef"}}),
            json!({"title": "Backup", "body": "It took 42 minutes. The sunflower is well."}),
            json!(null),
        ] {
            assert_eq!(safety().outgoing(&leaving), Ok(()), "{leaving}");
        }
    }

    #[test]
    fn a_local_write_is_not_leaving() {
        assert!(!Safety::leaves("write_file", Annotations::OVERWRITES));
        assert!(!Safety::leaves("read_file", Annotations::READS));
        assert!(Safety::leaves("http", Annotations { open_world: true, ..Annotations::READS }));
        assert!(Safety::leaves("notify", Annotations::ADDS));
    }

    #[test]
    fn a_refusal_names_the_secret_and_not_its_value() {
        let leak = safety().outgoing(&json!(VALUE)).expect_err("a leak");
        let said = leak.to_string();
        assert!(said.contains("secret:mail") && said.contains("{{secret:NAME}}"), "{said}");
        assert!(!said.contains(VALUE));
    }

    #[test]
    fn what_is_kept_of_arguments_holds_no_secret() {
        assert_eq!(
            safety().kept(json!({"body": VALUE, "n": 1})),
            json!({"body": "[redacted: secret:mail]", "n": 1})
        );
    }
}
