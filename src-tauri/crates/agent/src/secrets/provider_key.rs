//! The key of a provider: given directly, or a stored secret.
//!
//! Owns the use of a stored value as a key, only for the bound host of the provider's address. The secret is looked up for
//! each request. Pitfall: a key that is looked up once continues to be sent after it was replaced because of a leak.

use std::sync::Arc;

use rouse_core::tool::Destination;

use super::ApiKey;
use super::book::SecretBook;
use super::bound_host::BoundHost;

/// The source of a provider's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderKey {
    /// The key itself.
    Given(ApiKey),
    /// A stored secret.
    Stored(StoredKey),
}

/// A stored secret as a key.
#[derive(Debug, Clone)]
pub struct StoredKey {
    name: String,
    book: Arc<SecretBook>,
}

/// Why a stored secret cannot be the key of a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The secret is not stored.
    #[error("the secret {name} is not stored; `rouse secrets set {name} --host {host}` stores it")]
    Missing {
        /// The secret.
        name: String,
        /// The provider's host.
        host: String,
    },
    /// The secret is stored, but the value cannot be read.
    #[error("the secret {name} is not at hand, because {why}")]
    Unavailable {
        /// The secret.
        name: String,
        /// The reason.
        why: String,
    },
    /// The secret is bound to other hosts.
    #[error(
        "the secret {name} goes to {bound} alone and not to {host}; `rouse secrets set {name} --host {host}` binds the secret to this host"
    )]
    OtherHost {
        /// The secret.
        name: String,
        /// The bound hosts.
        bound: String,
        /// The provider's host.
        host: String,
    },
    /// The provider has no valid address.
    #[error("the provider has no valid address, so no key is sent")]
    Address,
}

impl StoredKey {
    /// The secret `name` in `book`.
    #[must_use]
    pub const fn new(name: String, book: Arc<SecretBook>) -> Self {
        Self { name, book }
    }

    /// Reads the key again if the value is unavailable.
    pub(crate) async fn reload(&self) {
        self.book.reload(&self.name).await;
    }

    /// The current key for a provider at this address.
    ///
    /// # Errors
    /// When the secret is not stored, is unavailable, or is not bound to that host.
    pub(crate) fn current(&self, base_url: &str) -> Result<ApiKey, KeyError> {
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
    /// Why the secret `name` cannot be the key for this address; none if usable.
    #[must_use]
    pub fn key_error(&self, name: &str, base_url: &str) -> Option<KeyError> {
        self.key(name, base_url).err()
    }

    /// The secret `name` as the key of a service at this address. Reads an unavailable value again.
    ///
    /// # Errors
    /// When the secret is not stored, is unavailable, or is not bound to that host.
    pub async fn key_for(&self, name: &str, base_url: &str) -> Result<ApiKey, KeyError> {
        self.reload(name).await;
        self.key(name, base_url)
    }

    /// The secret `name` as the address of a service, if the secret is bound to the host of that address. Reads an
    /// unavailable value again.
    ///
    /// # Errors
    /// When the secret is not stored, is unavailable, is no address, or is not bound to its own host.
    pub async fn address_for(&self, name: &str) -> Result<ApiKey, KeyError> {
        self.reload(name).await;
        let stored = self.value_and_hosts(name).map(|(value, _)| value.expose().to_owned());
        // Without a value, the error is the one of a missing key; the host in its advice is a placeholder.
        self.key(name, stored.as_deref().unwrap_or("https://example.org"))
    }

    fn key(&self, name: &str, base_url: &str) -> Result<ApiKey, KeyError> {
        let destination = destination(base_url).ok_or(KeyError::Address)?;
        let host = BoundHost::of(&destination).to_string();
        let missing = || match self.unavailable_reason(name) {
            Some(why) => KeyError::Unavailable { name: name.to_owned(), why },
            None => KeyError::Missing { name: name.to_owned(), host: host.clone() },
        };
        let (value, hosts) = self.value_and_hosts(name).ok_or_else(missing)?;
        if !hosts.iter().any(|host| host.allows(&destination)) {
            let bound = hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(KeyError::OtherHost { name: name.to_owned(), bound, host });
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
    use crate::secrets::{Secret, SecretValue};

    fn stored(value: &str, hosts: &[&str]) -> Secret {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        Secret::new("work", SecretValue::new(value).expect("a value"), &hosts).expect("a secret")
    }

    #[test]
    fn stored_key_is_for_its_bound_hosts_only() {
        let book = Arc::new(SecretBook::default());
        let key = StoredKey::new("work".to_owned(), Arc::clone(&book));
        let (https, http) = ("https://llm.example.com/v1", "http://nas.local:8080/v1");
        let error = |address: &str| key.current(address).expect_err(address).to_string();
        assert_eq!(
            error(https),
            "the secret work is not stored; `rouse secrets set work --host llm.example.com` stores it"
        );
        let why = "the system's keyring is locked: unlock it".to_owned();
        book.replace_with_unavailable(Vec::new(), BTreeMap::from([("work".to_owned(), why)]));
        assert_eq!(
            error(https),
            "the secret work is not at hand, because the system's keyring is locked: unlock it"
        );
        book.replace(vec![stored("sk-0123456789", &["llm.example.com", "http://nas.local:8080"])]);
        for address in [https, http, "https://LLM.example.com:443"] {
            assert_eq!(Some(key.current(address).expect(address)), ApiKey::new("sk-0123456789"));
        }
        assert_eq!(
            error("http://llm.example.com/v1"),
            "the secret work goes to llm.example.com, http://nas.local:8080 alone and not to http://llm.example.com; `rouse secrets set work --host http://llm.example.com` binds the secret to this host"
        );
        for address in ["https://llm.example.com.evil.example/", "https://llm.example.com:8443/"] {
            assert!(matches!(key.current(address), Err(KeyError::OtherHost { .. })), "{address}");
        }
        assert_eq!(key.current("ftp://llm.example.com"), Err(KeyError::Address));
    }

    #[test]
    fn replaced_secret_is_the_new_key() {
        let book = Arc::new(SecretBook::default());
        let key = StoredKey::new("work".to_owned(), Arc::clone(&book));
        for value in ["sk-0123456789", "sk-9876543210"] {
            book.replace(vec![stored(value, &["llm.example.com"])]);
            let current = key.current("https://llm.example.com").expect("a key");
            assert_eq!(Some(current), ApiKey::new(value));
            assert!(!format!("{key:?}").contains(value));
        }
        book.replace(vec![Secret::redacted_only(
            "work",
            SecretValue::new("sk-0123").expect("one"),
        )]);
        let refused = key.current("https://llm.example.com");
        assert!(matches!(refused, Err(KeyError::Missing { .. })), "{refused:?}");
    }
}
