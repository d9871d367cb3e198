//! Names of imported servers.
//!
//! Owns the cleaning of a foreign name, the names in the place of reserved names, and the numbers of equal names.
//! Foreign names are untrusted: any length, any character.

use std::collections::BTreeSet;

use crate::extension::name::{ExtensionName, RESERVED_EXTENSION_NAMES};
use crate::text::{escape_line, first_line};

/// The maximum characters of an extension's name.
const MAX_NAME: usize = 20;

/// The maximum characters of a foreign text in a note.
const MAX_SHOWN: usize = 60;

/// The names of one import.
#[derive(Debug, Default)]
pub(super) struct ServerNames(BTreeSet<ExtensionName>);

impl ServerNames {
    /// A free name made from a foreign name.
    pub(super) fn free_name(&self, original: &str) -> ExtensionName {
        let mut base = clean_name(original);
        if is_reserved(&base) {
            base.insert_str(0, "my-");
        }
        (1_usize..)
            .map(|number| numbered(&base, number))
            .find(|name| !self.0.contains(name))
            .expect("BUG: numbers do not end")
    }

    pub(super) fn reserve(&mut self, name: ExtensionName) {
        self.0.insert(name);
    }
}

/// The note about a foreign name that no server can have; none for another name.
pub(super) fn reserved_note(original: &str) -> Option<String> {
    let name = clean_name(original);
    is_reserved(&name).then(|| format!("The name {name} is reserved for tools of Rouse."))
}

fn is_reserved(name: &str) -> bool {
    RESERVED_EXTENSION_NAMES.contains(&name)
}

/// A foreign text in a note: one line, escaped and shortened.
pub(super) fn shown(text: &str) -> String {
    first_line(text, MAX_SHOWN, escape_line)
}

/// Lowercase letters, digits and `-` of the last part of a path-like name.
fn clean_name(original: &str) -> String {
    let parts = original.rsplit(['/', '\\']);
    let last = parts.map(str::trim).find(|part| !part.is_empty()).unwrap_or_default();
    let mut name = String::new();
    for character in last.chars() {
        if character.is_ascii_alphanumeric() {
            name.push(character.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert_str(0, "mcp-");
    }
    name.truncate(MAX_NAME);
    let name = name.trim_end_matches('-');
    if name.is_empty() { "server".to_owned() } else { name.to_owned() }
}

fn numbered(base: &str, number: usize) -> ExtensionName {
    let suffix = if number == 1 { String::new() } else { format!("-{number}") };
    let length = base.len().min(MAX_NAME - suffix.len());
    let name = format!("{}{suffix}", base[..length].trim_end_matches('-'));
    name.parse().expect("BUG: a clean name is valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_become_valid_names() {
        let names = ServerNames::default();
        for (original, name) in [
            ("GitHub", "github"),
            ("@modelcontextprotocol/server-filesystem", "server-filesystem"),
            ("io.github.user/Tool Box_2", "tool-box-2"),
            ("2fa", "mcp-2fa"),
            ("", "server"),
            ("///", "server"),
            ("\u{202e}\0\n", "server"),
            ("日本", "server"),
            ("--a--b--", "a-b"),
            ("a very long name of a server", "a-very-long-name-of"),
        ] {
            assert_eq!(names.free_name(original).as_str(), name, "{original:?}");
        }
        assert_eq!(names.free_name(&"x".repeat(100_000)).as_str(), "x".repeat(20));
    }

    #[test]
    fn reserved_names_get_another_beginning() {
        let mut names = ServerNames::default();
        for (original, name) in [
            ("Memory", "my-memory"),
            ("my-memory", "my-memory-2"),
            ("@scope/search", "my-search"),
            ("memories", "memories"),
        ] {
            let made = names.free_name(original);
            assert_eq!(made.as_str(), name, "{original}");
            names.reserve(made);
        }
        let note = "The name memory is reserved for tools of Rouse.";
        assert_eq!(reserved_note("Memory").as_deref(), Some(note));
        assert_eq!(reserved_note("memories"), None);
    }

    #[test]
    fn equal_names_are_numbered_within_the_limit() {
        let mut names = ServerNames::default();
        let mut made = Vec::new();
        for original in ["Mail", "mail", "MAIL!", "abcdefghijklmnopqrst", "abcdefghijklmnopqrst2"] {
            let name = names.free_name(original);
            names.reserve(name.clone());
            made.push(name.to_string());
        }
        let expected = ["mail", "mail-2", "mail-3", "abcdefghijklmnopqrst", "abcdefghijklmnopqr-2"];
        assert_eq!(made, expected);
    }
}
