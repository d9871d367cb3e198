//! The stored secrets, as the running engine holds them.
//!
//! Owns their values in memory, the automaton that recognises them in text, and the ways a value gets out: into the
//! arguments of a call to a host that it is bound to, back into a call that a model has written it into itself, and as the
//! key of a provider at such a host (`provider_key`). There is no other way to read one: no getter, no `Serialize`, and
//! `Debug` shows names. Where they are kept is the host's business; a change replaces the book's contents as a whole, so
//! that nobody sees half of it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use rouse_core::tool::{Destination, Tool};
use serde_json::Value;

use super::absent::SecretSource;
use super::handle::{self, HandleError};
use super::host::BoundHost;
use super::stored::{Secret, SecretValue};
use crate::safety::Known;

/// All secrets. Clones of the `Arc` around it see every change.
#[derive(Debug)]
pub struct SecretBook {
    written: RwLock<Arc<Written>>,
    /// Where a value that is not at hand is looked for once more.
    pub(super) source: OnceLock<Weak<dyn SecretSource>>,
}

#[derive(Debug)]
pub(super) struct Written {
    pub(super) by_name: BTreeMap<String, Secret>,
    /// Those that are stored and not at hand, with why.
    absent: BTreeMap<String, String>,
    known: Arc<Known>,
}

impl Default for SecretBook {
    fn default() -> Self {
        let written = RwLock::new(Arc::new(Written::of(Vec::new(), BTreeMap::new())));
        Self { written, source: OnceLock::new() }
    }
}

impl Written {
    fn of(secrets: Vec<Secret>, absent: BTreeMap<String, String>) -> Self {
        let known = Known::new(
            secrets.iter().map(|secret| (secret.name.as_str(), secret.value.0.as_str())),
        );
        let by_name = secrets.into_iter().map(|secret| (secret.name.clone(), secret)).collect();
        Self { by_name, absent, known: Arc::new(known) }
    }

    /// Why the secret `name` is not at hand, where it is stored all the same.
    pub(super) fn why_absent(&self, name: &str) -> Option<&str> {
        self.absent.get(name).map(String::as_str)
    }

    /// That there is no secret `name`, or that it is not at hand.
    fn missing(&self, name: &str) -> HandleError {
        let name = name.to_owned();
        match self.why_absent(&name).map(str::to_owned) {
            Some(why) => HandleError::NotAtHand { name, why },
            None => HandleError::Unknown(name),
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(|secret| secret.value.0.as_str())
    }
}

impl SecretBook {
    /// Holds these secrets and no others from now on.
    pub fn replace(&self, secrets: Vec<Secret>) {
        self.hold(secrets, BTreeMap::new());
    }

    /// The same, and knows of others that are stored and not at hand, and why.
    pub fn hold(&self, secrets: Vec<Secret>, absent: BTreeMap<String, String>) {
        let written = Arc::new(Written::of(secrets, absent));
        *self.written.write().unwrap_or_else(PoisonError::into_inner) = written;
    }

