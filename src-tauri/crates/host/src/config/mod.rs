//! The settings: `config.toml`, with environment variables on top.
//!
//! Owns what each key means and its default. Every key that is read changes behaviour; every key that is not known is
//! left alone in the file and told, and a wrong value is refused with the key, what was found and what was expected.

mod file;
mod on_disk;
mod names;
mod places;
mod patch;
mod environment;
mod heartbeat;
mod hooks;
mod search;
mod tools;
mod troubles;
mod view;
#[cfg(test)]
mod tests;

pub use file::{ConfigError, ConfigFile, Misplaced};
pub use names::{is_setting, setting_meant};
pub(crate) use search::SearchConfig;
pub(crate) use tools::ToolLimits;
pub(crate) use troubles::nobody_called;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use rouse_agent::ProviderKind;
use rouse_agent::{HookCommand, Price, SecretBook, is_secret_name};
use rouse_core::day_hours::DayHours;
use rouse_core::json_fields::{FieldError, Fields, kind_of};
use rouse_core::model::Effort;
use rouse_core::money::{Limit, MicroUsd, read_tokens};
use rouse_core::quiet::QuietHours;
use rouse_core::schedule::Zones;
use serde_json::Value;

/// The settings in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Scheduling.
    pub cron: CronConfig,
    /// The heartbeat.
    pub heartbeat: HeartbeatConfig,
    /// When notifications wait for the morning; never when none.
    pub quiet_hours: Option<QuietHours>,
    /// Which model.
    pub model: ModelConfig,
    /// Providers by name.
    pub providers: BTreeMap<String, ProviderEntry>,
    /// The folder that file tools may see; in risky mode the wider one.
    pub workspace: PathBuf,
    /// Where the person has opened the workspace wider than is safe: the one that it would be otherwise.
    pub narrow_workspace: Option<PathBuf>,
    /// Tools.
    pub tools: ToolLimits,
    /// The search provider.
    pub search: SearchConfig,
    /// Commands that are told of a step of a run, or asked about it; in force from the next start on.
    pub hooks: Vec<HookCommand>,
    /// What is kept.
    pub retention: RetentionConfig,
    /// What all runs together may spend on a day.
    pub budget: Limit,
    /// The person's own prices, by the names of models.
    pub prices: BTreeMap<String, Price>,
    /// Whether the computer is kept awake while a run is at work.
    pub keep_awake: bool,
    /// The port of the loopback server; the next free one when it is taken.
    pub port: u16,
    /// Dotted keys that an environment variable overrides, with its name.
    pub overridden: Vec<(&'static str, &'static str)>,
}

impl Config {
    /// Whether the person has opened the workspace wider than is safe.
    #[must_use]
    pub fn is_risky_workspace(&self) -> bool {
        self.narrow_workspace.is_some()
    }

    /// The workspace as it is without risky mode, and the wider one where that is on.
    fn workspaces(&self) -> (&Path, Option<&Path>) {
        match &self.narrow_workspace {
            Some(narrow) => (narrow, Some(&self.workspace)),
            None => (&self.workspace, None),
        }
    }

    /// The key that the workspace comes from, and the environment variable that overrides it, if one does.
    fn workspace_key(&self) -> (&'static str, Option<&'static str>) {
        let key = if self.is_risky_workspace() { "riskyWorkspace.root" } else { "workspace" };
        (key, self.overridden.iter().find(|(of, _)| *of == key).map(|(_, name)| *name))
    }
}

/// Scheduling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronConfig {
    /// The kill switch.
    pub enabled: bool,
    /// Most runs at work at the same time.
    pub max_concurrent_runs: u32,
}

/// The heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatConfig {
    /// On or off.
    pub enabled: bool,
    /// Milliseconds between beats.
    pub every_ms: i64,
    /// When it may beat by itself; always when none.
    pub active_hours: Option<DayHours>,
    /// The person's own words about every turn of the main session.
    pub prompt: Option<String>,
    /// Skills that every turn of the main session is told of, answers in the chat among them.
    pub skills: Vec<String>,
    /// The model of these turns; the usual one when none.
    pub model: Option<String>,
}

/// What is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionConfig {
    /// The newest runs of each job.
    pub runs_per_job: u32,
    /// The newest messages of each job's session.
    pub messages_per_session: u32,
    /// With more than so many megabytes in use, the oldest runs of all go as well.
    pub max_database_mb: u32,
}

