//! The settings of a channel: the table `[channels.NAME]`.
//!
//! Owns the keys of every kind, and which keys a kind needs or refuses. Secrets are never here, only the names of stored
//! secrets. Pitfall: an address that is itself a password, as those of Slack and Discord; it is a stored secret.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::kind::ChannelKind;
use super::name::ChannelName;
use crate::json_fields::FieldError;

/// How much of a message a channel gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum ChannelDetails {
    /// The whole text.
    #[default]
    Full,
    /// The first sentence.
    Headline,
}

/// How a connection to a mail server is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum EmailSecurity {
    /// TLS from the first byte, usually port 465.
    #[default]
    Tls,
    /// TLS after the command STARTTLS, usually port 587.
    Starttls,
    /// No encryption; on this computer only.
    None,
}

/// A channel. Secrets are never here, only the names of stored secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ChannelSection {
    /// The kind.
    pub kind: ChannelKind,
    /// How much of a message is sent [default: full].
    #[serde(default)]
    #[ts(optional, as = "Option<ChannelDetails>")]
    pub details: ChannelDetails,
    /// The address of the server or of the webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "web-address"))]
    pub url: Option<String>,
    /// The stored secret with the address, if the address itself is a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "secret-name"))]
    pub url_secret: Option<String>,
    /// The stored secret with the access token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "secret-name"))]
    pub token_secret: Option<String>,
    /// The stored secret with the signing key of a webhook (`whsec_…`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "secret-name"))]
    pub signing_secret: Option<String>,
    /// The stored secret with the topic of ntfy. Everybody who knows a topic can read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "secret-name"))]
    pub topic_secret: Option<String>,
    /// The mail server, such as `smtp.example.org:465`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The encryption of the connection to the mail server [default: tls].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<EmailSecurity>,
    /// The user name at the mail server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The stored secret with the password of the mail server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "secret-name"))]
    pub password_secret: Option<String>,
    /// The address of the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The recipients: ids of Telegram chats, e-mail addresses, or phone numbers in the form +4915112345678.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub to: Vec<String>,
    /// The services of an Apprise server, by tag [default: all].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The id of the WhatsApp number that sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number_id: Option<String>,
    /// The approved WhatsApp template for messages outside of the 24-hour window, with one text parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The language of the template [default: en].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_language: Option<String>,
}

/// The keys that a kind needs and may have, besides `kind` and `details`.
struct KindKeys {
    needed: &'static [&'static str],
    optional: &'static [&'static str],
}

const fn keys_of(kind: ChannelKind) -> KindKeys {
    let (needed, optional): (&[&str], &[&str]) = match kind {
        ChannelKind::Telegram => (&["tokenSecret"], &["to", "url"]),
        ChannelKind::Email => (&["server", "from", "to"], &["security", "user", "passwordSecret"]),
        ChannelKind::Ntfy => (&["url", "topicSecret"], &["tokenSecret"]),
        ChannelKind::Slack | ChannelKind::Discord => (&["urlSecret"], &[]),
        ChannelKind::Webhook => (&["signingSecret"], &["url", "urlSecret"]),
        ChannelKind::Apprise => (&["url"], &["tag"]),
        ChannelKind::Whatsapp => {
            (&["phoneNumberId", "tokenSecret", "to"], &["url", "template", "templateLanguage"])
        }
    };
    KindKeys { needed, optional }
}

/// The violations of the tables of channels that the JSON schema does not know.
pub(crate) fn channel_section_violations(channels: &Value) -> Vec<FieldError> {
    let mut found = Vec::new();
    let mut bots: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, section) in channels.as_object().into_iter().flatten() {
        let bot = section["tokenSecret"].as_str().filter(|_| section["kind"] == "telegram");
        if let Some(other) = bot.and_then(|bot| bots.insert(bot, name)) {
            let message = format!("is the bot of `{other}`. Each Telegram channel needs its own");
            found.push(FieldError { path: format!("{name}.tokenSecret"), message });
        }
        if let Err(error) = name.parse::<ChannelName>() {
            found.push(FieldError { path: name.clone(), message: error.to_string() });
        }
        for FieldError { path, message } in section_violations(section) {
            found.push(FieldError { path: format!("{name}.{path}"), message });
        }
    }
    found
}

fn section_violations(section: &Value) -> Vec<FieldError> {
    // A missing or unknown kind is a violation of the schema.
    let Some(kind) = section["kind"].as_str().and_then(|kind| kind.parse::<ChannelKind>().ok())
    else {
        return Vec::new();
    };
    let KindKeys { needed, optional } = keys_of(kind);
    let mut found: Vec<FieldError> = needed
        .iter()
        .filter(|key| is_empty(&section[**key]))
        .map(|key| violation(key, &format!("is needed for {}", kind.label())))
        .collect();
    let known = |key: &str| {
        ["kind", "details"].contains(&key) || needed.contains(&key) || optional.contains(&key)
    };
    for (key, value) in section.as_object().into_iter().flatten() {
        if ALL_KEYS.contains(&key.as_str()) && !known(key) && !value.is_null() {
            found.push(violation(key, &format!("is not used for {}", kind.label())));
        }
    }
    found.extend(address_violations(kind, section));
    found
}

/// The keys of all kinds; other keys are unknown and reported elsewhere.
const ALL_KEYS: [&str; 15] = [
    "url",
    "urlSecret",
    "tokenSecret",
    "signingSecret",
    "topicSecret",
    "server",
    "security",
    "user",
    "passwordSecret",
    "from",
    "to",
    "tag",
    "phoneNumberId",
    "template",
    "templateLanguage",
];