    pub(crate) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.now().known)
    }

    pub(super) fn now(&self) -> Arc<Written> {
        Arc::clone(&self.written.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The arguments of a call with its handles replaced by values; none when there is no handle in them.
    ///
    /// For the very last moment: what comes out of here goes to the tool and is neither shown nor kept. What was judged,
    /// journalled and approved holds the handles.
    ///
    /// # Errors
    /// When a handle names no secret, or one that may not go where this call goes.
    pub fn filled(&self, tool: &dyn Tool, arguments: &Value) -> Result<Option<Value>, HandleError> {
        let names = handle::names_in(arguments)?;
        let Some(first) = names.first() else { return Ok(None) };
        let to = tool.destination(arguments);
        let Some(to) = to else {
            // What stays here may well speak of handles; what goes somewhere must go to one host.
            let stays = !tool.annotations(arguments).open_world;
            return if stays { Ok(None) } else { Err(HandleError::NoDestination(first.clone())) };
        };
        let written = self.now();
        for name in &names {
            may_go(&written, name, &to)?;
        }
        let filled = handle::fill(arguments, &|name| written.value(name));
        // A value that turns the address into another one goes nowhere.
        if tool.destination(&filled).as_ref() != Some(&to) {
            return Err(HandleError::Elsewhere(first.clone()));
        }
        Ok(Some(filled))
    }

    /// `found`, a stretch of text that is the secret `name` and nothing else, with its handle; none when that could not be
    /// put back exactly, or no handle stands for it.
    pub(crate) fn as_handle(&self, name: &str, found: &str) -> Option<String> {
        let written = self.now();
        let secret = written.by_name.get(name).filter(|secret| !secret.hosts.is_empty())?;
        let (before, after) = found.split_once(secret.value.0.as_str())?;
        let is_alone = before.trim().is_empty() && after.trim().is_empty();
        is_alone.then(|| format!("{before}{{{{secret:{name}}}}}{after}"))
    }

    /// What somebody has made of arguments that were shown by handles, for the very last moment like `filled`: the handles
    /// of these `names` stand for values, and any other for itself.
    pub(crate) fn put_back_of(&self, names: &[String], made: &Value) -> Value {
        let written = self.now();
        handle::fill_plainly(made, &|name| {
            names.iter().any(|one| one == name).then(|| written.value(name)).flatten()
        })
    }

    /// Whether `found` has the letters and digits of the secret `name`, forwards or backwards, without being its value.
    pub(crate) fn reads_like(&self, name: &str, found: &str) -> bool {
        let written = self.now();
        let bare = |text: &str| {
            let kept = text.chars().filter(|sign| sign.is_alphanumeric());
            kept.flat_map(char::to_lowercase).collect::<String>()
        };
        written.value(name).is_some_and(|value| {
            let (letters, found_letters) = (bare(value), bare(found));
            let is_turned = found_letters.chars().rev().eq(letters.chars());
            !found.contains(value) && (found_letters == letters || is_turned)
        })
    }

    /// Why the first secret that `text` names and that is not there is not.
    pub(crate) fn first_missing_in(&self, text: &str) -> Option<HandleError> {
        let written = self.now();
        let name = handle::names_of(text).find(|name| !written.by_name.contains_key(name))?;
        Some(written.missing(&name))
    }

    /// A value that may be sent somewhere, and where.
    pub(super) fn bound(&self, name: &str) -> Option<(SecretValue, Vec<BoundHost>)> {
        let written = self.now();
        let secret = written.by_name.get(name).filter(|secret| !secret.hosts.is_empty())?;
        Some((secret.value.clone(), secret.hosts.clone()))
    }

    /// Whether a handle with this name would be filled anywhere.
    pub(crate) fn has_handle(&self, name: &str) -> bool {
        self.now().by_name.get(name).is_some_and(|secret| !secret.hosts.is_empty())
    }
}

fn may_go(written: &Written, name: &str, to: &Destination) -> Result<(), HandleError> {
    let Some(secret) = written.by_name.get(name) else {
        return Err(written.missing(name));
    };
    if secret.hosts.iter().any(|host| host.is(to)) {
        return Ok(());
    }
    let name = name.to_owned();
    let Some(meant) = secret.hosts.iter().find(|host| host.wants_encrypted(to)) else {
        return Err(HandleError::OtherHost { name, bound: secret.hosts().join(", ") });
    };
    // The open address lets it go there encrypted as well, at the same port; its other hosts stay.
    let open = BoundHost::in_the_open(to);
    let others = secret.hosts.iter().filter(|host| !open.includes(host));
    let hosts = others.chain([&open]).map(|host| format!(" --host {host}")).collect();
    Err(HandleError::InTheOpen { name, bound: meant.to_string(), hosts })
}

#[cfg(test)]
mod tests {
    use rouse_core::policy::ApprovedCall;
    use std::time::Duration;

    use rouse_core::tool::{
        Annotations, ApprovalRule, BoxFuture, Domain, RateLimit, ToolContext, ToolOutput, ToolSpec,
    };
    use serde_json::json;

    use super::*;
    use crate::safety::Safety;

    /// A tool that sends its arguments to the host between the second and the third `/` of `url`.
    struct Sends(ToolSpec);

    impl Tool for Sends {
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

    fn sends() -> Sends {
        Sends(ToolSpec {
            name: "http".to_owned(),
            description: String::new(),
            parameters: json!({}),
            annotations: Annotations::ANYTHING,
            approval: ApprovalRule::Never,
            domain: Domain::InProcess,
            rate: RateLimit::USUAL,
            call_for: Duration::from_secs(1),
            untrusted_output: true,
            sensitive: Vec::new(),
            shell_text: Vec::new(),
            label: None,
            attended_only: false,
            listed_only: false,
        })
    }

    const VALUE: &str = "hunter2/hunter2@x";

    fn book() -> SecretBook {
        let value = |text| SecretValue::new(text).expect("a value");
        let book = SecretBook::default();
        book.replace(vec![
            Secret::new("mail", value(VALUE), &["api.example.com".to_owned()]).expect("a secret"),
            Secret::never_sent("provider", value("sk-0123456789")),
        ]);
        book
    }

    fn filled(arguments: &Value) -> Result<Option<Value>, HandleError> {
        book().filled(&sends(), arguments)
    }

    #[test]
    fn a_secret_that_is_missing_is_told_with_the_whole_command_that_stores_it() {
        let said = HandleError::Unknown("github".to_owned()).to_string();
        assert!(said.ends_with("`rouse secrets set github --host HOST`."), "{said}");
    }

    #[test]
    fn a_handle_becomes_the_value_for_the_bound_host() {
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
    fn without_a_handle_nothing_is_replaced() {
        assert_eq!(filled(&json!({"url": "https://elsewhere.example/{{x}}"})), Ok(None));
    }

    #[test]
    fn a_secret_goes_to_no_other_host_and_never_in_the_open() {
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
    fn a_secret_that_would_go_in_the_open_says_so_and_how_to_allow_it() {
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
            let refused = book.filled(&sends(), &json!({ "url": url, "body": "{{secret:mail}}" }));
            let said = refused.expect_err(url).to_string();
            assert!(said.contains(&format!("goes to {bound} over https only")), "{said}");
            assert!(
                said.contains("this address is plain http") && said.contains(command),
                "{said}"
            );
            assert!(!said.contains(VALUE), "{said}");
        }
    }

    #[test]
    fn a_handle_in_the_place_of_the_host_goes_nowhere() {
        for url in ["https://{{secret:mail}}/", "https://{{secret:mail}}.api.example.com/"] {
            assert!(filled(&json!({ "url": url })).is_err(), "{url}");
        }
    }

    #[test]
    fn what_cannot_be_filled_is_said() {
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
    fn a_change_reaches_everybody_who_holds_the_book() {
        let book = Arc::new(book());
        let safety = Safety::new(Arc::clone(&book));
        assert_eq!(safety.redacted(VALUE).as_deref(), Some("[redacted: secret:mail]"));
        book.replace(Vec::new());
        assert_eq!(safety.redacted(VALUE), None);
    }

    #[test]
    fn nothing_shows_a_value() {
        assert!(!format!("{:?} {:#?}", book(), book().now().by_name).contains("hunter2"));
    }
}
