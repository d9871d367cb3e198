//! `rouse mcp install`: the entry of Rouse in the settings of an MCP client.
//!
//! Owns the flow: the exact change first, then the question, then the file. Changes one entry and keeps every other byte of a JSON
//! or YAML file, and every other key of a TOML file. Writes no file that it cannot read, and no YAML file in another style than
//! that of Goose: then prints the entry to paste. Pitfall: writing over a change that the client made meanwhile.

mod client_app;
mod server_entry;
mod json_entry;
mod toml_entry;
mod yaml_entry;
mod entry_change;
mod settings_file;

use serde_json::json;

use self::client_app::{ClientApp, ClientFile, ClientFormat, SetupFolders, SetupScope};
use self::entry_change::EntryChange;
use self::server_entry::ServerEntry;
use self::settings_file::{read_settings, write_settings};
use crate::commands::extensions::{ask_line, is_interactive};
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::is_confirmed;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The MCP client
    client: ClientApp,
    /// For you, or for the project in this folder
    #[arg(long, default_value = "user")]
    scope: SetupScope,
    /// Write without a question
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(args: &Args, engine: &EngineConnection) -> Result<(), CliError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let folders = SetupFolders::find(&variable, std::env::current_dir()?)?;
    let entry = ServerEntry::of_this_program(&variable)?;
    let file = args.client.file(args.scope, &folders)?;
    let before = read_settings(&file.path)?;
    let change = match file.format {
        ClientFormat::Json { servers, has_type } => {
            json_entry::set_entry(before.as_deref(), servers, &entry.json(has_type))
        }
        ClientFormat::Toml => toml_entry::set_entry(before.as_deref(), &entry),
        ClientFormat::Yaml => yaml_entry::set_entry(before.as_deref(), &entry),
    };
    let change = change.map_err(|reason| paste_error(&file, &entry, &reason))?;
    print_change(engine, &file, &change)?;
    if change.is_done() {
        return Ok(());
    }
    if !args.yes {
        if !is_interactive(engine) {
            return Err(CliError::Refused(
                "Nothing was written. To write exactly this change, add --yes.".to_owned(),
            ));
        }
        if !is_confirmed(&ask_line("\nWrite this change? [y/N] ").await?) {
            anstream::eprintln!("Nothing was written.");
            return Ok(());
        }
    }
    write_settings(&file.path, before.as_deref(), &change.text)?;
    if !engine.json {
        anstream::println!("Written. {}", file.next_step);
    }
    Ok(())
}

fn print_change(
    engine: &EngineConnection,
    file: &ClientFile,
    change: &EntryChange,
) -> Result<(), CliError> {
    let path = file.path.display().to_string();
    if engine.json {
        let page = json!({ "file": path, "before": change.before, "after": change.after });
        anstream::println!("{}", serde_json::to_string_pretty(&page)?);
        return Ok(());
    }
    anstream::println!("File: {}", escape(&path));
    if change.is_done() {
        anstream::println!("Rouse is set up there already.\n\n{}", escape(&change.after));
        return Ok(());
    }
    match &change.before {
        Some(before) => anstream::println!("\nNow:\n{}", escape(before)),
        None => anstream::println!("\nNow: no entry"),
    }
    anstream::println!("\nThen:\n{}", escape(&change.after));
    Ok(())
}

/// The refusal to change a file, with the entry to paste.
fn paste_error(file: &ClientFile, entry: &ServerEntry, reason: &str) -> CliError {
    let path = escape(&file.path.display().to_string());
    let text = escape(&entry.paste_text(file.format));
    CliError::Refused(format!(
        "Nothing was written: {reason}. Add this entry to {path} by hand:\n\n{text}"
    ))
}