/// Which model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelConfig {
    /// The provider's name; none: the best one found.
    pub provider: Option<String>,
    /// The model's name; none: the provider's own choice.
    pub name: Option<String>,
    /// How long a run of a job waits in all for models that cannot answer for now, in seconds; 0: not at all.
    pub patience_seconds: u32,
}

/// A provider's outage is usually over within minutes.
const PATIENCE_SECONDS: u32 = 900;

impl Default for ModelConfig {
    fn default() -> Self {
        Self { provider: None, name: None, patience_seconds: PATIENCE_SECONDS }
    }
}

/// A provider as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEntry {
    /// Its wire format.
    pub kind: ProviderKind,
    /// Where it is.
    pub base_url: String,
    /// Its model.
    pub model: String,
    /// The environment variable that holds its key.
    pub key_env: Option<String>,
    /// The stored secret that is its key.
    pub key_secret: Option<String>,
    /// How many tokens its model reads at once.
    pub context_tokens: Option<u32>,
    /// How much its models reason, where a job does not say it.
    pub effort: Option<Effort>,
}

/// The bytes that a largest file to read may have.
const READ_FILE_BYTES: RangeInclusive<i64> = 1..=1_073_741_824;

/// The longest name of a variable with a key.
const LONGEST_VARIABLE: usize = 64;

/// The port that is tried first.
pub(crate) const DEFAULT_PORT: u16 = 7717;

type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What settings are read with besides their file.
#[derive(Clone, Copy)]
pub struct OfMachine<'a> {
    /// Environment variables by name.
    pub env: Env<'a>,
    /// The zones that there are.
    pub zones: &'a Zones,
    /// The stored secrets. None: they are not at hand, and nothing is said of them.
    pub secrets: Option<&'a SecretBook>,
}

/// Reads settings from their JSON form. `home` fills the default of the workspace; what it looked for goes into `asked`.
fn read(
    document: Value,
    default_workspace: &Path,
    OfMachine { env, zones, .. }: OfMachine<'_>,
    asked: &mut Vec<String>,
) -> Result<Config, Vec<FieldError>> {
    let mut errors = Vec::new();
    let mut fields = Fields::noting("", document, &mut errors, asked);
    let mut risky = fields.object("riskyWorkspace", environment::read_risky).unwrap_or_default();
    let hooks = fields.take("hooks");
    let mut config = Config {
        cron: fields
            .object("cron", read_cron)
            .unwrap_or(CronConfig { enabled: true, max_concurrent_runs: 2 }),
        heartbeat: fields
            .object("heartbeat", |fields| heartbeat::read(fields, zones))
            .unwrap_or(HeartbeatConfig::DEFAULT),
        quiet_hours: hours(&mut fields, "quietHours", |hours| QuietHours::read(hours, Some(zones))),
        model: fields.object("model", read_model).unwrap_or_default(),
        providers: fields.object("providers", read_providers).unwrap_or_default(),
        workspace: fields
            .text("workspace")
            .map_or_else(|| default_workspace.to_owned(), |path| environment::expand(&path, env)),
        narrow_workspace: None,
        tools: fields.object("tools", tools::read).unwrap_or(ToolLimits::DEFAULT),
        search: fields.object("search", search::read).unwrap_or_default(),
        hooks: Vec::new(),
        retention: fields.object("retention", read_retention).unwrap_or(RetentionConfig::DEFAULT),
        budget: fields.object("budget", read_budget).unwrap_or_default(),
        prices: fields.object("prices", read_prices).unwrap_or_default(),
        keep_awake: fields
            .object("system", |mut system| system.boolean("keepAwake"))
            .flatten()
            .unwrap_or(false),
        port: fields
            .object("gateway", |mut gateway| gateway.integer("port", 0..=65_535))
            .flatten()
            .and_then(|port| u16::try_from(port).ok())
            .unwrap_or(DEFAULT_PORT),
        overridden: Vec::new(),
    };
    environment::lay_over(&mut config, env, &mut errors);
    risky.override_by_environment(&mut config, env, &mut errors);
    let is_above = risky.is_above();
    risky.widen(&mut config, env);
    refuse_own_data(&config, is_above, default_workspace, &mut errors);
    refuse_elsewhere(&config, &mut errors);
    config.hooks = hooks::read(hooks, &mut errors, asked);
    let data = default_workspace.parent().unwrap_or(default_workspace);
    let home = environment::home(env).unwrap_or_default();
    let folders = hooks::Folders { data, workspace: &config.workspace, home };
    hooks::refuse_workspace(&config.hooks, &folders, &mut errors);
    if errors.is_empty() { Ok(config) } else { Err(errors) }
}

