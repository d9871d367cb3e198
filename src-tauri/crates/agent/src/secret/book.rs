//! The stored secrets, as the running engine holds them.
//!
//! Owns their values in memory, the automaton that recognises them in text, and the ways a value gets out: into the
//! arguments of a call to a host that it is bound to, back into a call that a model has written it into itself, and as the
//! key of a provider at such a host (`provider_key`). There is no other way to read one: no getter, no `Serialize`, and
//! `Debug` shows names. Where they are kept is the host's business; a change replaces the book's contents as a whole, so
//! that nobody sees half of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rouse_core::tool::{Destination, Tool};
use serde_json::Value;
use zeroize::Zeroizing;

use super::handle::{self, HandleError};
use super::host::BoundHost;
use crate::safety::{Known, SHORTEST};

/// The longest value that every system's keyring takes.
const LONGEST: usize = 2_400;

/// The fewest bytes of a value, white space not counted.
const LEAST: usize = 4;

/// The longest name.
const LONGEST_NAME: usize = 64;

/// A value that nobody is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Zeroizing<String>);

/// Why something is no secret that can be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The name cannot stand in a handle.
    #[error("`{0}` is no name for a secret: use 1 to 64 small letters, digits, _ and -")]
    Name(String),
    /// It is nearly every other word.
    #[error("a secret has at least {LEAST} characters")]
    Short,
    /// Not every keyring takes it.
    #[error("a secret has at most {LONGEST} bytes")]
    Long,
    /// It would end a header.
    #[error("a secret is one line without control characters")]
    Control,
    /// It could go nowhere.
    #[error("a secret is bound to at least one host")]
    NoHost,
    /// No host.
    #[error("`{0}` is no host: write api.example.com, or api.example.com:8443")]
    Host(String),
}

impl SecretValue {
    /// Takes a value as it was typed; a line break at its end is not part of it.
    ///
    /// # Errors
    /// When it is too short, too long, or more than a line.
    pub fn new(text: &str) -> Result<Self, SecretError> {
        let text = text.trim_end_matches(['\n', '\r']);
        if size_of(text) < LEAST {
            return Err(SecretError::Short);
        }
        if text.len() > LONGEST {
            return Err(SecretError::Long);
        }
        if text.chars().any(char::is_control) {
            return Err(SecretError::Control);
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// What the person should know when it is too short to be told from ordinary text.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        (!self.is_watched()).then(|| format!(
            "It has fewer than {SHORTEST} characters, and ordinary text has words like it. Rouse watches for it only where it is the whole of a field, so it can be written down or sent inside of a longer text unnoticed. Use a longer value if you can."
        ))
    }

    /// Whether it is looked for in every text.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        size_of(&self.0) >= SHORTEST
    }

    /// The value itself, for where it is stored and for nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Bytes of `text` that are not white space.
fn size_of(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).map(char::len_utf8).sum()
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// A secret with its name and the hosts it may be sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    name: String,
    value: SecretValue,
    hosts: Vec<BoundHost>,
}

impl Secret {
    /// A secret that may be sent to `hosts`.
    ///
    /// # Errors
    /// When the name or a host is none, or there is no host.
    pub fn new(name: &str, value: SecretValue, hosts: &[String]) -> Result<Self, SecretError> {
        if hosts.is_empty() {
            return Err(SecretError::NoHost);
        }
        let hosts = hosts
            .iter()
            .map(|host| BoundHost::parse(host).ok_or_else(|| SecretError::Host(host.clone())))
            .collect::<Result<_, _>>()?;
        if !is_secret_name(name) {
            return Err(SecretError::Name(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), value, hosts })
    }

    /// A key that is only recognised and never put into a call: a provider's, say.
    #[must_use]
    pub fn never_sent(name: &str, value: SecretValue) -> Self {
        Self { name: name.to_owned(), value, hosts: Vec::new() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it may be sent.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        self.hosts.iter().map(ToString::to_string).collect()
    }

    /// Its value, for where it is stored and for nothing else.
    #[must_use]
    pub const fn value(&self) -> &SecretValue {
        &self.value
    }
}

/// Whether `name` can stand in a handle.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let spelled = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(spelled)
}

