//! The flags and secrets of each kind of channel, and the table of the settings.
//!
//! Owns the names of the stored secrets and the hosts that they are bound to. The engine validates the table. Pitfall:
//! an address that is a password; the table gets the name of its secret.

use rouse_core::channel::{
    ChannelDetails, ChannelKind, ChannelName, ChannelSection, EmailSecurity,
};
use serde_json::{Value, json};

use super::flags::Args;
use crate::resolve::error::CliError;

/// A secret that a channel needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChannelSecret {
    /// The key of the settings with the name of the secret.
    pub(super) key: &'static str,
    /// The end of the name of the secret.
    suffix: &'static str,
    /// The label of the prompt.
    pub(super) label: &'static str,
    /// Whether the channel works without the secret.
    pub(super) is_optional: bool,
}

impl ChannelSecret {
    const fn needed(key: &'static str, suffix: &'static str, label: &'static str) -> Self {
        Self { key, suffix, label, is_optional: false }
    }

    /// The name of the stored secret of `channel`.
    pub(super) fn name(&self, channel: &str) -> String {
        format!("channel-{channel}-{}", self.suffix)
    }

    /// Whether the secret is the address of the channel.
    pub(super) fn is_address(&self) -> bool {
        self.key == ADDRESS.key
    }

    /// Whether the secret signs the messages of the channel.
    pub(super) fn is_signing_key(&self) -> bool {
        self.key == SIGNING_KEY.key
    }
}

const ADDRESS: ChannelSecret =
    ChannelSecret::needed("urlSecret", "address", "address of the webhook");
const BOT_TOKEN: ChannelSecret =
    ChannelSecret::needed("tokenSecret", "token", "token of the bot, from @BotFather");
const ACCESS_TOKEN: ChannelSecret =
    ChannelSecret::needed("tokenSecret", "token", "access token of the WhatsApp app");
const SERVER_TOKEN: ChannelSecret = ChannelSecret {
    is_optional: true,
    ..ChannelSecret::needed("tokenSecret", "token", "access token of the server")
};
const TOPIC: ChannelSecret = ChannelSecret::needed("topicSecret", "topic", "topic of ntfy");
const PASSWORD: ChannelSecret =
    ChannelSecret::needed("passwordSecret", "password", "password of the mail account");
/// The signing key of a webhook.
pub(super) const SIGNING_KEY: ChannelSecret =
    ChannelSecret::needed("signingSecret", "key", "signing key of the webhook (whsec_…)");

/// The names of all secrets that `rouse channels add` can have stored for a channel.
pub(super) fn secret_names(channel: &str) -> Vec<String> {
    [ADDRESS, BOT_TOKEN, TOPIC, PASSWORD, SIGNING_KEY]
        .iter()
        .map(|secret| secret.name(channel))
        .collect()
}

/// The secrets of a channel with these settings, in the order of the prompts.
pub(super) fn secrets_of(section: &ChannelSection) -> Vec<ChannelSecret> {
    match section.kind {
        ChannelKind::Telegram => vec![BOT_TOKEN],
        ChannelKind::Email if section.user.is_some() => vec![PASSWORD],
        ChannelKind::Ntfy => vec![TOPIC, SERVER_TOKEN],
        ChannelKind::Slack | ChannelKind::Discord => vec![ADDRESS],
        ChannelKind::Webhook if section.url.is_none() => vec![ADDRESS, SIGNING_KEY],
        ChannelKind::Webhook => vec![SIGNING_KEY],
        ChannelKind::Whatsapp => vec![ACCESS_TOKEN],
        ChannelKind::Email | ChannelKind::Apprise => Vec::new(),
    }
}

/// The host that may receive the secrets of a channel. `address` is the secret address, if any.
pub(super) fn secret_host(section: &ChannelSection, address: Option<&str>) -> String {
    let default_url = match section.kind {
        ChannelKind::Whatsapp => "https://graph.facebook.com",
        _ => "https://api.telegram.org",
    };
    match &section.server {
        Some(server) => mail_host(server, section.security.unwrap_or_default()),
        None => bound_host(address.or(section.url.as_deref()).unwrap_or(default_url)),
    }
}

/// The host of an address. `http://` stays: a secret reaches an unencrypted host only if the binding says so.
fn bound_host(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("https", address));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let prefix = if scheme.eq_ignore_ascii_case("http") { "http://" } else { "" };
    format!("{prefix}{host}")
}

