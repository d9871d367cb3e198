//! The stored secrets in memory.
//!
//! Owns the values, the automaton that finds them in text, and the two exits of a value: the arguments of a call to a bound
//! host, and the key of a provider at a bound host (`provider_key`). Never exposes a value otherwise: no getter, no
//! `Serialize`, and `Debug` shows names. A change replaces all contents at once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use rouse_core::UnixMs;
use rouse_core::tool::{Destination, Tool};
use serde_json::Value;

use super::bound_host::BoundHost;
use super::handle::{self, HandleError};
use super::reload::SecretSource;
use super::secret::{Secret, SecretValue};
use crate::safety::StoredValues;

/// All stored secrets. Shared by `Arc`: every holder sees a change.
#[derive(Debug)]
pub struct SecretBook {
    contents: RwLock<Arc<BookContents>>,
    /// The source of unavailable values.
    pub(super) source: OnceLock<Weak<dyn SecretSource>>,
}

#[derive(Debug)]
pub(super) struct BookContents {
    pub(super) by_name: BTreeMap<String, Secret>,
    /// Names of stored secrets without a value, with the reason.
    unavailable: BTreeMap<String, String>,
    stored_values: Arc<StoredValues>,
}

impl Default for SecretBook {
    fn default() -> Self {
        let contents = BookContents::new(Vec::new(), BTreeMap::new());
        Self { contents: RwLock::new(Arc::new(contents)), source: OnceLock::new() }
    }
}

impl BookContents {
    fn new(secrets: Vec<Secret>, unavailable: BTreeMap<String, String>) -> Self {
        let stored_values = StoredValues::new(
            secrets.iter().map(|secret| (secret.name.as_str(), secret.value.0.as_str())),
        );
        let by_name = secrets.into_iter().map(|secret| (secret.name.clone(), secret)).collect();
        Self { by_name, unavailable, stored_values: Arc::new(stored_values) }
    }

    pub(super) fn unavailable_reason(&self, name: &str) -> Option<&str> {
        self.unavailable.get(name).map(String::as_str)
    }

    /// The error of a name without a value: unknown or unavailable.
    fn missing(&self, name: &str) -> HandleError {
        let name = name.to_owned();
        match self.unavailable_reason(&name).map(str::to_owned) {
            Some(why) => HandleError::Unavailable { name, why },
            None => HandleError::Unknown(name),
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(|secret| secret.value.0.as_str())
    }
}

impl SecretBook {
    /// Replaces all secrets.
    pub fn replace(&self, secrets: Vec<Secret>) {
        self.replace_with_unavailable(secrets, BTreeMap::new());
    }

    /// Replaces all secrets, and the names of secrets without a value, with reasons.
    pub fn replace_with_unavailable(
        &self,
        secrets: Vec<Secret>,
        unavailable: BTreeMap<String, String>,
    ) {
        let contents = Arc::new(BookContents::new(secrets, unavailable));
        *self.contents.write().unwrap_or_else(PoisonError::into_inner) = contents;
    }

    pub(crate) fn stored_values(&self) -> Arc<StoredValues> {
        Arc::clone(&self.contents().stored_values)
    }

