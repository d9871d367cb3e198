//! Secret handles in the variables and headers of an imported server.
//!
//! Owns the names of the proposed secrets: the server, `_`, and the variable. A value that looks like a key leaves the
//! text; a placeholder becomes the handle of a secret without a value. Pitfall: a key beside a placeholder in one value.

use super::imported::ImportedSecret;
use super::names::shown;
use super::placeholder::{TextPart, parts};
use super::secret_values::{holds_key_or_password, holds_plain_secret};
use crate::extension::name::ExtensionName;
use crate::redaction::handles;

/// The maximum characters of a secret's name.
const MAX_NAME: usize = 64;

/// Words before the value of an `Authorization` header.
const SCHEMES: [&str; 3] = ["bearer ", "basic ", "token "];

/// The secrets of one server.
pub(super) struct SecretHandles<'n> {
    server: &'n ExtensionName,
    secrets: Vec<ImportedSecret>,
    notes: Vec<String>,
}

impl<'n> SecretHandles<'n> {
    pub(super) const fn new(server: &'n ExtensionName) -> Self {
        Self { server, secrets: Vec::new(), notes: Vec::new() }
    }

    /// The value of a variable or header, with handles in the place of secrets and placeholders.
    pub(super) fn fill(&mut self, field: &str, text: &str) -> Result<String, String> {
        let parts = parts(text);
        let mut placeholders = parts.iter().filter_map(TextPart::placeholder);
        if let Some(unknown) = placeholders.find(|placeholder| placeholder.is_client_value()) {
            return Err(format!(
                "{} holds `{}`, which only the other program fills in. Write the value, then import again.",
                shown(field),
                shown(unknown.whole)
            ));
        }
        let known: String = parts.iter().filter_map(TextPart::known_text).collect();
        if parts.iter().all(|part| part.known_text().is_some()) {
            if parts.iter().any(|part| part.placeholder().is_some()) {
                self.notes.push(format!("{} gets the default of the file.", shown(field)));
            }
            return Ok(self.fill_known(field, known));
        }
        if holds_key_or_password(&known) {
            return Ok(self.handle(field, field, None));
        }
        let filled = parts.iter().map(|part| match part.known_text() {
            Some(text) => text.to_owned(),
            None => self.handle(field, part.placeholder().map_or(field, |found| found.name), None),
        });
        Ok(filled.collect())
    }

    /// The secrets and the notes.
    pub(super) fn finish(self) -> SecretsAndNotes {
        let Self { server, secrets, mut notes } = self;
        for secret in &secrets {
            let cause = match secret.value() {
                Some(_) => "holds what looks like a key, which is left out",
                None => "needs a value that is not in the file",
            };
            let (field, name) = (&secret.field, &secret.name);
            notes.push(format!(
                "{field} {cause}. Store the value: rouse secrets set {name} --server {server}"
            ));
        }
        SecretsAndNotes { secrets, notes }
    }

    fn fill_known(&mut self, field: &str, text: String) -> String {
        for handle in handles(&text) {
            let secret = shown(handle.name);
            self.notes.push(format!("{} gets your secret {secret}.", shown(field)));
        }
        if !holds_plain_secret(field, &text) {
            return text;
        }
        let (scheme, value) = split_scheme(&text);
        let value = (!is_sample(value)).then(|| value.to_owned());
        format!("{scheme}{}", self.handle(field, field, value))
    }

    /// The handle of the secret called after `label`. Equal names with other values are numbered.
    fn handle(&mut self, field: &str, label: &str, value: Option<String>) -> String {
        let base = secret_name(self.server, label);
        let is_free = |name: &String| {
            self.secrets
                .iter()
                .all(|secret| secret.name != *name || secret.value() == value.as_deref())
        };
        let mut names = (1_usize..).map(|number| numbered(&base, number));
        let name = names.find(is_free).expect("BUG: numbers do not end");
        if self.secrets.iter().all(|secret| secret.name != name) {
            self.secrets.push(ImportedSecret::new(name.clone(), shown(field), value));
        }
        format!("{{{{secret:{name}}}}}")
    }
}

/// The proposed secrets of a server, and the notes about its values.
pub(super) struct SecretsAndNotes {
    pub(super) secrets: Vec<ImportedSecret>,
    pub(super) notes: Vec<String>,
}

