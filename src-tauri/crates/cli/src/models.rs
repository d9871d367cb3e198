//! `rouse models …`: connecting a model.
//!
//! A key is typed without showing it, or piped; it never stands on a command line. What `add` asks for at a terminal, a
//! script gives by flags. Adding ends with the test, so that nobody learns at 7:30 that the model does not work.

mod removal;

use std::io::{BufRead as _, IsTerminal as _, Write as _, stderr, stdin};
use std::time::Duration;

use clap::Subcommand;
use rouse_gateway::wire::{
    ListedModelView, ModelTestVerdict, ModelTestView, ModelsListResult, ModelsProvidersResult,
    ModelsPullStatusResult, ModelsTestParams, PresetView, ProviderState, ProviderView,
    ProvidersListResult, PullState, PullView,
};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::{plain, print, short, table};
use crate::secrets::read_value;
use crate::session::Session;

/// The words of the gateway's fields on this command line.
const FLAGS: [(&str, &str); 7] = [
    ("server.key", "the key"),
    ("server.baseUrl", "--url"),
    ("server.name", "NAME"),
    ("server.kind", "--kind"),
    ("providers", "the settings"),
    ("model", "--model"),
    ("text", "MODEL"),
];
/// Models that a terminal offers to choose from.
const MOST_OFFERED: usize = 15;
/// How often a pull is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Connecting a model.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the providers at hand, or the models of one of them.
    List {
        /// List the models of this provider, as its own list has them.
        provider: Option<String>,
        /// Look for providers on this computer again.
        #[arg(long)]
        refresh: bool,
    },
    /// Connect a provider: paste its key, choose a model, test it.
    #[command(before_help = EXAMPLES)]
    Add(AddArgs),
    /// Test a model: one turn that must call a tool, one that must not.
    Test {
        /// The provider [default: the one in use].
        provider: Option<String>,
        /// Its model [default: the one it is used with].
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
    },
    /// Remove a provider from the settings.
    Remove {
        /// Its name.
        provider: String,
    },
    /// Pull a model into Ollama on this computer. Ctrl+C cancels the pull.
    Pull {
        /// Its name in Ollama's library, such as qwen3.5:4b. Without a name, the suggested models are listed.
        model: Option<String>,
    },
}

const EXAMPLES: &str = "\
Examples:
  rouse models add anthropic                              asks for the key, lists the models, tests yours
  rouse models add openai --model gpt-5.6-terra < key.txt
  rouse models add ollama --model qwen3.5:4b
  rouse models add work --url https://gateway.example/v1 --model claude-sonnet-5-5 --key-env WORK_KEY
";

#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    /// anthropic, openai, openrouter, ollama, lmstudio, or a name of your own for another server.
    provider: String,
    /// The model [default: asked at a terminal].
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The address of another server.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The format that another server speaks [default: openai].
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// The environment variable that holds the key, instead of the keyring.
    #[arg(long, value_name = "VARIABLE")]
    key_env: Option<String>,
    /// The server needs no key.
    #[arg(long, conflicts_with = "key_env")]
    no_key: bool,
    /// Do not test the model.
    #[arg(long)]
    no_test: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Openai,
    Anthropic,
}

impl Default for Command {
    fn default() -> Self {
        Self::List { provider: None, refresh: false }
    }
}

pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Failure> {
    match command {
        Command::List { provider: None, refresh } => {
            session.show("providers.list", json!({ "refresh": refresh }), print_providers).await
        }
        Command::List { provider: Some(provider), .. } => {
            let params = json!({ "provider": provider });
            session
                .show("models.list", params, |_, list: ModelsListResult| {
                    print_models(&list.models);
                    Ok(())
                })
                .await
        }
        Command::Add(args) => add(args, session).await,
        Command::Test { provider, model } => {
            let wanted = ModelsTestParams { provider, model, make_default: None };
            answered(test(wanted, session).await?.verdict)
        }
        Command::Remove { provider } => removal::remove(&provider, session).await,
        Command::Pull { model: Some(model) } => pull(&model, session).await,
        Command::Pull { model: None } => {
            session.show("models.providers", json!({}), print_suggested).await
        }
    }
}