/// The host of a mail server, with the usual port of the encryption.
fn mail_host(server: &str, security: EmailSecurity) -> String {
    let (prefix, port) = match security {
        EmailSecurity::Starttls => ("", 587),
        EmailSecurity::None => ("http://", 25),
        EmailSecurity::Tls => ("", 465),
    };
    let has_port = server.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { format!("{prefix}{server}") } else { format!("{prefix}{server}:{port}") }
}

/// Refuses missing flags and flags without an effect, before any secret is typed.
pub(super) fn check_flags(kind: ChannelKind, args: &Args) -> Result<(), CliError> {
    use ChannelKind::{Apprise, Email, Ntfy, Telegram, Webhook, Whatsapp};
    let check = |flag: &str, is_set: bool, needed: &[ChannelKind], optional: &[ChannelKind]| {
        let is_needed = needed.contains(&kind);
        let missing = (is_needed && !is_set).then_some("is needed for");
        let is_unused = is_set && !is_needed && !optional.contains(&kind);
        let problem = missing.or(is_unused.then_some("is not used for"));
        problem.map(|problem| format!("{flag} {problem} {}", kind.label()))
    };
    let problems = [
        check("--url", args.url.is_some(), &[Ntfy, Apprise], &[Telegram, Webhook, Whatsapp]),
        check("--server", args.server.is_some(), &[Email], &[]),
        check("--security", args.security.is_some(), &[], &[Email]),
        check("--user", args.user.is_some(), &[], &[Email]),
        check("--from", args.from.is_some(), &[Email], &[]),
        check("--to", !args.to.is_empty(), &[Email, Whatsapp], &[Telegram]),
        check("--tag", args.tag.is_some(), &[], &[Apprise]),
        check("--phone-number-id", args.phone_number_id.is_some(), &[Whatsapp], &[]),
        check("--template", args.template.is_some(), &[], &[Whatsapp]),
        check("--template-language", args.template_language.is_some(), &[], &[Whatsapp]),
    ];
    let problems: Vec<String> = problems.into_iter().flatten().collect();
    if problems.is_empty() { Ok(()) } else { Err(CliError::Input(problems)) }
}

/// The settings of a channel with these flags, without the names of its secrets.
pub(super) fn section_of_flags(kind: ChannelKind, args: &Args) -> ChannelSection {
    let security = |name: &str| match name {
        "starttls" => EmailSecurity::Starttls,
        "none" => EmailSecurity::None,
        _ => EmailSecurity::Tls,
    };
    ChannelSection {
        kind,
        details: details_of_flags(args),
        url: args.url.clone(),
        url_secret: None,
        token_secret: None,
        signing_secret: None,
        topic_secret: None,
        server: args.server.clone(),
        security: args.security.as_deref().map(security),
        user: args.user.clone(),
        password_secret: None,
        from: args.from.clone(),
        to: args.to.clone(),
        tag: args.tag.clone(),
        phone_number_id: args.phone_number_id.clone(),
        template: args.template.clone(),
        template_language: args.template_language.clone(),
    }
}

/// How much of a message the channel gets.
pub(super) fn details_of_flags(args: &Args) -> ChannelDetails {
    match args.details.as_deref() {
        Some("headline") => ChannelDetails::Headline,
        _ => ChannelDetails::Full,
    }
}

/// The table of the settings, with the names of the `stored` secrets.
pub(super) fn settings_table(
    name: &ChannelName,
    section: &ChannelSection,
    stored: impl IntoIterator<Item = ChannelSecret>,
) -> Value {
    let mut table = json!(section);
    for secret in stored {
        table[secret.key] = json!(secret.name(name.as_str()));
    }
    table
}

