//! Availability of folders, providers, keys, channels and programs that the settings name.
//!
//! Never refuses the file: a missing part may appear later, and Rouse starts without it. A change that names a missing part
//! is refused, because the person who makes the change can correct it.
//! Pitfall: creating a folder to test it; the test leaves nothing behind.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_agent::{HookCommand, SecretBook, is_known_provider_name};
use rouse_core::channel::{DeliverTo, Recipient, RouteProblem};
use rouse_core::json_fields::FieldError;
use rouse_core::settings::ProviderSection;
use rouse_core::text::nearest;
use serde_json::Value;

use super::environment::{self, Environment};
use super::values::{Config, MachineFacts};
use crate::channels::directory;

/// Sockets of the system bus (D-Bus Specification, "Well-known Message Bus Instances").
const SYSTEM_BUS: [&str; 2] = ["/var/run/dbus/system_bus_socket", "/run/dbus/system_bus_socket"];

/// Missing parts by key.
pub(super) fn missing_parts(
    config: &Config,
    MachineFacts { env, secrets, recipients, .. }: MachineFacts<'_>,
) -> Vec<FieldError> {
    let mut found = Vec::new();
    found.extend(workspace_problem(config));
    if let Some(name) = &config.model.provider {
        found.extend(provider_problem(config, name));
    }
    for (name, entry) in &config.providers {
        let unset = entry.key_env.as_ref().filter(|name| !is_set(name, env));
        found.extend(unset.map(|variable| {
            problem(&format!("providers.{name}.keyEnv"), format!("{variable} is not set"))
        }));
        found.extend(secrets.and_then(|secrets| key_problem(name, entry, secrets)));
    }
    found.extend(search_problem(config, env, secrets));
    found.extend(keep_awake_problem(config, env));
    found.extend(default_channel_problems(config, None, recipients));
    for (number, hook) in config.hooks.iter().enumerate() {
        let missing = missing_program(hook, env);
        found.extend(missing.map(|text| problem(&format!("hooks[{number}].command"), text)));
    }
    found
}

/// Missing parts that `change` names; `before` and `config` are the settings before and after the change.
pub(super) fn missing_parts_of_change(
    change: &Value,
    before: &Config,
    config: &Config,
    MachineFacts { env, secrets, recipients, .. }: MachineFacts<'_>,
) -> Vec<FieldError> {
    let named = |pointer: &str| change.pointer(pointer).and_then(Value::as_str);
    let folder = named("/workspace").map(|path| environment::expand(path, env));
    let folder = folder.and_then(|path| folder_problem(&path));
    let folder = folder.map(|text| problem("workspace", text));
    let model = named("/model/provider").and_then(|name| provider_problem(config, name));
    // Only these two fields decide whether a key is missing.
    let key_fields = |entry: &ProviderSection| (entry.key_secret.clone(), entry.base_url.clone());
    let keys = config.providers.iter().filter_map(|(name, entry)| {
        let is_unchanged = before.providers.get(name).map(key_fields) == Some(key_fields(entry));
        if is_unchanged { None } else { key_problem(name, entry, secrets?) }
    });
    let channels = default_channel_problems(config, Some(before), recipients);
    folder.into_iter().chain(model).chain(keys).chain(channels).collect()
}

/// Why default channels cannot get messages, without those that `before` has too. A channel without a recipient is no
/// problem, because a chat is paired after the channel has become a default.
fn default_channel_problems(
    config: &Config,
    before: Option<&Config>,
    recipients: Option<&[Recipient]>,
) -> Vec<FieldError> {
    let Some(recipients) = recipients else { return Vec::new() };
    let channels = directory(config, recipients, false);
    let known: Vec<_> = before.into_iter().flat_map(default_targets).collect();
    let is_new = |entry: &(&str, &String)| !known.contains(entry);
    let cause = |target: &String| {
        let (name, to) =
            target.split_once(':').map_or((target.as_str(), None), |(name, to)| (name, Some(to)));
        let cause = channels.resolve(name, to).err();
        cause.filter(|cause| !matches!(cause, RouteProblem::NoRecipient { .. }))
    };
    let new = default_targets(config).into_iter().filter(is_new);
    new.filter_map(|(key, target)| Some(problem(key, cause(target)?.to_string()))).collect()
}

/// The default channels of the settings, each with its key.
fn default_targets(config: &Config) -> Vec<(&'static str, &String)> {
    let DeliverTo { reports, failures, approvals } = &config.deliver_to;
    let lists = [
        ("deliverTo", reports),
        ("deliverFailuresTo", failures),
        ("deliverApprovalsTo", approvals),
    ];
    let entries = lists
        .into_iter()
        .flat_map(|(key, list)| list.iter().flatten().map(move |target| (key, target)));
    entries.collect()
}