fn print_providers(_: &Session, list: ProvidersListResult) -> Result<(), Failure> {
    if list.providers.is_empty() {
        anstream::println!(
            "No model yet. Connect one: rouse models add anthropic (or openai, openrouter, ollama, lmstudio)"
        );
        return Ok(());
    }
    let mut rows = table(&["PROVIDER", "MODEL", "STATE", "LAST TEST", "ADDRESS"]);
    for provider in &list.providers {
        let is_active = list.active.as_deref() == Some(provider.name.as_str());
        let test = provider.tests.iter().find(|test| test.model == provider.model);
        rows.add_row([
            plain(&provider.name),
            short(&provider.model, 40),
            state(provider, is_active).to_owned(),
            test.map(|test| verdict(test.verdict).to_owned()).unwrap_or_default(),
            short(&provider.base_url, 48),
        ]);
    }
    print(&rows);
    for provider in list.providers.iter().filter(|provider| provider.problem.is_some()) {
        let problem = provider.problem.as_deref().unwrap_or_default();
        anstream::println!("{}: {}", plain(&provider.name), plain(problem));
    }
    Ok(())
}

const fn state(provider: &ProviderView, is_active: bool) -> &'static str {
    match (provider.state, is_active) {
        (ProviderState::Answered, true) => "in use",
        (ProviderState::Answered, false) => "available",
        (ProviderState::Untried, true) => "chosen, not tried yet",
        (ProviderState::Untried, false) => "not tried yet",
        (ProviderState::Failing, _) => "does not answer",
    }
}

const fn verdict(verdict: ModelTestVerdict) -> &'static str {
    match verdict {
        ModelTestVerdict::Works => "works",
        ModelTestVerdict::NoToolCall => "no tool calls",
        ModelTestVerdict::NeedlessToolCall => "needless tool calls",
        ModelTestVerdict::Failed => "no answer",
    }
}

fn print_models(models: &[ListedModelView]) {
    if models.is_empty() {
        anstream::println!("The provider lists no model that holds a conversation.");
    }
    for model in models {
        let title = model.title.as_deref().map(|title| format!("  {title}")).unwrap_or_default();
        let size = model.bytes.map(|bytes| format!("  {}", gigabytes(bytes))).unwrap_or_default();
        let tools = if model.calls_tools == Some(false) { "  (no tools)" } else { "" };
        anstream::println!("{}", plain(&format!("{}{title}{size}{tools}", model.id)));
    }
}

fn gigabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_add(50_000_000) / 100_000_000;
    format!("{}.{} GB", tenths / 10, tenths % 10)
}

async fn add(args: AddArgs, session: &Session) -> Result<(), Failure> {
    let mut server = server(&args, session).await?;
    if let Some(key) = key(&args, &server)? {
        server["key"] = json!(key);
    }
    let model = match args.model {
        Some(model) => model,
        None => choose_model(&server, session).await?,
    };
    let params = json!({ "server": server, "model": model });
    let added =
        session.call("models.add", params).await.map_err(|failure| failure.calling(&FLAGS))?;
    if args.no_test {
        return session.tell(added, |_, _: ProvidersListResult| {
            anstream::println!("Added {}. Test it: rouse models test", plain(&args.provider));
            Ok(())
        });
    }
    if !session.json {
        anstream::println!("Added {}. Testing {} …", plain(&args.provider), plain(&model));
    }
    let (provider, model) = (Some(args.provider.clone()), Some(model));
    let tested =
        test(ModelsTestParams { provider, model, make_default: Some(true) }, session).await?;
    if session.json {
        return Ok(());
    }
    let name = plain(&args.provider);
    match tested.verdict {
        ModelTestVerdict::Failed => anstream::println!(
            "{name} is set up. A provider that answers stays in use. Test again: rouse models test {name}"
        ),
        _ => anstream::println!("{name} is in use from now on."),
    }
    answered(tested.verdict)
}

/// The server that the flags and the presets name.
async fn server(args: &AddArgs, session: &Session) -> Result<Value, Failure> {
    let known: ModelsProvidersResult =
        serde_json::from_value(session.call("models.providers", json!({})).await?)?;
    let preset = known.presets.iter().find(|preset| preset.name == args.provider);
    let url = args.url.as_deref().or(preset.map(|preset| preset.base_url.as_str()));
    let Some(url) = url else {
        let names: Vec<&str> = known.presets.iter().map(|preset| preset.name.as_str()).collect();
        return Err(Failure::input(format!(
            "{} is none of {}. For another server give its address: --url https://…/v1",
            plain(&args.provider),
            names.join(", ")
        )));
    };
    let kind = args.kind.map(|kind| match kind {
        Kind::Openai => "openai",
        Kind::Anthropic => "anthropic",
    });
    let kind = kind.or(preset.map(|preset| preset.kind.as_str())).unwrap_or("openai");
    let mut server =
        json!({ "name": args.provider, "kind": kind, "baseUrl": url, "keyEnv": args.key_env });
    server["keyPage"] = json!(preset.and_then(|preset: &PresetView| preset.key_page.clone()));
    // A preset of this computer needs no key.
    server["needsKey"] = json!(preset.is_none_or(|preset| preset.key_page.is_some()));
    Ok(server)
}