/// File tools see the whole workspace, so it must not hold the database and the token. The default lies inside the data
/// folder, beside them, so the folder above it (`is_above`) is none for the risky mode.
fn refuse_own_data(
    config: &Config,
    is_above: bool,
    default_workspace: &Path,
    errors: &mut Vec<FieldError>,
) {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(data) = default_workspace.parent() else { return };
    if real(data).starts_with(real(&config.workspace)) {
        let (path, named) = config.workspace_key();
        let named = named.map_or_else(String::new, |name| format!(", as {name} says"));
        let data = data.display();
        let message = if is_above {
            format!(
                "must name the wider folder, here or as RISKY_WORKSPACE_ROOT: the one that holds the workspace is Rouse's own data folder {data}"
            )
        } else {
            format!("must not be or contain Rouse's own data folder {data}{named}")
        };
        errors.push(FieldError { path: path.to_owned(), message });
    }
}

/// A path from where Rouse was started is another folder at each start, in which agents find nothing of what they wrote.
fn refuse_elsewhere(config: &Config, errors: &mut Vec<FieldError>) {
    if !config.workspace.has_root() {
        let (path, named) = config.workspace_key();
        let named = named.map_or_else(String::new, |name| format!(", as {name} says"));
        let message = format!(
            "{} is another folder wherever Rouse is started; write the whole path, or one that begins with ~/{named}",
            config.workspace.display()
        );
        errors.push(FieldError { path: path.to_owned(), message });
    }
}

impl HeartbeatConfig {
    const DEFAULT: Self = Self {
        enabled: true,
        every_ms: 30 * 60_000,
        active_hours: None,
        prompt: None,
        skills: Vec::new(),
        model: None,
    };
}

impl RetentionConfig {
    const DEFAULT: Self =
        Self { runs_per_job: 2_000, messages_per_session: 2_000, max_database_mb: 1_024 };
}