/// All secrets. Clones of the `Arc` around it see every change.
#[derive(Debug)]
pub struct SecretBook {
    written: RwLock<Arc<Written>>,
}

#[derive(Debug)]
struct Written {
    by_name: BTreeMap<String, Secret>,
    known: Arc<Known>,
}

impl Default for SecretBook {
    fn default() -> Self {
        Self { written: RwLock::new(Arc::new(Written::of(Vec::new()))) }
    }
}

impl Written {
    fn of(secrets: Vec<Secret>) -> Self {
        let known = Known::new(
            secrets.iter().map(|secret| (secret.name.as_str(), secret.value.0.as_str())),
        );
        let by_name = secrets.into_iter().map(|secret| (secret.name.clone(), secret)).collect();
        Self { by_name, known: Arc::new(known) }
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(|secret| secret.value.0.as_str())
    }
}

impl SecretBook {
    /// Holds these secrets and no others from now on.
    pub fn replace(&self, secrets: Vec<Secret>) {
        let written = Arc::new(Written::of(secrets));
        *self.written.write().unwrap_or_else(PoisonError::into_inner) = written;
    }

    pub(crate) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.now().known)
    }

    fn now(&self) -> Arc<Written> {
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

    /// What a model has written, of arguments that were kept with handles in the place of its values; none when one of them
    /// is not there any more. For the very last moment, like `filled`.
    pub(crate) fn put_back(&self, kept: &Value) -> Option<Value> {
        let written = self.now();
        let names = handle::names_in(kept).ok()?;
        let is_whole = names.iter().all(|name| self.has_handle(name));
        is_whole.then(|| handle::fill_plainly(kept, &|name| written.value(name)))
    }

    /// The same of what somebody has made of such arguments: the handles of these `names` stand for values, and any other
    /// for itself.
    pub(crate) fn put_back_of(&self, names: &[String], made: &Value) -> Value {
        let written = self.now();
        handle::fill_plainly(made, &|name| {
            names.iter().any(|one| one == name).then(|| written.value(name)).flatten()
        })
    }

    /// The first secret that `text` names and that is not there.
    pub(crate) fn first_unknown_in(&self, text: &str) -> Option<String> {
        let written = self.now();
        handle::names_of(text).find(|name| !written.by_name.contains_key(name))
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
        return Err(HandleError::Unknown(name.to_owned()));
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
    fn only_what_can_be_a_secret_becomes_one() {
        assert_eq!(SecretValue::new("a b c\n"), Err(SecretError::Short));
        let warned = SecretValue::new("a b c d e f g").expect("a value").warning();
        assert!(warned.is_some_and(|words| words.contains("fewer than 8 characters")));
        assert_eq!(SecretValue::new("two lines of\nit"), Err(SecretError::Control));
        assert_eq!(SecretValue::new(&"x".repeat(LONGEST + 1)), Err(SecretError::Long));
        let value = SecretValue::new("hunter2hunter2\r\n").expect("a value");
        assert_eq!(value.warning(), None);
        assert_eq!(value.expose(), "hunter2hunter2");
        let secret = |name, hosts: &[&str]| {
            let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
            Secret::new(name, value.clone(), &hosts)
        };
        assert_eq!(secret("Mail", &["a.example"]), Err(SecretError::Name("Mail".into())));
        assert_eq!(secret("", &["a.example"]), Err(SecretError::Name(String::new())));
        assert_eq!(secret("mail", &[]), Err(SecretError::NoHost));
        assert_eq!(secret("mail", &["*.example"]), Err(SecretError::Host("*.example".into())));
    }

    #[test]
    fn nothing_shows_a_value() {
        assert!(!format!("{:?} {:#?}", book(), book().now().by_name).contains("hunter2"));
    }
}