    pub(super) fn contents(&self) -> Arc<BookContents> {
        Arc::clone(&self.contents.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The arguments of a call with values in place of handles; none without a handle. Only the tool may get the result:
    /// approval and journal hold the handles.
    ///
    /// # Errors
    /// When a handle names no secret with a value, or a secret that is not bound to the destination of the call.
    pub fn fill_handles(
        &self,
        tool: &dyn Tool,
        arguments: &Value,
    ) -> Result<Option<Value>, HandleError> {
        let names = handle::names_in(arguments)?;
        let Some(first) = names.first() else { return Ok(None) };
        let Some(destination) = tool.destination(arguments) else {
            // A local call may mention handles, for example in a file; egress needs a single known host.
            let is_local = !tool.annotations(arguments).open_world;
            return if is_local {
                Ok(None)
            } else {
                Err(HandleError::NoDestination(first.clone()))
            };
        };
        let contents = self.contents();
        for name in &names {
            check_destination(&contents, name, &destination)?;
        }
        let filled = handle::fill(arguments, &|name| contents.value(name));
        // The value must not change the destination.
        if tool.destination(&filled).as_ref() != Some(&destination) {
            return Err(HandleError::InHost(first.clone()));
        }
        Ok(Some(filled))
    }

    /// The error of the first handle in `text` without a value.
    pub(crate) fn first_missing_in(&self, text: &str) -> Option<HandleError> {
        let contents = self.contents();
        let name = handle::names_of(text).find(|name| !contents.by_name.contains_key(name))?;
        Some(contents.missing(&name))
    }

    /// The value and the bound hosts of a secret with hosts.
    pub(super) fn value_and_hosts(&self, name: &str) -> Option<(SecretValue, Vec<BoundHost>)> {
        let contents = self.contents();
        let secret = contents.by_name.get(name).filter(|secret| !secret.hosts.is_empty())?;
        Some((secret.value.clone(), secret.hosts.clone()))
    }

    /// When the secret `name` was set; none while the value is unavailable.
    #[must_use]
    pub fn set_at(&self, name: &str) -> Option<UnixMs> {
        self.contents().by_name.get(name).map(Secret::set_at)
    }

    /// Whether the secret `name` is bound to a host, so that a handle can be filled.
    pub(crate) fn has_handle(&self, name: &str) -> bool {
        self.contents().by_name.get(name).is_some_and(|secret| !secret.hosts.is_empty())
    }
}

fn check_destination(
    contents: &BookContents,
    name: &str,
    destination: &Destination,
) -> Result<(), HandleError> {
    let Some(secret) = contents.by_name.get(name) else {
        return Err(contents.missing(name));
    };
    if secret.hosts.iter().any(|host| host.allows(destination)) {
        return Ok(());
    }
    let name = name.to_owned();
    let Some(encrypted_host) = secret.hosts.iter().find(|host| host.lacks_encryption(destination))
    else {
        return Err(HandleError::OtherHost { name, bound: secret.hosts().join(", ") });
    };
    // The host over plain http includes the same host and port over https.
    let plain = BoundHost::unencrypted(destination);
    let others = secret.hosts.iter().filter(|host| !plain.includes(host));
    let hosts = others.chain([&plain]).map(|host| format!(" --host {host}")).collect();
    Err(HandleError::Unencrypted { name, bound: encrypted_host.to_string(), hosts })
}

#[cfg(test)]
mod tests {
    use rouse_core::policy::ApprovedCall;
    use std::time::Duration;

    use rouse_core::tool::{
        Annotations, ApprovalRule, BoxFuture, RateLimit, ToolContext, ToolDomain, ToolOutput,
        ToolSpec,
    };
    use serde_json::json;

    use super::*;
    use crate::safety::Safety;

    /// A tool that sends the arguments to the host of `url`.
    struct SendTool(ToolSpec);

    impl Tool for SendTool {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn destination(&self, arguments: &Value) -> Option<Destination> {
            let (scheme, rest) = arguments["url"].as_str()?.split_once("://")?;
            let host = rest.split(['/', '?']).next()?.rsplit('@').next()?.to_owned();
            Some(Destination {
                host,
                port: if scheme == "https" { 443 } else { 80 },
                is_encrypted: scheme == "https",
            })
        }

        fn call<'a>(&'a self, _: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
            Box::pin(std::future::ready(ToolOutput::ok("")))
        }
    }

    fn send_tool() -> SendTool {
        SendTool(ToolSpec {
            name: "http".to_owned(),
            description: String::new(),
            parameters: json!({}),
            annotations: Annotations::ANYTHING,
            approval: ApprovalRule::Never,
            domain: ToolDomain::InProcess,
            rate: RateLimit::USUAL,
            call_for: Duration::from_secs(1),
            untrusted_output: true,
            sensitive: Vec::new(),
            shell_text: Vec::new(),
            label: None,
            attended_only: false,
            listed_only: false,
            origin: None,
        })
    }

    const VALUE: &str = "hunter2/hunter2@x";

    fn book() -> SecretBook {
        let value = |text| SecretValue::new(text).expect("a value");
        let book = SecretBook::default();
        book.replace(vec![
            Secret::new("mail", value(VALUE), &["api.example.com".to_owned()]).expect("a secret"),
            Secret::redacted_only("provider", value("sk-0123456789")),
        ]);
        book
    }

    fn filled(arguments: &Value) -> Result<Option<Value>, HandleError> {
        book().fill_handles(&send_tool(), arguments)
    }

    #[test]
    fn unknown_secret_error_has_the_command() {
        let error = HandleError::Unknown("github".to_owned()).to_string();
        assert!(error.ends_with("`rouse secrets set github --host HOST`."), "{error}");
    }

    #[test]
    fn handle_is_filled_for_the_bound_host() {
        let arguments = json!({
            "url": "https://api.example.com/a?k={{secret:mail}}",
            "headers": {"authorization": "Bearer {{secret:mail}}"},
            "body": ["{{ secret:mail }}", 7],
        });
        let expected = json!({
            "url": "https://api.example.com/a?k=hunter2%2Fhunter2%40x",
            "headers": {"authorization": format!("Bearer {VALUE}")},
            "body": [VALUE, 7],
        });
        assert_eq!(filled(&arguments), Ok(Some(expected)));
    }

    #[test]
    fn arguments_without_a_handle_are_unchanged() {
        assert_eq!(filled(&json!({"url": "https://elsewhere.example/{{x}}"})), Ok(None));
    }

    #[test]
    fn secret_goes_to_no_other_host() {
        let other =
            Err(HandleError::OtherHost { name: "mail".into(), bound: "api.example.com".into() });
        for url in [
            "https://example.com/",
            "https://api.example.com.evil.example/",
            "https://evil.example/api.example.com",
            "http://evil.example/",
        ] {
            assert_eq!(filled(&json!({"url": url, "body": "{{secret:mail}}"})), other, "{url}");
        }
    }

    #[test]
    fn unencrypted_destination_error_has_the_command() {
        let value = SecretValue::new(VALUE).expect("a value");
        let hosts = ["127.0.0.1:80".to_owned(), "api.example.com".to_owned()];
        let book = SecretBook::default();
        book.replace(vec![Secret::new("mail", value, &hosts).expect("a secret")]);
        for (url, bound, command) in [
            (
                "http://127.0.0.1/",
                "127.0.0.1:80",
                "`rouse secrets set mail --host api.example.com --host http://127.0.0.1`",
            ),
            (
                "http://api.example.com/",
                "api.example.com",
                "`rouse secrets set mail --host 127.0.0.1:80 --host api.example.com --host http://api.example.com`",
            ),
        ] {
            let result =
                book.fill_handles(&send_tool(), &json!({ "url": url, "body": "{{secret:mail}}" }));
            let error = result.expect_err(url).to_string();
            assert!(error.contains(&format!("goes to {bound} over https only")), "{error}");
            assert!(
                error.contains("this address is plain http") && error.contains(command),
                "{error}"
            );
            assert!(!error.contains(VALUE), "{error}");
        }
    }

    #[test]
    fn handle_in_the_host_is_refused() {
        for url in ["https://{{secret:mail}}/", "https://{{secret:mail}}.api.example.com/"] {
            assert!(filled(&json!({ "url": url })).is_err(), "{url}");
        }
    }

    #[test]
    fn unfillable_handle_has_its_error() {
        let to = "https://api.example.com/";
        assert_eq!(
            filled(&json!({"url": to, "body": "{{secret:other}}"})),
            Err(HandleError::Unknown("other".into()))
        );
        assert_eq!(
            filled(&json!({"url": to, "body": "{{secret:provider}}"})),
            Err(HandleError::OtherHost { name: "provider".into(), bound: String::new() })
        );
        assert_eq!(
            filled(&json!({"path": "x", "body": "{{secret:mail}}"})),
            Err(HandleError::NoDestination("mail".into()))
        );
        assert_eq!(
            filled(&json!({"url": to, "{{secret:mail}}": 1})),
            Err(HandleError::Key("mail".into()))
        );
    }

    #[test]
    fn change_reaches_every_holder() {
        let book = Arc::new(book());
        let safety = Safety::new(Arc::clone(&book));
        assert_eq!(safety.redacted(VALUE).as_deref(), Some("[redacted: secret:mail]"));
        book.replace(Vec::new());
        assert_eq!(safety.redacted(VALUE), None);
    }

    #[test]
    fn debug_hides_values() {
        assert!(!format!("{:?} {:#?}", book(), book().contents().by_name).contains("hunter2"));
    }
}
