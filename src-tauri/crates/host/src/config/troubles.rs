//! What the settings ask for and this computer does not have: a folder, a provider, a key, a program.
//!
//! Owns the look at it. It refuses nothing by itself: all of these may come later, and a start goes on without them where it
//! can. A change that names what is not there is refused, because whoever makes it is there to mend it. One could get it
//! wrong by making what is looked for: a look leaves nothing behind.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_agent::{HookCommand, SecretBook, is_usual_name};
use rouse_core::json_fields::FieldError;
use rouse_core::near;
use serde_json::Value;

use super::{Config, Env, OfMachine, ProviderEntry, environment};

/// Where a system bus listens (D-Bus Specification, "Well-known Message Bus Instances").
const SYSTEM_BUS: [&str; 2] = ["/var/run/dbus/system_bus_socket", "/run/dbus/system_bus_socket"];

/// All of them, by key.
pub(super) fn of(
    config: &Config,
    OfMachine { env, secrets, .. }: OfMachine<'_>,
) -> Vec<FieldError> {
    let mut found = Vec::new();
    found.extend(workspace_of(config));
    if let Some(name) = &config.model.provider {
        found.extend(provider(config, name));
    }
    for (name, entry) in &config.providers {
        let unset = entry.key_env.as_ref().filter(|name| !is_set(name, env));
        found.extend(unset.map(|variable| {
            trouble(&format!("providers.{name}.keyEnv"), format!("{variable} is not set"))
        }));
        found.extend(secrets.and_then(|secrets| trouble_with_key(name, entry, secrets)));
    }
    found.extend(search(config, env, secrets));
    found.extend(sleep(config, env));
    for (number, hook) in config.hooks.iter().enumerate() {
        let missing = missing_program(hook, env);
        found.extend(missing.map(|what| trouble(&format!("hooks[{number}].command"), what)));
    }
    found
}

/// Those that `change` itself brings, which made `config` of `before`.
pub(super) fn brought_by(
    change: &Value,
    (before, config): (&Config, &Config),
    OfMachine { env, secrets, .. }: OfMachine<'_>,
) -> Vec<FieldError> {
    let named = |pointer: &str| change.pointer(pointer).and_then(Value::as_str);
    let folder = named("/workspace").map(|path| environment::expand(path, env));
    let folder = folder.and_then(|path| trouble_with_folder(&path));
    let folder = folder.map(|what| trouble("workspace", what));
    let model = named("/model/provider").and_then(|name| provider(config, name));
    // Whatever else of a provider is changed, a key that is missing was missing before.
    let hangs_on = |entry: &ProviderEntry| (entry.key_secret.clone(), entry.base_url.clone());
    let keys = config.providers.iter().filter_map(|(name, entry)| {
        let is_as_before = before.providers.get(name).map(hangs_on) == Some(hangs_on(entry));
        if is_as_before { None } else { trouble_with_key(name, entry, secrets?) }
    });
    folder.into_iter().chain(model).chain(keys).collect()
}

/// Why the stored secret that a provider names is no key for it.
fn trouble_with_key(name: &str, entry: &ProviderEntry, secrets: &SecretBook) -> Option<FieldError> {
    let error = secrets.trouble_with_key(entry.key_secret.as_ref()?, &entry.base_url)?;
    Some(trouble(&format!("providers.{name}.keySecret"), error.to_string()))
}

/// Why the search provider of the settings cannot be asked: its address or its key is missing.
fn search(config: &Config, env: Env<'_>, secrets: Option<&SecretBook>) -> Option<FieldError> {
    let search = &config.search;
    let kind = search.provider?;
    let Some(url) = search.url.as_deref().or(kind.usual_url()) else {
        return Some(trouble("search.url", format!("{} needs its address", kind.title())));
    };
    let usual = kind.key_variable()?;
    if let Some(secret) = &search.key_secret {
        let error = secrets?.trouble_with_key(secret, url)?;
        return Some(trouble("search.keySecret", error.to_string()));
    }
    let variable = search.key_env.as_deref().unwrap_or(usual);
    (!is_set(variable, env)).then(|| trouble("search.keyEnv", format!("{variable} is not set")))
}