/// Whether a value is the sample of a manual.
fn is_sample(value: &str) -> bool {
    let lower = value.to_lowercase();
    let is_bracketed = value.starts_with('<') && value.ends_with('>');
    is_bracketed || ["your-", "your_", "xxxx"].iter().any(|word| lower.contains(word))
}

/// The scheme of an `Authorization` header with its space, and the rest.
pub(in crate::extension) fn split_scheme(text: &str) -> (&str, &str) {
    let scheme = SCHEMES.iter().find(|scheme| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    text.split_at(scheme.map_or(0, |scheme| scheme.len()))
}

/// The proposed name of a secret: the server, `_`, and the variable.
pub(in crate::extension) fn secret_name(server: &ExtensionName, label: &str) -> String {
    let clean = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() || c == '-' => c,
        _ => '_',
    };
    let server = format!("{server}_");
    let label: String = label.chars().map(clean).take(MAX_NAME - server.len()).collect();
    server + &label
}

fn numbered(base: &str, number: usize) -> String {
    if number == 1 {
        return base.to_owned();
    }
    let suffix = format!("_{number}");
    format!("{}{suffix}", &base[..base.len().min(MAX_NAME - suffix.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> ExtensionName {
        "gh".parse().expect("a name")
    }

    #[test]
    fn values_become_handles() {
        let server = server();
        for (field, text, filled, value) in [
            ("API_KEY", "hunter2", "{{secret:gh_api_key}}", Some("hunter2")),
            (
                "Authorization",
                "Bearer hunter2",
                "Bearer {{secret:gh_authorization}}",
                Some("hunter2"),
            ),
            ("X-Key", "${env:GH_TOKEN}", "{{secret:gh_gh_token}}", None),
            ("Authorization", "Bearer ${input:pat}", "Bearer {{secret:gh_pat}}", None),
            ("API_KEY", "<your key>", "{{secret:gh_api_key}}", None),
            ("A", "q7Zk2pX9vB4mT1sR8wN6${X}", "{{secret:gh_a}}", None),
            ("A", "postgres://me:hunter2@${HOST}/x", "{{secret:gh_a}}", None),
        ] {
            let mut handles = SecretHandles::new(&server);
            assert_eq!(handles.fill(field, text).as_deref(), Ok(filled), "{text}");
            let SecretsAndNotes { secrets, notes } = handles.finish();
            assert_eq!(secrets.len(), 1, "{text}");
            assert_eq!(secrets[0].value(), value, "{text}");
            let told = format!("{notes:?} {secrets:?}");
            assert!(!told.contains("hunter2") && !told.contains("q7Zk"), "{told}");
        }
    }

    #[test]
    fn ordinary_values_stay() {
        let server = server();
        let mut handles = SecretHandles::new(&server);
        for text in ["debug", "", "$HOME"] {
            assert_eq!(handles.fill("LOG", text).as_deref(), Ok(text));
        }
        assert_eq!(handles.fill("TOKEN", "{{secret:mine}}").as_deref(), Ok("{{secret:mine}}"));
        assert_eq!(handles.fill("LOG", "${LEVEL:-info}").as_deref(), Ok("info"));
        assert!(handles.fill("ROOT", "${workspaceFolder}/x").is_err());
        let found = handles.finish();
        assert!(found.secrets.is_empty());
        let notes = ["TOKEN gets your secret mine.", "LOG gets the default of the file."];
        assert_eq!(found.notes, notes);
    }

    #[test]
    fn equal_secret_names_are_numbered() {
        let server = server();
        let mut handles = SecretHandles::new(&server);
        let mut fill = |field: &str, text: &str| handles.fill(field, text).expect("a value");
        assert_eq!(fill("token", "one-one"), "{{secret:gh_token}}");
        assert_eq!(fill("TOKEN", "two-two"), "{{secret:gh_token_2}}");
        assert_eq!(fill("Token", "one-one"), "{{secret:gh_token}}");
        let long = format!("{}_KEY", "X".repeat(500));
        for text in [fill(&long, "three"), fill(&long, "four")] {
            assert_eq!(text.len(), "{{secret:}}".len() + MAX_NAME, "{text}");
        }
    }
}
