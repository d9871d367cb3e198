//! Secret handles in the definition of an MCP server: in variables of the process and in headers of requests.
//!
//! Owns the rule that a value goes only to a server that the secret is bound to. Never fills a part of the handles: the
//! first unusable handle is an error. Pitfall: a binding to a host, which does not cover a server process.

use rouse_core::extension::ExtensionName;

use super::book::SecretBook;
use super::handle;

/// Why a secret cannot go to an MCP server. No variant holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerSecretError {
    /// No secret has this name.
    #[error(
        "There is no secret called {name}. Store it with `rouse secrets set {name} --server {server}`."
    )]
    Unknown {
        /// The secret.
        name: String,
        /// The server.
        server: ExtensionName,
    },
    /// The secret is stored, but the value cannot be read.
    #[error("The secret {name} is not available, because {reason}.")]
    Unavailable {
        /// The secret.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The secret is not bound to this server.
    #[error(
        "The secret {name} is not bound to the server {server}. Store it again with `rouse secrets set {name}{options}`."
    )]
    OtherServer {
        /// The secret.
        name: String,
        /// The server.
        server: ExtensionName,
        /// The `--server` options of all servers, with a leading space.
        options: String,
    },
}

impl SecretBook {
    /// `text` with values in place of handles. Only the server may get the result.
    ///
    /// # Errors
    /// When a handle names no secret with a value, or a secret that is not bound to `server`.
    pub fn fill_for_server(
        &self,
        server: &ExtensionName,
        text: &str,
    ) -> Result<String, ServerSecretError> {
        let contents = self.contents();
        for name in handle::names_of(text) {
            let Some(secret) = contents.by_name.get(&name) else {
                return Err(match contents.unavailable_reason(&name).map(str::to_owned) {
                    Some(reason) => ServerSecretError::Unavailable { name, reason },
                    None => ServerSecretError::Unknown { name, server: server.clone() },
                });
            };
            if !secret.servers.contains(server) {
                let servers = secret.servers.iter().chain([server]);
                let options = servers.map(|server| format!(" --server {server}")).collect();
                let server = server.clone();
                return Err(ServerSecretError::OtherServer { name, server, options });
            }
        }
        Ok(handle::fill_text(text, &|name| contents.value(name)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::secrets::{Secret, SecretValue};

    const VALUE: &str = "sunflower/42";

    fn server(name: &str) -> ExtensionName {
        name.parse().expect("a name")
    }

    fn book() -> SecretBook {
        let value = SecretValue::new(VALUE).expect("a value");
        let bound = Secret::bound("cal", value.clone(), &[], vec![server("calendar")]);
        let hosted = Secret::new("web", value, &["api.example.com".to_owned()]);
        let locked = BTreeMap::from([("late".to_owned(), "the keyring is locked".to_owned())]);
        let book = SecretBook::default();
        book.replace_with_unavailable(
            vec![bound.expect("a secret"), hosted.expect("a secret")],
            locked,
        );
        book
    }

    #[test]
    fn secret_is_filled_for_its_server() {
        let fill = |text| book().fill_for_server(&server("calendar"), text);
        assert_eq!(fill("Bearer {{secret:cal}}"), Ok(format!("Bearer {VALUE}")));
        assert_eq!(
            fill("https://a.example/?k={{secret:cal}}").as_deref(),
            Ok("https://a.example/?k=sunflower%2F42")
        );
        assert_eq!(fill("no handle {{x}}").as_deref(), Ok("no handle {{x}}"));
    }

    #[test]
    fn secret_goes_to_no_other_server() {
        let error = |name: &str, text: &str| {
            let filled = book().fill_for_server(&server(name), text);
            filled.expect_err(text).to_string()
        };
        assert_eq!(
            error("mail", "{{secret:cal}}"),
            "The secret cal is not bound to the server mail. Store it again with `rouse secrets set cal --server calendar --server mail`."
        );
        assert!(error("mail", "{{secret:web}}").contains("not bound to the server mail"));
        assert!(error("mail", "{{secret:none}}").starts_with("There is no secret called none."));
        assert_eq!(
            error("calendar", "{{secret:late}}"),
            "The secret late is not available, because the keyring is locked."
        );
    }
}
