//! The key of a provider: given as it is, or a stored secret that is looked up when it is needed.
//!
//! Owns the one way by which a stored value becomes a key: for the host of the provider's own address and for no other, as
//! the person has bound it. A secret that is stored anew is the key of the next question. It refuses to be shown, like the
//! value itself. One could get it wrong by looking a key up once: a key that was changed because it had leaked would go on
//! being sent.

use std::sync::Arc;

use rouse_core::tool::Destination;

use super::book::SecretBook;
use super::{ApiKey, BoundHost};

/// Where a provider's key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderKey {
    /// Here it is.
    Given(ApiKey),
    /// It is stored.
    Stored(StoredKey),
}

/// A key that is a stored secret.
#[derive(Debug, Clone)]
pub struct StoredKey {
    name: String,
    book: Arc<SecretBook>,
}

/// Why a stored secret is no key for a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nobody has stored it.
    #[error("the secret {name} is not stored; `rouse secrets set {name} --host {host}` stores it")]
    Missing {
        /// The secret.
        name: String,
        /// The provider's host.
        host: String,
    },
    /// It is stored, and its value cannot be fetched.
    #[error("the secret {name} is not at hand, because {why}")]
    NotAtHand {
        /// The secret.
        name: String,
        /// Why.
        why: String,
    },
    /// It is for others.
    #[error(
        "the secret {name} goes to {bound} alone and not to {host}; `rouse secrets set {name} --host {host}` stores one for it"
    )]
    Elsewhere {
        /// The secret.
        name: String,
        /// The hosts it is bound to.
        bound: String,
        /// The provider's host.
        host: String,
    },
    /// The provider has no address.
    #[error("its address is none, so no key goes there")]
    Address,
}

impl StoredKey {
    /// The secret of this name in this book.
    #[must_use]
    pub const fn new(name: String, book: Arc<SecretBook>) -> Self {
        Self { name, book }
    }

    /// Has the key looked for once more, where it is stored and not at hand.
    pub(crate) async fn seek(&self) {
        self.book.seek(&self.name).await;
    }

    /// The key as it is now, for a provider at this address.
    ///
    /// # Errors
    /// When there is no such secret, or it is not bound to that host.
    pub(crate) fn now(&self, base_url: &str) -> Result<ApiKey, KeyError> {
        self.book.key(&self.name, base_url)
    }
}

impl PartialEq for StoredKey {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.book, &other.book)
    }
}

impl Eq for StoredKey {}

impl SecretBook {
    /// Why the secret `name` is no key for a provider at this address; none when it is one.
    #[must_use]
    pub fn trouble_with_key(&self, name: &str, base_url: &str) -> Option<KeyError> {
        self.key(name, base_url).err()
    }

    /// The secret `name` as the key of a service at this address; looks for it where it is not at hand.
    ///
    /// # Errors
    /// When there is no such secret, or it is not bound to that host.
    pub async fn key_for(&self, name: &str, base_url: &str) -> Result<ApiKey, KeyError> {
        self.seek(name).await;
        self.key(name, base_url)
    }

    fn key(&self, name: &str, base_url: &str) -> Result<ApiKey, KeyError> {
        let to = destination(base_url).ok_or(KeyError::Address)?;
        let host = BoundHost::of(&to).to_string();
        let missing = || match self.why_absent(name) {
            Some(why) => KeyError::NotAtHand { name: name.to_owned(), why },
            None => KeyError::Missing { name: name.to_owned(), host: host.clone() },
        };
        let (value, hosts) = self.bound(name).ok_or_else(missing)?;
        if !hosts.iter().any(|host| host.is(&to)) {
            let bound = hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(KeyError::Elsewhere { name: name.to_owned(), bound, host });
        }
        ApiKey::new(value.expose()).ok_or_else(missing)
    }
}

fn destination(base_url: &str) -> Option<Destination> {
    let url = reqwest::Url::parse(base_url).ok()?;
    let is_encrypted = match url.scheme() {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    let (host, port) = (url.host_str()?.to_owned(), url.port_or_known_default()?);
    Some(Destination { host, port, is_encrypted })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::secret::{Secret, SecretValue};

    fn stored(value: &str, hosts: &[&str]) -> Secret {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        Secret::new("work", SecretValue::new(value).expect("a value"), &hosts).expect("a secret")
    }

    #[test]
    fn a_stored_key_is_for_the_provider_s_own_host_alone() {
        let book = Arc::new(SecretBook::default());
        let key = StoredKey::new("work".to_owned(), Arc::clone(&book));
        let (https, open) = ("https://llm.example.com/v1", "http://nas.local:8080/v1");
        let said = |address: &str| key.now(address).expect_err(address).to_string();
        assert_eq!(
            said(https),
            "the secret work is not stored; `rouse secrets set work --host llm.example.com` stores it"
        );
        let why = "the system's keyring is locked: unlock it".to_owned();
        book.hold(Vec::new(), BTreeMap::from([("work".to_owned(), why)]));
        assert_eq!(
            said(https),
            "the secret work is not at hand, because the system's keyring is locked: unlock it"
        );
        book.replace(vec![stored("sk-0123456789", &["llm.example.com", "http://nas.local:8080"])]);
        for address in [https, open, "https://LLM.example.com:443"] {
            assert_eq!(Some(key.now(address).expect(address)), ApiKey::new("sk-0123456789"));
        }
        assert_eq!(
            said("http://llm.example.com/v1"),
            "the secret work goes to llm.example.com, http://nas.local:8080 alone and not to http://llm.example.com; `rouse secrets set work --host http://llm.example.com` stores one for it"
        );
        for address in ["https://llm.example.com.evil.example/", "https://llm.example.com:8443/"] {
            assert!(matches!(key.now(address), Err(KeyError::Elsewhere { .. })), "{address}");
        }
        assert_eq!(key.now("ftp://llm.example.com"), Err(KeyError::Address));
    }

    #[test]
    fn a_secret_that_was_stored_anew_is_the_key_from_then_on() {
        let book = Arc::new(SecretBook::default());
        let key = StoredKey::new("work".to_owned(), Arc::clone(&book));
        for value in ["sk-0123456789", "sk-9876543210"] {
            book.replace(vec![stored(value, &["llm.example.com"])]);
            let now = key.now("https://llm.example.com").expect("a key");
            assert_eq!(Some(now), ApiKey::new(value));
            assert!(!format!("{key:?}").contains(value));
        }
        book.replace(vec![Secret::never_sent("work", SecretValue::new("sk-0123").expect("one"))]);
        let refused = key.now("https://llm.example.com");
        assert!(matches!(refused, Err(KeyError::Missing { .. })), "{refused:?}");
    }
}
