//! A channel that is not saved yet: settings and secrets.
//!
//! Owns the names of the channel in lists, and the words of engine errors. Never stores anything. Pitfall: quoting an
//! Apprise line in an error; every part of the line may be a password.

use rouse_core::channel::{ChannelKind, ChannelName, ChannelSection};
use serde_json::Value;

use super::kind_setup::{ChannelSecret, field_names, secret_host, settings_table};
use crate::resolve::error::CliError;

/// The label of the host of a line in errors.
const LINE_HOST: &str = "the host of the line";

/// A secret with its value. Never printed.
pub(super) struct TypedSecret {
    pub(super) secret: ChannelSecret,
    pub(super) value: String,
}

/// A channel that is not saved yet. Never printed.
pub(super) struct NewChannel {
    pub(super) name: ChannelName,
    /// The settings, without the names of the secrets.
    pub(super) section: ChannelSection,
    pub(super) secrets: Vec<TypedSecret>,
    /// The notes on the Apprise line; none for a channel of flags.
    pub(super) line: Option<LineNotes>,
}

/// The parts of an Apprise line that the person needs later.
#[derive(Default)]
pub(super) struct LineNotes {
    /// The new signing key of a webhook.
    pub(super) signing_key: Option<String>,
    /// The Telegram topics of the line, as entries of `deliverTo`: `NAME:CHAT:TOPIC`.
    pub(super) topics: Vec<String>,
}

impl NewChannel {
    /// The table of the settings, with the names of the secrets.
    pub(super) fn settings_table(&self) -> Value {
        let stored = self.secrets.iter().map(|typed| typed.secret);
        settings_table(&self.name, &self.section, stored)
    }

    /// The host that may receive the secrets.
    pub(super) fn secret_host(&self) -> String {
        let address = self.secrets.iter().find(|typed| typed.secret.is_address());
        secret_host(&self.section, address.map(|typed| typed.value.as_str()))
    }

    /// The entries of a list of channels that reach all recipients.
    pub(super) fn targets(&self) -> Vec<String> {
        let (name, to) = (&self.name, &self.section.to);
        // An entry of these kinds reaches one recipient.
        let has_single_recipients =
            matches!(self.section.kind, ChannelKind::Telegram | ChannelKind::Whatsapp);
        if has_single_recipients && to.len() > 1 {
            to.iter().map(|to| format!("{name}:{to}")).collect()
        } else {
            vec![name.to_string()]
        }
    }

    /// An error about the settings, with the flags or the line instead of the keys.
    pub(super) fn settings_error(&self, error: CliError) -> CliError {
        let names = match self.line {
            Some(_) => vec![(format!("channels.{}.", self.name), "the line")],
            None => field_names(&self.name),
        };
        let names: Vec<(&str, &str)> =
            names.iter().map(|(path, word)| (path.as_str(), *word)).collect();
        error.with_field_names(&names)
    }

    /// An error about a secret, with labels instead of the keys. The host of a line is left out.
    pub(super) fn secret_error(&self, secret: &ChannelSecret, error: CliError) -> CliError {
        let host = match (&self.line, &self.section.server) {
            (Some(_), _) => LINE_HOST,
            (None, Some(_)) => "--server",
            (None, None) => "--url",
        };
        let without_host = |line: String| {
            if line.starts_with(LINE_HOST) { format!("{LINE_HOST} is invalid") } else { line }
        };
        match error.with_field_names(&[("value", secret.label), ("hosts", host)]) {
            CliError::Input(lines) => {
                CliError::Input(lines.into_iter().map(without_host).collect())
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use rouse_gateway::RpcError;
    use serde_json::json;

    use super::*;
    use crate::commands::channels::flags::Args;
    use crate::commands::channels::kind_setup::{secrets_of, section_of_flags};

    #[derive(clap::Parser)]
    struct Add {
        #[command(flatten)]
        args: Args,
    }

    fn channel(flags: &str, line: Option<LineNotes>) -> NewChannel {
        let words = ["add", "desk", "--kind"].into_iter().chain(flags.split(' '));
        let args = Add::try_parse_from(words).expect("flags").args;
        let section = section_of_flags(args.kind.expect("a kind"), &args);
        let value = "https://hooks.example.org/T1";
        let secrets = secrets_of(&section).into_iter();
        let secrets = secrets.map(|secret| TypedSecret { secret, value: value.to_owned() });
        NewChannel { name: args.name, secrets: secrets.collect(), section, line }
    }

    fn engine_error(path: &str, message: &str) -> CliError {
        CliError::Client(RpcError::field(path, message).into())
    }

    #[test]
    fn several_chats_are_several_targets() {
        assert_eq!(channel("telegram --to 7", None).targets(), ["desk"]);
        assert_eq!(channel("telegram --to 7 --to=-8", None).targets(), ["desk:7", "desk:-8"]);
        let mail = "email --server s --from a@b.org --to c@d.org --to e@f.org";
        assert_eq!(channel(mail, None).targets(), ["desk"]);
    }

    #[test]
    fn table_has_settings_and_secret_names() {
        let slack = channel("slack", None);
        let expected =
            json!({ "kind": "slack", "details": "full", "urlSecret": "channel-desk-address" });
        assert_eq!(slack.settings_table(), expected);
        assert_eq!(slack.secret_host(), "hooks.example.org");
    }

    #[test]
    fn error_names_the_flag_or_the_line() {
        let error = || engine_error("channels.desk.url", "expected https://");
        let flags = "ntfy --url https://ntfy.example.org";
        let of_flags = channel(flags, None).settings_error(error());
        assert_eq!(of_flags.lines(), ["--url: expected https://"]);
        let of_line = channel(flags, Some(LineNotes::default())).settings_error(error());
        assert_eq!(of_line.lines(), ["the line: expected https://"]);
    }

    #[test]
    fn secret_error_never_quotes_the_host_of_a_line() {
        let secret_error = |line: Option<LineNotes>, path: &str| {
            let channel = channel("slack", line);
            let secret = channel.secrets[0].secret;
            channel.secret_error(&secret, engine_error(path, "`canary` is no host")).lines()
        };
        assert_eq!(secret_error(None, "hosts[0]"), ["--url: `canary` is no host"]);
        let of_line = secret_error(Some(LineNotes::default()), "hosts[0]");
        assert_eq!(of_line, ["the host of the line is invalid"]);
    }
}