/// The key, from the keyboard or a pipe; none where the server needs none.
fn key(args: &AddArgs, server: &Value) -> Result<Option<String>, Failure> {
    let needs_key = server["needsKey"] == true && !args.no_key && args.key_env.is_none();
    if !needs_key {
        return Ok(None);
    }
    if let Some(page) = server["keyPage"].as_str().filter(|_| stdin().is_terminal()) {
        anstream::eprintln!("Create a key at {page} and paste it here.");
    }
    let may_lack_key = stdin().is_terminal() && is_on_this_computer(server);
    let or_none = if may_lack_key { " (Enter for none)" } else { "" };
    let key = read_value(&format!("the key for {}{or_none}", args.provider))?;
    match key.trim() {
        "" if may_lack_key => Ok(None),
        "" => Err(Failure::input(
            "no key was given. Type or pipe it; --key-env names a variable instead, --no-key says that the server needs none",
        )),
        key => Ok(Some(key.to_owned())),
    }
}

fn is_on_this_computer(server: &Value) -> bool {
    let url = server["baseUrl"].as_str().unwrap_or_default();
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["localhost", "127.", "[::1]"].iter().any(|here| host.starts_with(here))
}

/// Lets a person choose from the provider's own list.
async fn choose_model(server: &Value, session: &Session) -> Result<String, Failure> {
    let listed = session.call("models.list", json!({ "server": server })).await;
    let listed = listed.map_err(|failure| failure.calling(&FLAGS))?;
    let list: ModelsListResult = serde_json::from_value(listed)?;
    if list.models.is_empty() {
        let pull = if server["name"] == "ollama" { " Pull one: rouse models pull" } else { "" };
        return Err(Failure::Refused(format!("{} has no model yet.{pull}", list.provider)));
    }
    if !stdin().is_terminal() || session.json {
        let names: Vec<&str> = list.models.iter().take(5).map(|model| model.id.as_str()).collect();
        return Err(Failure::input(format!(
            "name a model with --model, such as {}",
            names.join(", ")
        )));
    }
    for (number, model) in list.models.iter().take(MOST_OFFERED).enumerate() {
        let title = model.title.as_deref().map(|title| format!("  {title}")).unwrap_or_default();
        anstream::eprintln!("{:>3}  {}", number + 1, plain(&format!("{}{title}", model.id)));
    }
    let rest = list.models.len().saturating_sub(MOST_OFFERED);
    if rest > 0 {
        anstream::eprintln!("     and {rest} more");
    }
    anstream::eprint!("Model (number or name) [1]: ");
    stderr().flush()?;
    let mut line = String::new();
    stdin().lock().read_line(&mut line)?;
    chosen(&list.models, line.trim())
}

/// The model that a number or a name means; the first without either.
fn chosen(models: &[ListedModelView], answer: &str) -> Result<String, Failure> {
    let number = if answer.is_empty() { Some(1) } else { answer.parse::<usize>().ok() };
    match number {
        None => Ok(answer.to_owned()),
        Some(number) => match number.checked_sub(1).and_then(|at| models.get(at)) {
            Some(model) => Ok(model.id.clone()),
            None => Err(Failure::input(format!("there is no number {number} in the list"))),
        },
    }
}

async fn test(wanted: ModelsTestParams, session: &Session) -> Result<ModelTestView, Failure> {
    let answer = session.call("models.test", json!(wanted)).await?;
    let result: ModelTestView = serde_json::from_value(answer.clone())?;
    session.tell(answer, |_, test: ModelTestView| {
        let name = format!("{} · {}", test.model, test.provider);
        anstream::println!("{}: {}", plain(&name), verdict(test.verdict));
        anstream::println!("{} ({} tokens)", plain(&test.words), test.tokens);
        Ok(())
    })?;
    Ok(result)
}

