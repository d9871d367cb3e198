//! Secret handles in the HTTP requests of an extension's tool.
//!
//! Owns the rule that a value goes only to a host that the secret is bound to. A secret without hosts goes to every
//! accepted host of an extension that the secret is bound to. Never fills a part of the handles: the first unusable
//! handle is an error. Pitfall: a secret with hosts that is also bound to the extension; its hosts decide.

use rouse_core::extension::ExtensionName;

use super::book::SecretBook;
use super::bound_host::BoundHost;
use super::handle;
use super::secret::Secret;

/// Why a secret cannot be sent in a request. No variant holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestSecretError {
    /// No secret has this name.
    #[error(
        "There is no secret called {name}. Store it with `rouse secrets set {name} --host {host}`."
    )]
    Unknown {
        /// The secret.
        name: String,
        /// The host of the request.
        host: String,
    },
    /// The secret is stored, but the value cannot be read.
    #[error("The secret {name} is not available, because {reason}.")]
    Unavailable {
        /// The secret.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The secret is bound to other hosts or extensions.
    #[error(
        "The secret {name} is not bound to the host {host}. To send it there, store it again with `rouse secrets set {name}{options}`."
    )]
    OtherHost {
        /// The secret.
        name: String,
        /// The host of the request.
        host: String,
        /// The options of all bindings, with a leading space.
        options: String,
    },
}

impl SecretBook {
    /// `text` with values in place of handles, for a request of the tool of `extension` to `host`. Only this host may get
    /// the result.
    ///
    /// # Errors
    /// When a handle names no secret with a value, or a secret that is not bound to this host or extension.
    pub fn fill_for_request(
        &self,
        extension: &ExtensionName,
        host: &str,
        text: &str,
    ) -> Result<String, RequestSecretError> {
        let contents = self.contents();
        for name in handle::names_of(text) {
            let Some(secret) = contents.by_name.get(&name) else {
                return Err(match contents.unavailable_reason(&name).map(str::to_owned) {
                    Some(reason) => RequestSecretError::Unavailable { name, reason },
                    None => RequestSecretError::Unknown { name, host: host.to_owned() },
                });
            };
            if !may_receive(secret, extension, host) {
                let hosts = secret.hosts.iter().map(|bound| format!(" --host {bound}"));
                let servers = secret.servers.iter().map(|server| format!(" --server {server}"));
                let options = hosts.chain([format!(" --host {host}")]).chain(servers).collect();
                return Err(RequestSecretError::OtherHost { name, host: host.to_owned(), options });
            }
        }
        Ok(handle::fill_text(text, &|name| contents.value(name)))
    }
}

/// Whether a request of `extension` to `host` may hold the value of `secret`.
fn may_receive(secret: &Secret, extension: &ExtensionName, host: &str) -> bool {
    if secret.hosts.is_empty() {
        return secret.servers.contains(extension);
    }
    let host = BoundHost::parse(host);
    host.is_some_and(|host| secret.hosts.iter().any(|bound| bound.includes(&host)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::secrets::SecretValue;

    const VALUE: &str = "sunflower/42";

    fn extension(name: &str) -> ExtensionName {
        name.parse().expect("a name")
    }

    fn book() -> SecretBook {
        let secret = |name: &str, hosts: &[&str], servers: &[&str]| {
            let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
            let servers = servers.iter().map(|name| extension(name)).collect();
            let value = SecretValue::new(VALUE).expect("a value");
            Secret::bound(name, value, &hosts, servers).expect("a secret")
        };
        let secrets = vec![
            secret("hosted", &["api.example.com"], &[]),
            secret("extended", &[], &["weather"]),
            secret("both", &["api.example.com"], &["weather"]),
            Secret::redacted_only("provider", SecretValue::new(VALUE).expect("a value")),
        ];
        let locked = BTreeMap::from([("late".to_owned(), "the keyring is locked".to_owned())]);
        let book = SecretBook::default();
        book.replace_with_unavailable(secrets, locked);
        book
    }

    fn fill(name: &str, host: &str, text: &str) -> Result<String, RequestSecretError> {
        book().fill_for_request(&extension(name), host, text)
    }

    #[test]
    fn secret_is_filled_for_its_host_or_extension() {
        for (name, host, handle) in [
            ("weather", "api.example.com", "{{secret:hosted}}"),
            ("other", "api.example.com", "{{secret:hosted}}"),
            ("weather", "api.example.com", "{{secret:both}}"),
            ("weather", "any.example.com:8443", "{{secret:extended}}"),
        ] {
            let filled = fill(name, host, &format!("Bearer {handle}"));
            assert_eq!(filled, Ok(format!("Bearer {VALUE}")), "{name} {host} {handle}");
        }
    }

    #[test]
    fn secret_goes_to_no_other_host_or_extension() {
        for (name, host, secret) in [
            ("weather", "evil.example", "hosted"),
            ("weather", "api.example.com:8443", "hosted"),
            ("weather", "http://api.example.com", "hosted"),
            ("weather", "sub.api.example.com", "hosted"),
            ("weather", "not a host", "hosted"),
            ("weather", "evil.example", "both"),
            ("other", "api.example.com", "extended"),
            ("weather", "api.example.com", "provider"),
        ] {
            let refused = fill(name, host, &format!("{{{{secret:{secret}}}}}"));
            let error = refused.expect_err(secret);
            assert!(
                matches!(error, RequestSecretError::OtherHost { .. }),
                "{host} {secret}: {error}"
            );
        }
    }

    #[test]
    fn refusal_has_the_command_with_every_binding() {
        let error =
            |host: &str, text: &str| fill("weather", host, text).expect_err("refused").to_string();
        assert_eq!(
            error("b.example", "{{secret:both}}"),
            "The secret both is not bound to the host b.example. To send it there, store it again with `rouse secrets set both --host api.example.com --host b.example --server weather`."
        );
        assert_eq!(
            error("b.example", "{{secret:none}}"),
            "There is no secret called none. Store it with `rouse secrets set none --host b.example`."
        );
        assert_eq!(
            error("b.example", "{{secret:late}}"),
            "The secret late is not available, because the keyring is locked."
        );
    }
}
