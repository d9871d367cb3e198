//! `rouse channels add`: secrets, settings, default channels, test.
//!
//! Flags replace the prompts at a terminal. Without the settings, no secret of the channel stays.

use rouse_core::channel::ChannelKind;
use rouse_gateway::wire::{ChannelsListResult, SecretView};
use serde_json::{Map, Value, json};

use super::apprise_line::{print_notes, read_line_channel};
use super::default_channels::{lists_with, print_default_commands};
use super::delivery_test::test_channel;
use super::flags::Args;
use super::kind_setup::{check_flags, section_of_flags};
use super::list_channels;
use super::new_channel::NewChannel;
use super::pairing::pair;
use super::secret_storage::{print_storage, read_secrets, remove_stored, store_secrets};
use crate::commands::extensions::{ask_line, is_interactive};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::is_not_declined;
use crate::resolve::settings::patch_settings;

pub(super) async fn add_channel(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let list = list_channels(engine).await?;
    let name = args.name.as_str();
    if list.channels.iter().any(|channel| channel.name == name) {
        return Err(CliError::Refused(format!(
            "There is a channel {name} already. To replace it: rouse channels remove {name}"
        )));
    }
    let channel = read_channel(&args)?;
    let stored = save_channel(&channel, engine).await?;
    if !engine.json {
        anstream::println!("Added {name}.");
        print_storage(&stored);
        channel.line.iter().for_each(print_notes);
    }
    let defaults = add_to_defaults(&channel, args.is_default, &list, engine).await?;
    if engine.json {
        let answer = json_answer(&channel, &stored, defaults);
        anstream::println!("{}", serde_json::to_string_pretty(&answer)?);
        return Ok(());
    }
    offer_test(&channel, engine).await
}

/// Reads the channel from the flags and the prompts, or from an Apprise line.
fn read_channel(args: &Args) -> Result<NewChannel, CliError> {
    let Some(kind) = args.kind else { return read_line_channel(args) };
    check_flags(kind, args)?;
    let section = section_of_flags(kind, args);
    let secrets = read_secrets(&section, args.secret_stdin)?;
    Ok(NewChannel { name: args.name.clone(), section, secrets, line: None })
}

/// The answer of `--json`. The keys `signingKey` and `topics` appear only with a value.
fn json_answer(channel: &NewChannel, stored: &[SecretView], defaults: Map<String, Value>) -> Value {
    let secrets: Vec<&String> = stored.iter().map(|secret| &secret.name).collect();
    let mut answer = json!({ "name": channel.name, "secrets": secrets, "defaults": defaults });
    if let Some(notes) = &channel.line {
        if let Some(key) = &notes.signing_key {
            answer["signingKey"] = json!(key);
        }
        if !notes.topics.is_empty() {
            answer["topics"] = json!(notes.topics);
        }
    }
    answer
}

/// Stores the secrets and the settings of a channel, or neither.
async fn save_channel(
    channel: &NewChannel,
    engine: &EngineConnection,
) -> Result<Vec<SecretView>, CliError> {
    let name = channel.name.as_str();
    let stored = store_secrets(channel, engine).await?;
    let patch = json!({ "channels": { name: channel.settings_table() } });
    if let Err(error) = patch_settings(engine, patch).await {
        remove_stored(&stored, engine).await;
        return Err(channel.settings_error(error));
    }
    Ok(stored)
}

/// Adds the channel to the default channels, if the person agrees. Returns the changed settings.
async fn add_to_defaults(
    channel: &NewChannel,
    is_default: bool,
    list: &ChannelsListResult,
    engine: &EngineConnection,
) -> Result<Map<String, Value>, CliError> {
    let patch = lists_with(list, &channel.targets());
    if patch.is_empty() {
        return Ok(patch);
    }
    let prompt = "Send reports, failures and approval requests there too? [Y/n] ";
    let is_wanted =
        is_default || (is_interactive(engine) && is_not_declined(&ask_line(prompt).await?));
    if !is_wanted {
        if !engine.json {
            print_default_commands(&patch);
        }
        return Ok(Map::new());
    }
    patch_settings(engine, Value::Object(patch.clone())).await?;
    if !engine.json {
        anstream::println!("Messages go there too. All default channels: rouse channels");
    }
    Ok(patch)
}

/// Sends a test message to the first recipient, or pairs a chat, if the person agrees.
async fn offer_test(channel: &NewChannel, engine: &EngineConnection) -> Result<(), CliError> {
    let name = channel.name.as_str();
    if channel.section.kind == ChannelKind::Telegram && channel.section.to.is_empty() {
        let prompt = "Pair your chat now? [Y/n] ";
        if is_interactive(engine) && is_not_declined(&ask_line(prompt).await?) {
            return pair(name, engine).await;
        }
        anstream::println!("Pair your chat: rouse channels pair {name}");
        return Ok(());
    }
    let prompt = "Send a test message now? [Y/n] ";
    if !is_interactive(engine) || !is_not_declined(&ask_line(prompt).await?) {
        anstream::println!("Test it: rouse channels test {name}");
        return Ok(());
    }
    test_channel(name, channel.section.to.first().map(String::as_str), engine).await
}

#[cfg(test)]
mod tests {
    use rouse_core::channel::ChannelName;

    use super::*;
    use crate::commands::channels::new_channel::LineNotes;

    #[test]
    fn json_answer_has_the_key_and_topics_of_a_line() {
        let section = || serde_json::from_value(json!({ "kind": "webhook" })).expect("a section");
        let answer = |line: Option<LineNotes>| {
            let name = ChannelName::new("ops");
            let channel = NewChannel { name, section: section(), secrets: Vec::new(), line };
            json_answer(&channel, &[], Map::new())
        };
        let plain = json!({ "name": "ops", "secrets": [], "defaults": {} });
        assert_eq!(answer(None), plain);
        assert_eq!(answer(Some(LineNotes::default())), plain);
        let topics = vec!["ops:-1001:43".to_owned()];
        let full = answer(Some(LineNotes { signing_key: Some("whsec_x".to_owned()), topics }));
        assert_eq!(full["signingKey"], "whsec_x");
        assert_eq!(full["topics"], json!(["ops:-1001:43"]));
    }
}
