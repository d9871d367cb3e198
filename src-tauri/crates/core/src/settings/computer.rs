//! Other computers that are reached over SSH: the table `[computers.NAME]`, and the address of one.
//!
//! Owns the syntax of an address and of a program path. Both become arguments of `ssh` or words of a remote shell, so only
//! plain characters are accepted. Never starts `ssh`. Pitfall: an address that begins with `-` would be an option.

use std::fmt;
use std::net::Ipv6Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Maximum bytes of an address or a path.
const MAX_TEXT: usize = 255;

/// Another computer that is reached over SSH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ComputerSection {
    /// The address: `user@host`, a host of the ssh configuration, or `ssh://user@host:port`.
    #[schemars(extend("format" = "ssh-address"))]
    pub address: String,
    /// The path of `rouse` on that computer [default: `rouse` in the PATH].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "remote-program"))]
    pub program: Option<String>,
}

/// The address of a computer for `ssh`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshAddress {
    destination: String,
    port: Option<u16>,
}

impl SshAddress {
    /// Parses `user@host`, `host` or `ssh://user@host:port`.
    ///
    /// # Errors
    /// The problem, to follow the name of the field.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (destination, port) = match text.strip_prefix("ssh://") {
            Some(rest) => split_port(rest.strip_suffix('/').unwrap_or(rest))?,
            None => (text.to_owned(), None),
        };
        let (user, host) = match destination.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, destination.as_str()),
        };
        if text.len() > MAX_TEXT || !user.is_none_or(is_user) || !is_host(host) {
            return Err(
                "expected user@host, a host of your ssh configuration, or ssh://user@host:port"
                    .to_owned(),
            );
        }
        Ok(Self { destination, port })
    }

    /// User and host, as `ssh` takes them.
    #[must_use]
    pub fn destination(&self) -> &str {
        &self.destination
    }

    /// The port, if the address has one.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        self.port
    }
}

/// The arguments of `ssh` that a person types.
impl fmt::Display for SshAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(port) = self.port {
            write!(f, "-p {port} ")?;
        }
        f.write_str(&self.destination)
    }
}

/// Splits `user@host:port`; an IPv6 address stands in brackets.
fn split_port(text: &str) -> Result<(String, Option<u16>), String> {
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (format!("{user}@"), host),
        None => (String::new(), text),
    };
    let (host, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address, rest.strip_prefix(':')),
        None => match host.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (host, None),
        },
    };
    let port = port.map(|port| port.parse::<u16>().ok().filter(|port| *port > 0));
    match port {
        Some(None) => Err("must end with a port from 1 to 65535".to_owned()),
        Some(port) => Ok((format!("{user}{host}"), port)),
        None => Ok((format!("{user}{host}"), None)),
    }
}

/// A configuration of ssh may pass a name to a shell (`ProxyCommand`), so only plain characters are accepted.
fn is_user(user: &str) -> bool {
    user.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') && user.chars().all(is_plain)
}

fn is_host(host: &str) -> bool {
    let is_name = host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && host.chars().all(is_plain);
    is_name || host.parse::<Ipv6Addr>().is_ok()
}

const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+')
}

/// Why `text` is no path of a program on another computer. The shell there reads the path.
pub(super) fn remote_program_violation(text: &str) -> Option<String> {
    let is_allowed = |c: char| is_plain(c) || matches!(c, '/' | '\\' | ':' | '~' | '@' | ' ');
    let begins_well =
        text.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '~' | '.'));
    let is_valid = begins_well
        && text.len() <= MAX_TEXT
        && text.chars().all(is_allowed)
        && !text.ends_with([' ', '\\']);
    (!is_valid).then(|| {
        "expected the path of rouse on that computer, such as ~/.cargo/bin/rouse, without quotes or other special characters"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_forms_are_parsed() {
        for (text, destination, port, typed) in [
            ("box", "box", None, "box"),
            ("anna@box", "anna@box", None, "anna@box"),
            ("anna.b@192.0.2.7", "anna.b@192.0.2.7", None, "anna.b@192.0.2.7"),
            ("anna@2001:db8::1", "anna@2001:db8::1", None, "anna@2001:db8::1"),
            ("ssh://anna@box:2222", "anna@box", Some(2222), "-p 2222 anna@box"),
            ("ssh://box/", "box", None, "box"),
            ("ssh://anna@[::1]:22", "anna@::1", Some(22), "-p 22 anna@::1"),
        ] {
            let address = SshAddress::parse(text).expect(text);
            assert_eq!((address.destination(), address.port()), (destination, port), "{text}");
            assert_eq!(address.to_string(), typed);
        }
    }

    #[test]
    fn options_and_special_characters_are_refused() {
        for text in [
            "",
            "-oProxyCommand=touch x",
            "-v",
            "anna@-v",
            "-l@box",
            "anna@",
            "@box",
            "an na@box",
            "anna@box;id",
            "anna@$(id)",
            "anna@box\n",
            "box:2222",
            "ssh://",
            "ssh://-v",
            "ssh://anna@box:0",
            "ssh://anna@box:ssh",
            "ssh://anna@box:1/path",
        ] {
            assert!(SshAddress::parse(text).is_err(), "{text:?}");
        }
        assert!(SshAddress::parse(&"a".repeat(256)).is_err());
    }

    #[test]
    fn program_is_a_plain_path() {
        for path in ["rouse", "~/.cargo/bin/rouse", "/opt/a b/rouse", r"C:\Rouse 1\rouse.exe"] {
            assert_eq!(remote_program_violation(path), None, "{path}");
        }
        for path in
            ["", "-x", "rouse;id", "$HOME/rouse", "a\"b", "a'b", "`id`", "a\nb", "a&b", "a "]
        {
            assert!(remote_program_violation(path).is_some(), "{path:?}");
        }
    }
}