fn address_violations(kind: ChannelKind, section: &Value) -> Vec<FieldError> {
    let mut found = Vec::new();
    let has = |key: &str| !is_empty(&section[key]);
    if kind == ChannelKind::Webhook && has("url") == has("urlSecret") {
        found.push(violation("url", "expected either url or urlSecret"));
    }
    if let Some(url) = section["url"].as_str()
        && url.starts_with("http")
        && !is_safe_url(url)
    {
        let message =
            "expected https://, or http:// with an address of your own network, without a password";
        found.push(violation("url", message));
    }
    if kind == ChannelKind::Email && has("user") != has("passwordSecret") {
        found.push(violation("user", "expected user together with passwordSecret"));
    }
    let (is_address, expected): (fn(&str) -> bool, _) = match kind {
        ChannelKind::Email => {
            (is_email_address, "expected e-mail addresses, such as anna@example.org")
        }
        ChannelKind::Telegram => (is_chat_id, "expected ids of chats, such as 123456789"),
        _ => (is_phone_number, "expected phone numbers, such as +4915112345678"),
    };
    for address in section["to"].as_array().into_iter().flatten() {
        if !address.as_str().is_some_and(is_address) {
            found.push(violation("to", expected));
        }
    }
    if let Some(from) = section["from"].as_str()
        && !is_email_address(from)
    {
        found.push(violation("from", "expected an e-mail address, such as rouse@example.org"));
    }
    found
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Whether the address has no password, and is encrypted or in the person's own network.
fn is_safe_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once(':').map_or(authority, |(host, port)| {
        if port.chars().all(|c| c.is_ascii_digit()) { host } else { authority }
    });
    let is_own_network = host == "localhost"
        || host.ends_with(".local")
        || host.ends_with(".lan")
        || host.ends_with(".internal")
        || is_private_address(host);
    !authority.contains('@') && (scheme == "https" || is_own_network)
}

fn is_private_address(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(address)) => {
            // 100.64.0.0/10 is the range of carriers and of Tailscale.
            let [first, second, ..] = address.octets();
            address.is_loopback()
                || address.is_private()
                || (first == 100 && (64..128).contains(&second))
        }
        Ok(std::net::IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
        Err(_) => false,
    }
}

/// Whether a text is one plain e-mail address. A line break would add a header to a message.
fn is_email_address(text: &str) -> bool {
    let is_plain = text.chars().all(|c| c.is_ascii_graphic() && !"<>,;\"()\\".contains(c));
    let parts: Vec<&str> = text.split('@').collect();
    is_plain && parts.len() == 2 && parts.iter().all(|part| !part.is_empty())
}

/// Whether a text is the id of a Telegram chat: a person's is positive, a group's negative.
fn is_chat_id(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|id| id != 0)
}

fn is_phone_number(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default();
    (7..=15).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_digit())
}

fn violation(key: &str, message: &str) -> FieldError {
    FieldError { path: key.to_owned(), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn violations(section: Value) -> Vec<String> {
        let channels = json!({ "phone": section });
        channel_section_violations(&channels).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn complete_sections_have_no_violations() {
        for section in [
            json!({ "kind": "telegram", "tokenSecret": "bot", "to": ["123456789", "-1001234"] }),
            json!({ "kind": "email", "server": "smtp.example.org:465", "from": "a@b.org", "to": ["c@d.org"] }),
            json!({ "kind": "ntfy", "url": "https://ntfy.example.org", "topicSecret": "topic" }),
            json!({ "kind": "slack", "urlSecret": "hook" }),
            json!({ "kind": "webhook", "url": "http://127.0.0.1:9/x", "signingSecret": "key" }),
            json!({ "kind": "apprise", "url": "http://nas.local:8000" }),
            json!({ "kind": "whatsapp", "phoneNumberId": "1", "tokenSecret": "wa", "to": ["+4915112345678"] }),
        ] {
            assert_eq!(violations(section.clone()), Vec::<String>::new(), "{section}");
        }
    }

    #[test]
    fn second_channel_of_a_bot_is_refused() {
        let bot = json!({ "kind": "telegram", "tokenSecret": "bot" });
        let found = channel_section_violations(&json!({ "family": bot, "phone": bot }));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let expected =
            "phone.tokenSecret: is the bot of `family`. Each Telegram channel needs its own";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn missing_and_unused_keys_are_named() {
        assert_eq!(
            violations(json!({ "kind": "telegram", "to": ["@anna"], "server": "x" })),
            [
                "phone.tokenSecret: is needed for Telegram",
                "phone.server: is not used for Telegram",
                "phone.to: expected ids of chats, such as 123456789",
            ]
        );
        let both = json!({ "kind": "webhook", "url": "https://a.org", "urlSecret": "u", "signingSecret": "k" });
        assert_eq!(violations(both), ["phone.url: expected either url or urlSecret"]);
    }

    #[test]
    fn unsafe_addresses_are_refused() {
        for url in ["http://ntfy.example.org", "https://me:pw@ntfy.example.org", "http://8.8.8.8"] {
            let found = violations(json!({ "kind": "ntfy", "url": url, "topicSecret": "t" }));
            assert!(found[0].starts_with("phone.url: expected https://"), "{url}: {found:?}");
        }
        let injected = json!({ "kind": "email", "server": "s:25", "from": "a@b.org", "to": ["c@d.org\nBcc: e@f.org"] });
        assert!(violations(injected)[0].starts_with("phone.to: expected e-mail"));
    }

    #[test]
    fn reserved_and_invalid_names_are_refused() {
        for name in ["notification", "last", "My Phone", ""] {
            let channels = json!({ name: { "kind": "slack", "urlSecret": "hook" } });
            assert_eq!(channel_section_violations(&channels).len(), 1, "{name}");
        }
    }
}
