//! `rouse models add`: provider, key and model, then a test.
//!
//! A key is typed without echo or piped, never an argument. Flags replace the questions at a terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _, stderr, stdin};

use rouse_core::settings::ProviderKind;
use rouse_gateway::wire::{
    ListedModelView, ModelTestVerdict, ModelsListResult, ModelsProvidersResult, ModelsTestParams,
    ProvidersListResult, SecretStorage,
};
use serde_json::{Value, json};

use super::find_stored_key;
use super::model_test::{check_verdict, test_model};
use crate::commands::cron::choice;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::read_secret;

/// Field paths of the gateway and their names on the command line.
const FIELD_NAMES: [(&str, &str); 7] = [
    ("server.key", "the key"),
    ("server.baseUrl", "--url"),
    ("server.name", "NAME"),
    ("server.kind", "--kind"),
    ("providers", "the settings"),
    ("model", "--model"),
    ("text", "MODEL"),
];

/// Maximum models in the list at a terminal.
const MAX_OFFERED: usize = 15;

pub(super) const EXAMPLES: &str = "\
Examples:
  rouse models add anthropic                              prompts for the key, then tests
  rouse models add openai --model gpt-5.6-terra < key.txt
  rouse models add ollama --model qwen3.5:4b
  rouse models add work --url https://gateway.example/v1 --model claude-sonnet-5-5 --key-env WORK_KEY
";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Provider: anthropic, openai, openrouter, ollama, lmstudio, or a new name for another server
    provider: String,
    /// Model [default: ask on a terminal]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// URL of another server
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// API format of another server [default: openai]
    #[arg(long, value_parser = choice::<ProviderKind>())]
    kind: Option<ProviderKind>,
    /// Environment variable with the key, instead of the keyring
    #[arg(long, value_name = "VARIABLE")]
    key_env: Option<String>,
    /// Connect without a key
    #[arg(long, conflicts_with = "key_env")]
    no_key: bool,
    /// Skip the test of the model
    #[arg(long)]
    no_test: bool,
}

pub(super) async fn add_provider(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let mut server = build_server(&args, engine).await?;
    if let Some(key) = read_key(&args, &server)? {
        server["key"] = json!(key);
    }
    let model = match args.model {
        Some(model) => model,
        None => choose_model(&server, engine).await?,
    };
    let added = engine.call("models.add", json!({ "server": server, "model": model })).await;
    let added = added.map_err(|error| error.with_field_names(&FIELD_NAMES))?;
    if !engine.json && server["key"].is_string() {
        print_key_storage(&args.provider, &added, engine).await?;
    }
    let name = escape(&args.provider);
    if args.no_test {
        return engine.print_answer(added, |_, _: ProvidersListResult| {
            anstream::println!("Added {name}. Test it: rouse models test")
        });
    }
    if !engine.json {
        anstream::println!("Added {name}. Testing {} …", escape(&model));
    }
    let (provider, model) = (Some(args.provider), Some(model));
    let params = ModelsTestParams { provider, model, make_default: Some(true) };
    let tested = test_model(params, engine).await?;
    if engine.json {
        return Ok(());
    }
    match tested.verdict {
        ModelTestVerdict::Failed => anstream::println!(
            "{name} is set up. A provider that answers stays in use. Test again: rouse models test {name}"
        ),
        _ => anstream::println!("{name} is in use now."),
    }
    check_verdict(tested.verdict)
}

/// Prints that the key is in a file.
async fn print_key_storage(
    name: &str,
    added: &Value,
    engine: &EngineConnection,
) -> Result<(), CliError> {
    let list: ProvidersListResult = serde_json::from_value(added.clone())?;
    let Some(provider) = list.providers.iter().find(|provider| provider.name == name) else {
        return Ok(());
    };
    let key = find_stored_key(provider, engine).await?;
    if key.is_some_and(|key| key.stored_in == SecretStorage::File) {
        anstream::println!(
            "The key is in a file that only you can read, not in the system keyring."
        );
    }
    Ok(())
}

