//! `rouse models …`: providers and their models.

mod connection;
mod model_test;
mod pull;
mod removal;

use clap::Subcommand;
use rouse_gateway::wire::{
    ListedModelView, ModelsListResult, ModelsTestParams, ProviderState, ProviderView,
    ProvidersListResult, SecretView, SecretsListResult,
};
use serde_json::json;

use crate::render::table::{new_table, print_rows};
use crate::render::text::{escape, shorten};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use model_test::{check_verdict, test_model, verdict_text};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the providers, or the models of a provider
    List {
        /// Provider [default: list the providers]
        provider: Option<String>,
        /// Look for local providers again
        #[arg(long)]
        refresh: bool,
    },
    /// Connect a provider: key, model, test
    #[command(before_help = connection::EXAMPLES)]
    Add(connection::Args),
    /// Test a model with two turns: a required and a needless tool call
    Test {
        /// Provider [default: the active provider]
        provider: Option<String>,
        /// Model [default: the active model of the provider]
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
    },
    /// Remove a provider from the settings
    Remove {
        /// Provider
        provider: String,
    },
    /// Pull a model into local Ollama; Ctrl+C cancels
    Pull {
        /// Model of Ollama's library, such as qwen3.5:4b [default: list suggestions]
        model: Option<String>,
    },
}

impl Default for Command {
    fn default() -> Self {
        Self::List { provider: None, refresh: false }
    }
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List { provider: None, refresh } => {
            engine.show("providers.list", json!({ "refresh": refresh }), print_providers).await
        }
        Command::List { provider: Some(provider), .. } => {
            let params = json!({ "provider": provider });
            engine
                .show("models.list", params, |_, list: ModelsListResult| print_models(&list.models))
                .await
        }
        Command::Add(args) => connection::add_provider(args, engine).await,
        Command::Test { provider, model } => {
            let params = ModelsTestParams { provider, model, make_default: None };
            check_verdict(test_model(params, engine).await?.verdict)
        }
        Command::Remove { provider } => removal::remove_provider(&provider, engine).await,
        Command::Pull { model: Some(model) } => pull::pull_model(&model, engine).await,
        Command::Pull { model: None } => {
            engine.show("models.providers", json!({}), pull::print_suggestions).await
        }
    }
}

/// The stored key of a provider.
async fn find_stored_key(
    provider: &ProviderView,
    engine: &EngineConnection,
) -> Result<Option<SecretView>, CliError> {
    let list: SecretsListResult = engine.fetch("secrets.list", json!({})).await?;
    let is_key = |secret: &SecretView| provider.key_secret.as_ref() == Some(&secret.name);
    Ok(list.secrets.into_iter().find(is_key))
}

fn print_providers(_: &EngineConnection, list: ProvidersListResult) {
    if list.providers.is_empty() {
        anstream::println!(
            "No model yet. Connect one: rouse models add anthropic (or openai, openrouter, ollama, lmstudio)"
        );
        return;
    }
    let mut rows = new_table(&["PROVIDER", "MODEL", "STATE", "LAST TEST", "ADDRESS"]);
    for provider in &list.providers {
        let is_active = list.active.as_deref() == Some(provider.name.as_str());
        let test = provider.tests.iter().find(|test| test.model == provider.model);
        rows.add_row([
            escape(&provider.name),
            shorten(&provider.model, 40),
            state_text(provider, is_active).to_owned(),
            test.map(|test| verdict_text(test.verdict).to_owned()).unwrap_or_default(),
            shorten(&provider.base_url, 48),
        ]);
    }
    print_rows(&rows);
    for provider in &list.providers {
        if let Some(problem) = &provider.problem {
            anstream::println!("{}: {}", escape(&provider.name), escape(problem));
        }
    }
}

const fn state_text(provider: &ProviderView, is_active: bool) -> &'static str {
    match (provider.state, is_active) {
        (ProviderState::Answered, true) => "in use",
        (ProviderState::Answered, false) => "available",
        (ProviderState::Untried, true) => "chosen, not tried yet",
        (ProviderState::Untried, false) => "not tried yet",
        (ProviderState::Failing, _) => "does not answer",
    }
}

fn print_models(models: &[ListedModelView]) {
    if models.is_empty() {
        anstream::println!("The provider lists no chat model.");
    }
    for model in models {
        let title = model.title.as_deref().map(|title| format!("  {title}")).unwrap_or_default();
        let size =
            model.bytes.map(|bytes| format!("  {}", pull::gigabytes(bytes))).unwrap_or_default();
        let tools = if model.calls_tools == Some(false) { "  (no tools)" } else { "" };
        anstream::println!("{}", escape(&format!("{}{title}{size}{tools}", model.id)));
    }
}
