//! `rouse channels …`: the ways of messages to the person.
//!
//! Changes the settings and the stored secrets of a channel. A secret is never an argument: other programs and the
//! shell's history could read it.

mod flags;
mod kind_setup;
mod new_channel;
mod secret_storage;
mod apprise_line;
mod default_channels;
mod add;
mod delivery_test;
mod pairing;
mod removal;

use clap::Subcommand;
use rouse_gateway::wire::{ChannelView, ChannelsListResult, SystemStatus};
use serde_json::json;

use crate::render::channel::print_channels;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::ids;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// List channels with recipients and state, and the default channels
    #[default]
    #[command(alias = "ls")]
    List,
    /// Set up a channel: secrets, settings, test
    #[command(before_help = flags::EXAMPLES)]
    Add(Box<flags::Args>),
    /// Send a test message and wait for its outcome
    Test {
        /// Channel
        name: String,
        /// Recipient [default: the only one]
        #[arg(long, value_name = "ADDRESS")]
        to: Option<String>,
    },
    /// Pair your private chat with a Telegram channel by a one-time link
    Pair {
        /// Channel
        name: String,
    },
    /// Remove a paired chat: no messages, no decisions, no chat from there
    Unpair {
        /// Channel
        name: String,
        /// Chat [default: the only paired one]
        address: Option<String>,
    },
    /// Remove a channel with its secrets, from jobs and default channels too
    #[command(aliases = ["rm", "delete"])]
    Remove {
        /// Channel
        name: String,
        /// Remove without a prompt
        #[arg(long)]
        yes: bool,
    },
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List => {
            let answer = engine.call("channels.list", json!({})).await?;
            let status: SystemStatus = engine.fetch("system.status", json!({})).await?;
            engine.print_answer(answer, |engine, list: ChannelsListResult| {
                print_channels(engine, &list, &status.notifications);
            })
        }
        Command::Add(args) => add::add_channel(*args, engine).await,
        Command::Test { name, to } => {
            delivery_test::test_channel(&name, to.as_deref(), engine).await
        }
        Command::Pair { name } => pairing::pair(&name, engine).await,
        Command::Unpair { name, address } => pairing::unpair(&name, address, engine).await,
        Command::Remove { name, yes } => removal::remove_channel(&name, yes, engine).await,
    }
}

async fn list_channels(engine: &EngineConnection) -> Result<ChannelsListResult, CliError> {
    engine.fetch("channels.list", json!({})).await
}

/// The channel with this name.
fn find_channel<'l>(list: &'l ChannelsListResult, name: &str) -> Result<&'l ChannelView, CliError> {
    list.channels.iter().find(|channel| channel.name == name).ok_or_else(|| {
        let names = list.channels.iter().map(|channel| channel.name.as_str());
        ids::unknown_name("channel called", name, names, "rouse channels")
    })
}