/// Why nobody answers who is called so; none when somebody may.
pub(crate) fn nobody_called(config: &Config, name: &str) -> Option<String> {
    if config.providers.contains_key(name) || is_usual_name(name) {
        return None;
    }
    let known = config.providers.keys().map(String::as_str);
    let meant = match near::nearest(name, known.clone()) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None if config.providers.is_empty() => "the file has no provider at all".to_owned(),
        None => format!("known here: {}", known.collect::<Vec<_>>().join(", ")),
    };
    Some(format!("there is no [providers.{name}]; {meant}"))
}

fn provider(config: &Config, name: &str) -> Option<FieldError> {
    nobody_called(config, name).map(|what| trouble("model.provider", what))
}

fn is_set(variable: &str, env: Env<'_>) -> bool {
    env(variable).is_some_and(|value| !value.trim().is_empty())
}

fn workspace_of(config: &Config) -> Option<FieldError> {
    trouble_with_folder(&config.workspace).map(|what| unusable_workspace(config, &what))
}

/// That nobody can be asked to keep this computer awake.
fn sleep(config: &Config, env: Env<'_>) -> Option<FieldError> {
    let is_asked = config.keep_awake && cfg!(target_os = "linux");
    let has_bus = || {
        is_set("DBUS_SYSTEM_BUS_ADDRESS", env)
            || SYSTEM_BUS.iter().any(|socket| Path::new(socket).exists())
    };
    let what = "this computer has no system bus, so it may go to sleep during a run";
    (is_asked && !has_bus()).then(|| trouble("system.keepAwake", what.to_owned()))
}

/// A complaint about the workspace, under the key that it comes from.
pub(super) fn unusable_workspace(config: &Config, what: &str) -> FieldError {
    let (key, by) = config.workspace_key();
    let by = by.map_or_else(String::new, |name| format!(" ({name} names it)"));
    trouble(key, format!("{what}{by}"))
}

/// Why `path` cannot be the folder of the file tools; none when it can, or can be made.
pub(super) fn trouble_with_folder(path: &Path) -> Option<String> {
    let shown = path.display();
    match fs::read_dir(path) {
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let error = try_to_make(path).err()?;
            Some(format!("{shown} is not there and cannot be made: {error}"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Some(format!("{shown} is no folder"))
        }
        Err(error) => Some(format!("{shown} cannot be read: {error}")),
    }
}

/// Whether a folder could be made in the nearest one that is there. Systems say so only to who tries.
fn try_to_make(path: &Path) -> io::Result<()> {
    let around = |path: &&Path| !path.as_os_str().is_empty() && path.symlink_metadata().is_ok();
    let nearest = path.ancestors().skip(1).find(around);
    let nearest = nearest.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let attempt = nearest.join(format!(".rouse-was-here-{}", std::process::id()));
    fs::create_dir(&attempt)?;
    fs::remove_dir(&attempt)
}

/// Why a hook cannot run. A bare name is looked for where the system would look for it.
fn missing_program(hook: &HookCommand, env: Env<'_>) -> Option<String> {
    let program = hook.command.first()?;
    let path = Path::new(program);
    if path.is_absolute() {
        return match is_program(path) {
            true => None,
            false if path.exists() => Some(format!("{program} is no program that can be run")),
            false => Some(format!("there is no program {program}")),
        };
    }
    let folders = env("PATH")?;
    let is_there = std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)));
    (!is_there).then(|| format!("there is no program {program} in the folders of PATH"))
}

fn is_program(path: &Path) -> bool {
    let mut with_suffix = path.as_os_str().to_owned();
    with_suffix.push(EXE_SUFFIX);
    [path, Path::new(&with_suffix)].into_iter().any(can_be_run)
}

#[cfg(unix)]
fn can_be_run(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn can_be_run(path: &Path) -> bool {
    path.is_file()
}

fn trouble(path: &str, message: String) -> FieldError {
    FieldError { path: path.to_owned(), message }
}