/// The server by flags and presets.
async fn build_server(args: &Args, engine: &EngineConnection) -> Result<Value, CliError> {
    let known: ModelsProvidersResult = engine.fetch("models.providers", json!({})).await?;
    let preset = known.presets.iter().find(|preset| preset.name == args.provider);
    let url = args.url.as_deref().or(preset.map(|preset| preset.base_url.as_str()));
    let Some(url) = url else {
        let names: Vec<&str> = known.presets.iter().map(|preset| preset.name.as_str()).collect();
        return Err(CliError::input(format!(
            "{} is none of {}. For another server add its URL: --url https://…/v1",
            escape(&args.provider),
            names.join(", ")
        )));
    };
    let kind = args.kind.map(ProviderKind::name);
    let kind = kind.or(preset.map(|preset| preset.kind.as_str())).unwrap_or("openai");
    let mut server =
        json!({ "name": args.provider, "kind": kind, "baseUrl": url, "keyEnv": args.key_env });
    server["keyPage"] = json!(preset.and_then(|preset| preset.key_page.clone()));
    // A local preset has no key page and needs no key.
    server["needsKey"] = json!(preset.is_none_or(|preset| preset.key_page.is_some()));
    Ok(server)
}

/// The key from the keyboard or a pipe; none if the server needs none.
fn read_key(args: &Args, server: &Value) -> Result<Option<String>, CliError> {
    let needs_key = server["needsKey"] == true && !args.no_key && args.key_env.is_none();
    if !needs_key {
        return Ok(None);
    }
    if let Some(page) = server["keyPage"].as_str().filter(|_| stdin().is_terminal()) {
        anstream::eprintln!("Create a key at {page} and paste it here.");
    }
    let is_optional = stdin().is_terminal() && is_local(server);
    let hint = if is_optional { " (Enter for none)" } else { "" };
    let key = read_secret(&format!("the key for {}{hint}", args.provider))?;
    match key.trim() {
        "" if is_optional => Ok(None),
        "" => Err(CliError::input(
            "no key was given. Type or pipe the key, name a variable with --key-env, or connect without a key with --no-key",
        )),
        key => Ok(Some(key.to_owned())),
    }
}

fn is_local(server: &Value) -> bool {
    let url = server["baseUrl"].as_str().unwrap_or_default();
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["localhost", "127.", "[::1]"].iter().any(|local| host.starts_with(local))
}

/// Asks for a model of the provider's list.
async fn choose_model(server: &Value, engine: &EngineConnection) -> Result<String, CliError> {
    let listed = engine.call("models.list", json!({ "server": server })).await;
    let listed = listed.map_err(|error| error.with_field_names(&FIELD_NAMES))?;
    let list: ModelsListResult = serde_json::from_value(listed)?;
    if list.models.is_empty() {
        let pull = if server["name"] == "ollama" { " Pull one: rouse models pull" } else { "" };
        return Err(CliError::Refused(format!("{} has no model yet.{pull}", list.provider)));
    }
    if !stdin().is_terminal() || engine.json {
        let names: Vec<&str> = list.models.iter().take(5).map(|model| model.id.as_str()).collect();
        return Err(CliError::input(format!(
            "name a model with --model, such as {}",
            names.join(", ")
        )));
    }
    for (number, model) in list.models.iter().take(MAX_OFFERED).enumerate() {
        let title = model.title.as_deref().map(|title| format!("  {title}")).unwrap_or_default();
        anstream::eprintln!("{:>3}  {}", number + 1, escape(&format!("{}{title}", model.id)));
    }
    let rest = list.models.len().saturating_sub(MAX_OFFERED);
    if rest > 0 {
        anstream::eprintln!("     and {rest} more");
    }
    anstream::eprint!("Model (number or name) [1]: ");
    stderr().flush()?;
    let mut line = String::new();
    stdin().lock().read_line(&mut line)?;
    select_model(&list.models, line.trim())
}

/// The model with this number or name; the first model for an empty answer.
fn select_model(models: &[ListedModelView], answer: &str) -> Result<String, CliError> {
    let number = if answer.is_empty() { Some(1) } else { answer.parse::<usize>().ok() };
    match number {
        None => Ok(answer.to_owned()),
        Some(number) => match number.checked_sub(1).and_then(|at| models.get(at)) {
            Some(model) => Ok(model.id.clone()),
            None => Err(CliError::input(format!("there is no number {number} in the list"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_is_selected_by_number_or_name() {
        let model = |id: &str| ListedModelView {
            id: id.to_owned(),
            title: None,
            context_tokens: None,
            bytes: None,
            calls_tools: None,
        };
        let models = [model("a"), model("b")];
        for (answer, id) in [("", "a"), ("2", "b"), ("other", "other")] {
            assert_eq!(select_model(&models, answer).expect("a model"), id, "{answer}");
        }
        assert!(select_model(&models, "3").is_err() && select_model(&models, "0").is_err());
    }
}