/// The flags of the keys of a table, for errors of the engine. A key stands before its own prefixes.
pub(super) fn field_names(name: &ChannelName) -> Vec<(String, &'static str)> {
    [
        ("details", "--details"),
        ("urlSecret", "the address"),
        ("url", "--url"),
        ("tokenSecret", "the token"),
        ("topicSecret", "the topic"),
        ("signingSecret", "the signing key"),
        ("passwordSecret", "the password"),
        ("server", "--server"),
        ("security", "--security"),
        ("user", "--user"),
        ("from", "--from"),
        ("to", "--to"),
        ("tag", "--tag"),
        ("phoneNumberId", "--phone-number-id"),
        ("templateLanguage", "--template-language"),
        ("template", "--template"),
    ]
    .map(|(key, flag)| (format!("channels.{name}.{key}"), flag))
    .into()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use rouse_core::schedule::Zones;
    use rouse_core::settings::read_settings;

    use super::*;

    #[derive(clap::Parser)]
    struct Add {
        #[command(flatten)]
        args: Args,
    }

    fn args(line: &str) -> Args {
        let words = ["add", "desk", "--kind"].into_iter().chain(line.split(' '));
        Add::try_parse_from(words).expect("flags").args
    }

    fn section(line: &str) -> ChannelSection {
        let args = args(line);
        section_of_flags(args.kind.expect("a kind"), &args)
    }

    const COMPLETE: [&str; 10] = [
        "telegram --to 123456789 --to=-1001234",
        "email --server smtp.example.org --from a@b.org --to c@d.org",
        "email --server smtp.example.org:587 --security starttls --user anna --from a@b.org --to c@d.org --to e@f.org",
        "ntfy --url https://ntfy.example.org --details headline",
        "slack",
        "discord",
        "webhook",
        "webhook --url http://127.0.0.1:9/x",
        "apprise --url http://nas.local:8000 --tag home",
        "whatsapp --phone-number-id 1 --to +4915112345678 --template alert --template-language de",
    ];

    #[test]
    fn section_of_each_kind_is_valid() {
        for line in COMPLETE {
            let section = section(line);
            check_flags(section.kind, &args(line)).expect("complete flags");
            let table = settings_table(&ChannelName::new("desk"), &section, secrets_of(&section));
            let document = json!({ "channels": { "desk": table } });
            let read = read_settings(document, &Zones::built_in(chrono_tz::UTC));
            assert!(read.is_ok(), "{line}: {read:?}");
        }
        for kind in ChannelKind::ALL {
            assert!(COMPLETE.iter().any(|line| section(line).kind == *kind), "{kind:?}");
        }
    }

    #[test]
    fn missing_and_unused_flags_are_named() {
        let problems = |line: &str| {
            check_flags(section(line).kind, &args(line)).expect_err("problems").lines()
        };
        assert_eq!(
            problems("ntfy --server x"),
            ["--url is needed for ntfy", "--server is not used for ntfy"]
        );
        assert_eq!(problems("slack --url https://example.org"), ["--url is not used for Slack"]);
        assert_eq!(problems("whatsapp --phone-number-id 1"), ["--to is needed for WhatsApp"]);
    }

    #[test]
    fn secret_is_bound_to_the_host_of_its_channel() {
        let host = |line: &str, address: Option<&str>| secret_host(&section(line), address);
        assert_eq!(host("telegram", None), "api.telegram.org");
        assert_eq!(host("telegram --url http://127.0.0.1:8081/bot", None), "http://127.0.0.1:8081");
        assert_eq!(
            host("slack", Some("https://hooks.example.org/T/secret?x=1")),
            "hooks.example.org"
        );
        assert_eq!(host(COMPLETE[1], None), "smtp.example.org:465");
        assert_eq!(host(COMPLETE[2], None), "smtp.example.org:587");
        assert_eq!(host(COMPLETE[9], None), "graph.facebook.com");
        assert_eq!(
            host("ntfy --url https://ntfy.example.org:8443/", None),
            "ntfy.example.org:8443"
        );
    }

    #[test]
    fn secret_names_have_the_name_of_the_channel() {
        let names = secret_names("desk");
        for line in COMPLETE {
            for secret in secrets_of(&section(line)) {
                assert!(names.contains(&secret.name("desk")), "{secret:?}");
            }
        }
        assert_eq!(BOT_TOKEN.name("desk"), "channel-desk-token");
    }

    #[test]
    fn flag_of_a_field_is_not_that_of_its_prefix() {
        let names = field_names(&ChannelName::new("desk"));
        let flag = |key: &str| {
            let path = format!("channels.desk.{key}");
            names
                .iter()
                .find(|(prefix, _)| path.starts_with(prefix.as_str()))
                .map(|(_, flag)| *flag)
        };
        assert_eq!(flag("topicSecret"), Some("the topic"));
        assert_eq!(flag("templateLanguage"), Some("--template-language"));
        assert_eq!(flag("to[0]"), Some("--to"));
        assert_eq!(flag("urlSecret"), Some("the address"));
    }
}
