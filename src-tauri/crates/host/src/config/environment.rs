//! What the environment says of the settings: variables over keys, and the folders that both of them name.
//!
//! Each variable is named in the sources; a wrong value is refused like a wrong key, under the name of the variable.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rouse_core::json_fields::{FieldError, Fields};

use super::{Config, Env, READ_FILE_BYTES};

/// How a switch is read, and what one is told who has written something else.
type Switch = (fn(&str) -> Option<bool>, &'static str);

const MODE: Switch = (yes_or_no, "true or false");
const FILE_MODE: Switch = (risky_or_safe, "risky or safe");

/// The wider folder that a person may open to the file tools.
#[derive(Default)]
pub(super) struct RiskyWorkspace {
    is_on: bool,
    /// The folder; the one that holds the workspace when none.
    root: Option<String>,
}

pub(super) fn read_risky(mut fields: Fields<'_>) -> RiskyWorkspace {
    RiskyWorkspace { is_on: fields.boolean("enabled").unwrap_or(false), root: fields.text("root") }
}

impl RiskyWorkspace {
    pub(super) fn override_by_environment(
        &mut self,
        config: &mut Config,
        env: Env<'_>,
        errors: &mut Vec<FieldError>,
    ) {
        let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        // Two names for one switch: the second counts only where the first is not set.
        let switch = [("RISKY_WORKSPACE_MODE", MODE), ("FILE_WORKSPACE_MODE", FILE_MODE)];
        let named = switch.into_iter().find_map(|(name, read)| Some((name, read, set(name)?)));
        if let Some((name, (read, expected), value)) = named {
            match read(&value) {
                Some(is_on) => self.is_on = is_on,
                None => errors.push(FieldError {
                    path: name.to_owned(),
                    message: format!("expected {expected}, found `{value}`"),
                }),
            }
            config.overridden.push(("riskyWorkspace.enabled", name));
        }
        if let Some(root) = set("RISKY_WORKSPACE_ROOT") {
            self.root = Some(root);
            config.overridden.push(("riskyWorkspace.root", "RISKY_WORKSPACE_ROOT"));
        }
    }

    /// Whether the mode is on and widens to the folder above the workspace, because none was named.
    pub(super) fn is_above(&self) -> bool {
        self.is_on && self.root.is_none()
    }

    /// Takes the wider folder for the workspace, where the mode is on.
    pub(super) fn widen(self, config: &mut Config, env: Env<'_>) {
        if !self.is_on {
            return;
        }
        config.narrow_workspace = Some(config.workspace.clone());
        match self.root {
            Some(root) => config.workspace = expand(&root, env),
            None => drop(config.workspace.pop()),
        }
    }
}

/// Lays the environment over the file.
pub(super) fn lay_over(config: &mut Config, env: Env<'_>, errors: &mut Vec<FieldError>) {
    let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    let mut wrong = |name: &str, expected: &str| {
        let found = env(name).unwrap_or_default();
        let message = format!("expected {expected}, found `{found}`");
        errors.push(FieldError { path: name.to_owned(), message });
    };
    match set("ROUSE_SKIP_CRON").map(|value| yes_or_no(&value)) {
        Some(Some(true)) => {
            config.cron.enabled = false;
            config.overridden.push(("cron.enabled", "ROUSE_SKIP_CRON"));
        }
        Some(Some(false)) | None => {}
        Some(None) => wrong("ROUSE_SKIP_CRON", "1 or 0"),
    }
    if let Some(value) = set("HEARTBEAT_ENABLED") {
        match yes_or_no(&value) {
            Some(enabled) => config.heartbeat.enabled = enabled,
            None => wrong("HEARTBEAT_ENABLED", "true or false"),
        }
        config.overridden.push(("heartbeat.enabled", "HEARTBEAT_ENABLED"));
    }
    if let Some(value) = set("HEARTBEAT_INTERVAL_MS") {
        match value.parse() {
            Ok(every_ms) if every_ms >= 60_000 => config.heartbeat.every_ms = every_ms,
            _ => wrong("HEARTBEAT_INTERVAL_MS", "milliseconds, at least 60000"),
        }
        config.overridden.push(("heartbeat.everyMs", "HEARTBEAT_INTERVAL_MS"));
    }
    let folders = ["FILE_WORKSPACE_ROOT", "CODEX_CWD"];
    if let Some((name, path)) = folders.into_iter().find_map(|name| Some((name, set(name)?))) {
        config.workspace = expand(&path, env);
        config.overridden.push(("workspace", name));
    }
    if let Some(value) = set("READ_FILE_MAX_BYTES") {
        match value.parse() {
            Ok(bytes) if READ_FILE_BYTES.contains(&bytes) => {
                config.tools.read_file_max_bytes = bytes.unsigned_abs();
            }
            _ => wrong("READ_FILE_MAX_BYTES", "a number of bytes from 1 to 1073741824"),
        }
        config.overridden.push(("tools.readFileMaxBytes", "READ_FILE_MAX_BYTES"));
    }
    if let Some(value) = set("RUN_COMMAND_TIMEOUT_MS") {
        match value.parse() {
            Ok(ms @ 1..=86_400_000) => config.tools.command_timeout = Duration::from_millis(ms),
            _ => wrong("RUN_COMMAND_TIMEOUT_MS", "milliseconds, at most 86400000 (a day)"),
        }
        config.overridden.push(("tools.runCommandTimeoutMs", "RUN_COMMAND_TIMEOUT_MS"));
    }
    if let Some(value) = set("MAX_MULTI_ACT_STEPS") {
        match value.parse::<u32>() {
            Ok(steps) if steps > 0 => config.tools.max_steps = steps.min(50),
            _ => wrong("MAX_MULTI_ACT_STEPS", "a number from 1 to 50"),
        }
        config.overridden.push(("tools.maxSteps", "MAX_MULTI_ACT_STEPS"));
    }
}

fn yes_or_no(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn risky_or_safe(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "risky" => Some(true),
        "safe" => Some(false),
        _ => None,
    }
}

/// The user's home, as far as the environment names it.
pub(super) fn home(env: Env<'_>) -> Option<String> {
    env("HOME").or_else(|| env("USERPROFILE"))
}

/// `~` and `~/` mean the user's home.
pub(super) fn expand(path: &str, env: Env<'_>) -> PathBuf {
    let rest = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (rest, home(env)) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}
