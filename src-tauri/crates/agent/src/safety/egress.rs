//! Data that leaves this computer: arguments of calls, notifications, requests to models.
//!
//! Owns the search for secrets in that data. Only certain findings count: the value of a stored secret, or the shape of a
//! key. A finding from a name alone (`token: …`) does not count, because every form has such a field. Pitfall: scanning
//! arguments after handles (`{{secret:NAME}}`) are filled; a filled handle is a stored value.

use rouse_core::tool::Annotations;
use serde_json::Value;

use super::layer::Safety;
use super::leak;
use super::stored_secrets::each_text;

/// Secrets in data that must not leave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "Not sent: the data holds a secret ({}). Remove the secret, or let a person store it with `rouse secrets \
     set` and write {{{{secret:NAME}}}} instead.",
    what.join(", ")
)]
pub struct EgressLeak {
    /// `secret:NAME` for a stored secret, else the name of a rule. Sorted, each once.
    pub what: Vec<String>,
}

impl EgressLeak {
    /// Whether all findings are key-shaped, and none is a stored secret.
    pub(crate) fn is_only_key_shaped(&self) -> bool {
        self.what.iter().all(|what| !what.starts_with("secret:"))
    }
}

impl Safety {
    /// Whether a call with these annotations sends the arguments away. `notify` does: a locked screen shows the text.
    #[must_use]
    pub fn is_egress(tool: &str, annotations: Annotations) -> bool {
        annotations.open_world || tool == "notify"
    }

    /// Scans `data` before egress.
    ///
    /// # Errors
    /// When `data` holds a secret. Nothing may be sent then.
    pub fn check_egress(&self, data: &Value) -> Result<(), EgressLeak> {
        let stored = self.secrets.stored_values();
        // Also as a single text, because some rules match a name next to its value.
        let mut found = leak::find(&data.to_string(), &stored);
        each_text(data, &mut |text, _| found.extend(leak::find(text, &stored)));
        found.retain(|finding| finding.certain);
        let mut what: Vec<String> = found.into_iter().map(|finding| finding.what).collect();
        what.sort();
        what.dedup();
        if what.is_empty() { Ok(()) } else { Err(EgressLeak { what }) }
    }

    /// The findings of `leak`, each with argument and line of the first occurrence.
    pub(crate) fn places_of_leak(&self, leak: &EgressLeak, arguments: &Value) -> String {
        let stored = self.secrets.stored_values();
        let texts: Vec<(&String, &str)> = arguments
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(name, field)| Some((name, field.as_str()?)))
            .collect();
        let place_of = |what: &str| {
            texts.iter().find_map(|(name, text)| {
                let found = leak::find(text, &stored);
                let finding = found.iter().find(|found| found.certain && found.what == what)?;
                Some(place(name, text, finding.at.start))
            })
        };
        let named = leak.what.iter().map(|what| match place_of(what) {
            Some(place) => format!("{what} in {place}"),
            None => what.clone(),
        });
        named.collect::<Vec<_>>().join("; ")
    }

    /// Arguments for the journal and for display, with all secrets redacted.
    #[must_use]
    pub fn redact_arguments(&self, arguments: Value) -> Value {
        self.redact_json(arguments)
    }
}

/// The argument, and the line if there are several.
fn place(name: &str, text: &str, at: usize) -> String {
    if text.contains('\n') {
        format!("{name}, line {}", text[..at].matches('\n').count() + 1)
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::safety::testing::{VALUE, safety, safety_with};

    fn stripe_key() -> String {
        format!("sk_{}_{}", "live", "4eC39HqLyjWDarjtT1zdp7dc")
    }

    fn leak_of(data: &Value) -> Vec<String> {
        safety().check_egress(data).err().map(|leak| leak.what).unwrap_or_default()
    }

    #[test]
    fn short_value_does_not_leave_as_a_whole_field() {
        let safety = safety_with("4711");
        for data in [
            json!({"json": {"pin": "4711"}}),
            json!({"json": [4711]}),
            json!({"body": "4711"}),
            json!({"json": {"4711": 1}}),
            json!({"json": [{"pin": 4711.0}]}),
            json!({"body": "4711.00"}),
        ] {
            assert!(safety.check_egress(&data).is_err(), "{data}");
        }
        assert_eq!(safety.check_egress(&json!({"4711.5": 4711.01, "x": "4711."})), Ok(()));
        let order = json!({"url": "https://shop.example/orders/4711"});
        assert_eq!(safety.check_egress(&order), Ok(()), "by chance");
    }

    #[test]
    fn stored_value_leaves_in_no_part_of_a_request() {
        for data in [
            json!({"url": format!("https://x.example/?q={VALUE}")}),
            json!({"url": "https://x.example/", "headers": {"x": VALUE}}),
            json!({"url": "https://x.example/", "headers": {VALUE: "x"}}),
            json!({"url": "https://x.example/", "body": "c3VuZmxvd2VyLTQyLVRhbmdv"}),
            json!({"url": "https://sunflower-42-tango.x.example/73756e666c6f7765722d34322d54616e676f"}),
        ] {
            assert_eq!(leak_of(&data), ["secret:mail"], "{data}");
        }
        let keyed = json!({"body": format!("key={}&x=1", stripe_key())});
        assert_eq!(leak_of(&keyed), ["stripe-access-token"]);
    }

    #[test]
    fn key_shaped_leak_is_named_with_its_place() {
        let key = stripe_key();
        for (arguments, places) in [
            (json!({"command": key}), "stripe-access-token in command"),
            (
                json!({"command": format!("é\n\n {key} \n{key}")}),
                "stripe-access-token in command, line 3",
            ),
            (json!({"command": "ls", "cwd": key}), "stripe-access-token in cwd"),
        ] {
            let leak = safety().check_egress(&arguments).expect_err("a leak");
            assert!(leak.is_only_key_shaped(), "{arguments}");
            assert_eq!(safety().places_of_leak(&leak, &arguments), places);
        }
        let both = json!({"command": format!("{key} {VALUE}")});
        assert!(!safety().check_egress(&both).expect_err("a leak").is_only_key_shaped());
    }

    #[test]
    fn data_without_a_secret_leaves() {
        for data in [
            json!({"url": "https://api.example.com/", "headers": {"authorization": "Bearer {{secret:mail}}"}}),
            json!({"url": "https://x.example/", "json": {"discord_token": "0123456789abcdef0123456789abcdef"}}),
            json!({"title": "Backup", "body": "It took 42 minutes. The sunflower is well."}),
            json!(null),
        ] {
            assert_eq!(safety().check_egress(&data), Ok(()), "{data}");
        }
    }

    #[test]
    fn local_write_is_no_egress() {
        assert!(!Safety::is_egress("write_file", Annotations::OVERWRITES));
        assert!(!Safety::is_egress("read_file", Annotations::READS));
        let open = Annotations { open_world: true, ..Annotations::READS };
        assert!(Safety::is_egress("http", open));
        assert!(Safety::is_egress("notify", Annotations::ADDS));
    }

    #[test]
    fn leak_error_names_the_secret_without_its_value() {
        let error = safety().check_egress(&json!(VALUE)).expect_err("a leak").to_string();
        assert!(error.contains("secret:mail") && error.contains("{{secret:NAME}}"), "{error}");
        assert!(!error.contains(VALUE));
    }

    #[test]
    fn journalled_arguments_hold_no_secret() {
        assert_eq!(
            safety().redact_arguments(json!({"body": VALUE, "n": 1})),
            json!({"body": "[redacted: secret:mail]", "n": 1})
        );
    }
}