/// Why the stored secret of a provider is no key for its address.
fn key_problem(name: &str, entry: &ProviderSection, secrets: &SecretBook) -> Option<FieldError> {
    let error = secrets.key_error(entry.key_secret.as_ref()?, &entry.base_url)?;
    Some(problem(&format!("providers.{name}.keySecret"), error.to_string()))
}

/// Why web search cannot work: the address or the key of the provider is missing.
fn search_problem(
    config: &Config,
    env: Environment<'_>,
    secrets: Option<&SecretBook>,
) -> Option<FieldError> {
    let search = &config.search;
    let kind = search.provider?;
    let Some(url) = search.url.as_deref().or(kind.default_url()) else {
        return Some(problem("search.url", format!("{} needs its address", kind.title())));
    };
    let usual = kind.key_variable()?;
    if let Some(secret) = &search.key_secret {
        let error = secrets?.key_error(secret, url)?;
        return Some(problem("search.keySecret", error.to_string()));
    }
    let variable = search.key_env.as_deref().unwrap_or(usual);
    (!is_set(variable, env)).then(|| problem("search.keyEnv", format!("{variable} is not set")))
}

/// Why there is no provider with this name; none when there is.
pub(crate) fn unknown_provider(config: &Config, name: &str) -> Option<String> {
    if config.providers.contains_key(name) || is_known_provider_name(name) {
        return None;
    }
    let known = config.providers.keys().map(String::as_str);
    let suggestion = match nearest(name, known.clone()) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None if config.providers.is_empty() => "the file has no provider at all".to_owned(),
        None => format!("known here: {}", known.collect::<Vec<_>>().join(", ")),
    };
    Some(format!("there is no [providers.{name}]; {suggestion}"))
}

fn provider_problem(config: &Config, name: &str) -> Option<FieldError> {
    unknown_provider(config, name).map(|text| problem("model.provider", text))
}

fn is_set(variable: &str, env: Environment<'_>) -> bool {
    env(variable).is_some_and(|value| !value.trim().is_empty())
}

fn workspace_problem(config: &Config) -> Option<FieldError> {
    folder_problem(&config.workspace).map(|text| unusable_workspace(config, &text))
}

/// Why this computer cannot be kept awake.
fn keep_awake_problem(config: &Config, env: Environment<'_>) -> Option<FieldError> {
    let needs_bus = config.system.keep_awake && cfg!(target_os = "linux");
    let has_bus = || {
        is_set("DBUS_SYSTEM_BUS_ADDRESS", env)
            || SYSTEM_BUS.iter().any(|socket| Path::new(socket).exists())
    };
    let text = "this computer has no system bus, so it may go to sleep during a run";
    (needs_bus && !has_bus()).then(|| problem("system.keepAwake", text.to_owned()))
}

/// An error about the workspace, under the key of the workspace.
pub(super) fn unusable_workspace(config: &Config, text: &str) -> FieldError {
    let (key, variable) = config.workspace_key();
    let source = variable.map_or_else(String::new, |name| format!(" ({name} names it)"));
    problem(key, format!("{text}{source}"))
}

/// Why `path` cannot be the folder of the file tools; none when it can, or can be created.
pub(super) fn folder_problem(path: &Path) -> Option<String> {
    let shown = path.display();
    match fs::read_dir(path) {
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let error = try_create(path).err()?;
            Some(format!("{shown} does not exist and cannot be created: {error}"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Some(format!("{shown} is not a folder"))
        }
        Err(error) => Some(format!("{shown} cannot be read: {error}")),
    }
}

/// Creates and removes a folder in the nearest existing parent of `path`.
fn try_create(path: &Path) -> io::Result<()> {
    let exists = |path: &&Path| !path.as_os_str().is_empty() && path.symlink_metadata().is_ok();
    let parent = path.ancestors().skip(1).find(exists);
    let parent = parent.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let attempt = parent.join(format!(".rouse-write-test-{}", std::process::id()));
    fs::create_dir(&attempt)?;
    fs::remove_dir(&attempt)
}

/// Why a hook cannot run. A bare name is searched in `PATH`.
fn missing_program(hook: &HookCommand, env: Environment<'_>) -> Option<String> {
    let program = hook.command.first()?;
    let path = Path::new(program);
    if path.is_absolute() {
        let text = if path.exists() { "is not executable" } else { "does not exist" };
        return (!is_program(path)).then(|| format!("the program {program} {text}"));
    }
    let folders = env("PATH")?;
    let exists = std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)));
    (!exists).then(|| format!("the program {program} is not in the folders of PATH"))
}

fn is_program(path: &Path) -> bool {
    let mut with_suffix = path.as_os_str().to_owned();
    with_suffix.push(EXE_SUFFIX);
    [path, Path::new(&with_suffix)].into_iter().any(is_executable)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

fn problem(path: &str, message: String) -> FieldError {
    FieldError { path: path.to_owned(), message }
}
