//! `rouse channels add --apprise`: one line of Apprise from a prompt or a pipe.
//!
//! Owns the checks that only the command line needs, and the signing key of a webhook. Never prints the line. Pitfall:
//! an error with a part of the line; every part may be a password.

use rouse_core::channel::{ChannelKind, ChannelName};
use rouse_gateway::create_signing_key;
use rouse_host::{ImportedChannel, read_apprise_line};

use super::flags::Args;
use super::kind_setup::{SIGNING_KEY, details_of_flags, secrets_of};
use super::new_channel::{LineNotes, NewChannel};
use super::secret_storage::check_value;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::read_secret;

/// Reads the channel of a line that is typed without echo or piped.
pub(super) fn read_line_channel(args: &Args) -> Result<NewChannel, CliError> {
    let text = read_secret("line of Apprise")?;
    let mut channel = line_channel(&args.name, &text)?;
    channel.section.details = details_of_flags(args);
    Ok(channel)
}

/// The channel of the only line in `text`.
fn line_channel(name: &ChannelName, text: &str) -> Result<NewChannel, CliError> {
    let line = only_line(text)?;
    let imported = read_apprise_line(line).map_err(|error| CliError::input(error.to_string()))?;
    let ImportedChannel { mut section, secrets: mut values, recipients } = imported;
    let mut notes = LineNotes::default();
    if section.kind == ChannelKind::Telegram {
        section.to = chats_of(&recipients)?;
        let topics = recipients.iter().filter(|recipient| recipient.contains(':'));
        notes.topics = topics.map(|topic| format!("{name}:{topic}")).collect();
    }
    if section.kind == ChannelKind::Webhook {
        let key = create_signing_key();
        values.push((SIGNING_KEY.key, key.clone()));
        notes.signing_key = Some(key);
    }
    let mut secrets = Vec::with_capacity(values.len());
    for secret in secrets_of(&section) {
        let value = values.iter().find(|(key, _)| *key == secret.key);
        let value = value.map(|(_, value)| value.clone()).unwrap_or_default();
        secrets.extend(check_value(secret, value)?);
    }
    Ok(NewChannel { name: name.clone(), section, secrets, line: Some(notes) })
}

/// The only line that is not blank.
fn only_line(text: &str) -> Result<&str, CliError> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    match (lines.next(), lines.next()) {
        (Some(line), None) => Ok(line),
        (Some(_), Some(_)) => {
            Err(CliError::input("The input has several lines. Add a channel for each line."))
        }
        (None, _) => Err(CliError::input("The input has no line. Type or pipe a line of Apprise.")),
    }
}

/// The ids of the chats, without topics. The settings know chats by their id only.
fn chats_of(recipients: &[String]) -> Result<Vec<String>, CliError> {
    let mut chats: Vec<String> = Vec::new();
    for recipient in recipients {
        let chat = recipient.split(':').next().unwrap_or_default();
        if !chat.parse::<i64>().is_ok_and(|id| id != 0) {
            return Err(CliError::input(
                "A chat of the line has no valid id. Write the id instead of a name: `tgram://TOKEN/CHAT_ID`.",
            ));
        }
        if !chats.iter().any(|known| known == chat) {
            chats.push(chat.to_owned());
        }
    }
    if chats.is_empty() {
        return Err(CliError::input("The line has no chat. Write `tgram://TOKEN/CHAT_ID`."));
    }
    Ok(chats)
}

/// Prints the signing key and the topics of a line.
pub(super) fn print_notes(notes: &LineNotes) {
    if let Some(key) = &notes.signing_key {
        anstream::println!("Signing key of the webhook, shown only now: {key}");
        anstream::println!("The receiver needs the key to check the signatures.");
    }
    if !notes.topics.is_empty() {
        let topics = notes.topics.join(", ");
        anstream::println!(
            "A channel sends to chats, not to topics. Name a topic in deliverTo instead: {topics}"
        );
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::schedule::Zones;
    use rouse_core::settings::read_settings;
    use serde_json::json;

    use super::*;

    fn channel(line: &str) -> Result<NewChannel, CliError> {
        line_channel(&ChannelName::new("desk"), line)
    }

    fn problem(line: &str) -> String {
        channel(line).err().expect("a problem").lines().join("\n")
    }

    #[test]
    fn settings_of_each_line_are_valid() {
        for (line, host, keys) in [
            ("tgram://123:abc_d/7", "api.telegram.org", "tokenSecret"),
            ("mailto://anna:secret@gmail.com", "smtp.gmail.com:587", "passwordSecret"),
            ("mailto://localhost?from=a@b.org", "http://localhost:25", ""),
            ("ntfys://ntfy.example.org/MyTopic", "ntfy.example.org", "topicSecret"),
            ("ntfys://tk_1@ntfy.example.org/t", "ntfy.example.org", "topicSecret tokenSecret"),
            ("discord://42/to-K_en", "discord.com", "urlSecret"),
            ("slack://T1/B2/c3", "hooks.slack.com", "urlSecret"),
            ("jsons://example.org/hook", "example.org", "urlSecret signingSecret"),
            ("json://192.168.1.5/hook", "http://192.168.1.5", "signingSecret"),
            ("apprises://apprise.example.org/key", "apprise.example.org", ""),
        ] {
            let channel = channel(line).expect("a channel");
            assert_eq!(channel.secret_host(), host, "{line}");
            let found: Vec<&str> = channel.secrets.iter().map(|typed| typed.secret.key).collect();
            assert_eq!(found.join(" "), keys, "{line}");
            let document = json!({ "channels": { "desk": channel.settings_table() } });
            let read = read_settings(document, &Zones::built_in(chrono_tz::UTC));
            assert!(read.is_ok(), "{line}: {read:?}");
        }
    }

    #[test]
    fn telegram_topics_become_notes() {
        let channel = channel("tgram://123:abc/-1001:43/-1001:44/7\n\n").expect("a channel");
        assert_eq!(channel.section.to, ["-1001", "7"]);
        let notes = channel.line.expect("notes");
        assert_eq!(notes.topics, ["desk:-1001:43", "desk:-1001:44"]);
        assert!(notes.signing_key.is_none());
    }

    #[test]
    fn webhook_gets_a_signing_key() {
        let channel = channel("jsons://example.org/hook").expect("a channel");
        let stored = channel.secrets.last().expect("a secret");
        let key = channel.line.expect("notes").signing_key.expect("a key");
        assert_eq!((stored.secret.key, &stored.value), ("signingSecret", &key));
        assert!(key.starts_with("whsec_"), "{key}");
    }

    #[test]
    fn errors_have_a_remedy_and_no_part_of_the_line() {
        for (line, expected) in [
            ("", "no line"),
            ("slack://canary/B/C\nslack://T/B/canary", "several lines"),
            ("tgram://123:canary", "no chat"),
            ("tgram://123:abc/@canary", "no valid id"),
            ("tgram://123:canary/0", "no valid id"),
            ("tgram://123:canary/99999999999999999999", "no valid id"),
            ("slack://canary", "no webhook"),
            ("canary", "no address"),
        ] {
            let problem = problem(line);
            assert!(problem.contains(expected) && !problem.contains("canary"), "{problem}");
        }
    }
}