fn answered(verdict: ModelTestVerdict) -> Result<(), Failure> {
    match verdict {
        ModelTestVerdict::Failed => Err(Failure::Refused("The model does not answer.".to_owned())),
        _ => Ok(()),
    }
}

fn print_suggested(_: &Session, known: ModelsProvidersResult) -> Result<(), Failure> {
    let mut rows = table(&["MODEL", "DOWNLOAD", "LICENCE", "MEMORY"]);
    for model in known.suggested {
        let memory = format!("{} GB", model.memory_gb);
        rows.add_row([model.name, gigabytes(model.bytes), model.licence, memory]);
    }
    print(&rows);
    anstream::println!(
        "Pull one: rouse models pull NAME. Size and licence of others: https://ollama.com/library"
    );
    Ok(())
}

/// Pulls a model and shows how far it is. Ctrl+C cancels the pull.
#[expect(clippy::disallowed_methods, reason = "progress is looked at now and then")]
async fn pull(model: &str, session: &Session) -> Result<(), Failure> {
    let begun = session.call("models.pull", json!({ "model": model })).await;
    let begun = begun.map_err(|failure| failure.calling(&[("model", "MODEL")]))?;
    let mut view: PullView = serde_json::from_value(begun)?;
    let mut shown = ProgressLine::default();
    while view.state == PullState::Running {
        if !session.json {
            shown.show(&view);
        }
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {
                session.call("models.cancelPull", json!({})).await?;
            }
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        let status = session.call("models.pullStatus", json!({})).await?;
        let status: ModelsPullStatusResult = serde_json::from_value(status)?;
        view = status
            .pull
            .ok_or_else(|| Failure::Refused("The pull is gone: Rouse was restarted.".to_owned()))?;
    }
    shown.end();
    let answer = serde_json::to_value(&view)?;
    session.tell(answer, |_, view: PullView| {
        if view.state == PullState::Done {
            anstream::println!(
                "{} is there. Use it: rouse models add ollama --model {}",
                view.model,
                view.model
            );
        }
        Ok(())
    })?;
    match view.state {
        PullState::Done | PullState::Running => Ok(()),
        PullState::Cancelled => Err(Failure::Refused(
            "Cancelled. What was pulled stays; the next pull goes on from there.".to_owned(),
        )),
        PullState::Failed => Err(Failure::Refused(view.problem.unwrap_or_default())),
    }
}

/// One line on standard error that shows how far a pull is.
#[derive(Default)]
struct ProgressLine {
    last: String,
}

impl ProgressLine {
    fn show(&mut self, view: &PullView) {
        let line = progress(view);
        if line != self.last {
            let is_terminal = stderr().is_terminal();
            let (begin, end) = if is_terminal { ("\r\u{1b}[K", "") } else { ("", "\n") };
            anstream::eprint!("{begin}{line}{end}");
            // silent-ok: the progress is for whoever looks on.
            let _ = stderr().flush();
            self.last = line;
        }
    }

    fn end(&self) {
        if !self.last.is_empty() && stderr().is_terminal() {
            anstream::eprintln!();
        }
    }
}

fn progress(view: &PullView) -> String {
    if view.of_bytes == 0 {
        return format!("{}: {}", plain(&view.model), plain(&view.step));
    }
    let percent = view.bytes.saturating_mul(100) / view.of_bytes;
    format!("{}: {percent} % of {}", plain(&view.model), gigabytes(view.of_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_is_chosen_by_number_or_name() {
        let model = |id: &str| ListedModelView {
            id: id.to_owned(),
            title: None,
            context_tokens: None,
            bytes: None,
            calls_tools: None,
        };
        let models = [model("a"), model("b")];
        for (answer, id) in [("", "a"), ("2", "b"), ("other", "other")] {
            assert_eq!(chosen(&models, answer).expect("a model"), id, "{answer}");
        }
        assert!(chosen(&models, "3").is_err() && chosen(&models, "0").is_err());
    }

    #[test]
    fn progress_is_told_in_percent() {
        let view = PullView {
            model: "qwen3.5:4b".to_owned(),
            state: PullState::Running,
            step: "pulling manifest".to_owned(),
            bytes: 850_000_000,
            of_bytes: 3_400_000_000,
            problem: None,
        };
        assert_eq!(progress(&view), "qwen3.5:4b: 25 % of 3.4 GB");
        let begun = PullView { of_bytes: 0, ..view };
        assert_eq!(progress(&begun), "qwen3.5:4b: pulling manifest");
    }
}