/// Hours of the day, which are a table; who writes them as on the command line is told which.
fn hours<T>(
    fields: &mut Fields<'_>,
    key: &str,
    read: impl FnOnce(Fields<'_>) -> Option<T>,
) -> Option<T> {
    if fields.is_object(key) {
        return fields.object(key, read).flatten();
    }
    let found = kind_of(&fields.take(key)?);
    let wanted = "expected a table such as { from = \"22:00\", to = \"07:00\" }";
    fields.complain(key, format!("{wanted}, found {found}"));
    None
}

fn read_cron(mut fields: Fields<'_>) -> CronConfig {
    CronConfig {
        enabled: fields.boolean("enabled").unwrap_or(true),
        max_concurrent_runs: whole(&mut fields, "maxConcurrentRuns", 1, 1_000).unwrap_or(2),
    }
}

fn read_retention(mut fields: Fields<'_>) -> RetentionConfig {
    let defaults = RetentionConfig::DEFAULT;
    RetentionConfig {
        runs_per_job: whole(&mut fields, "runsPerJob", 10, 1_000_000)
            .unwrap_or(defaults.runs_per_job),
        messages_per_session: whole(&mut fields, "messagesPerSession", 10, 1_000_000)
            .unwrap_or(defaults.messages_per_session),
        max_database_mb: whole(&mut fields, "maxDatabaseMb", 8, 1_000_000)
            .unwrap_or(defaults.max_database_mb),
    }
}

fn read_budget(mut fields: Fields<'_>) -> Limit {
    Limit {
        tokens: read_tokens(&mut fields, "tokensPerDay"),
        usd: MicroUsd::read(&mut fields, "usdPerDay"),
    }
}

/// `[prices."gpt-5"]`: a model without what it costs to send and to receive has no price.
fn read_prices(mut fields: Fields<'_>) -> BTreeMap<String, Price> {
    let mut prices = BTreeMap::new();
    for name in fields.keys() {
        let price = fields.object(&name, |mut price| Price {
            input: required_price(&mut price, "input"),
            cached: read_price(&mut price, "cached"),
            output: required_price(&mut price, "output"),
        });
        if let Some(price) = price {
            prices.insert(name, price);
        }
    }
    prices
}

fn required_price(fields: &mut Fields<'_>, key: &str) -> f64 {
    read_price(fields, key).unwrap_or_else(|| {
        fields.complain_once(key, "is required: expected dollars per million tokens");
        0.0
    })
}

fn read_price(fields: &mut Fields<'_>, key: &str) -> Option<f64> {
    let value = fields.take(key)?;
    let price = value.as_f64().filter(|price| (0.0..=100_000.0).contains(price));
    if price.is_none() {
        fields.complain(key, format!("expected dollars per million tokens, found {value}"));
    }
    price
}

fn read_model(mut fields: Fields<'_>) -> ModelConfig {
    ModelConfig {
        provider: fields.text("provider"),
        name: fields.text("name"),
        patience_seconds: whole(&mut fields, "patienceSeconds", 0, 86_400)
            .unwrap_or(PATIENCE_SECONDS),
    }
}

fn read_providers(mut fields: Fields<'_>) -> BTreeMap<String, ProviderEntry> {
    let mut providers = BTreeMap::new();
    for name in fields.keys() {
        let entry = fields.object(&name, |mut entry| ProviderEntry {
            kind: entry
                .choice("kind", &ProviderKind::ALL.map(|kind| (kind.name(), kind)))
                .unwrap_or(ProviderKind::OpenAiChat),
            base_url: read_url(&mut entry),
            model: entry.required_text("model"),
            key_secret: read_key_secret(&mut entry),
            key_env: read_key_env(&mut entry),
            context_tokens: whole(&mut entry, "contextTokens", 2_000, 10_000_000),
            effort: entry.choice("effort", &Effort::ALL.map(|effort| (effort.name(), effort))),
        });
        if let Some(entry) = entry {
            providers.insert(name, entry);
        }
    }
    providers
}

/// The name of a secret; a key comes from one place.
pub(super) fn read_key_secret(entry: &mut Fields<'_>) -> Option<String> {
    let has_variable = !entry.text_is_absent("keyEnv");
    let name = entry.text("keySecret")?;
    if !is_secret_name(&name) || looks_like_key(&name) {
        // What stands there may be the key itself, so it is not quoted.
        let wanted = "expected the name of a stored secret (1 to 64 small letters, digits, _ and -), never the key itself";
        entry.complain("keySecret", wanted);
    } else if has_variable {
        entry.complain("keySecret", "stands beside keyEnv: a key comes from one of the two");
    }
    Some(name)
}

/// The name of a variable. What is none may be the key itself, so it is not quoted, and nothing starts with it.
pub(super) fn read_key_env(entry: &mut Fields<'_>) -> Option<String> {
    let name = entry.text("keyEnv")?;
    let spelled = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = name.chars().all(spelled)
        && name.len() <= LONGEST_VARIABLE
        && !name.starts_with(|c: char| c.is_ascii_digit());
    let is_shouted = !name.chars().any(|c| c.is_ascii_lowercase());
    if !is_name || (looks_like_key(&name) && !is_shouted) {
        let wanted = "expected the name of a variable that holds the key, such as OPENAI_API_KEY, never the key itself";
        entry.complain("keyEnv", wanted);
    }
    Some(name)
}

/// Whether a text that could be a name is more likely the key itself.
fn looks_like_key(name: &str) -> bool {
    let digits = name.chars().filter(char::is_ascii_digit).count();
    name.starts_with("sk-") || (name.len() >= 20 && digits >= 4)
}

fn read_url(fields: &mut Fields<'_>) -> String {
    let url = fields.required_text("baseUrl");
    if !url.is_empty() && !url.starts_with("http://") && !url.starts_with("https://") {
        fields.complain("baseUrl", "expected an address that begins with http:// or https://");
    }
    url
}

fn whole(fields: &mut Fields<'_>, key: &str, least: i64, most: i64) -> Option<u32> {
    fields.integer(key, least..=most).and_then(|number| u32::try_from(number).ok())
}
