//! Reads the settings by their JSON schema.
//!
//! Owns the formats of texts and the rules across fields. Text that may be an API key is never quoted in an error.

use std::sync::LazyLock;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::SettingsDocument;
use super::computer::{SshAddress, remote_program_violation};
use super::host_name::host_name_violation;
use super::registry_address::registry_address_violation;
use crate::channel::{channel_section_violations, channel_target_violation};
use crate::json_fields::{DocumentSchema, FieldError};
use crate::schedule::{Zones, parse_duration};
use crate::skills::is_skill_name;
use crate::time::{lower_days, time_of_day};

/// The formats of texts, checked by `format_violation`.
const FORMATS: [&str; 12] = [
    "channel-target",
    "heartbeat-interval",
    "hook-timeout",
    "host-name",
    "registry-address",
    "remote-program",
    "secret-name",
    "skill-name",
    "ssh-address",
    "time-of-day",
    "variable-name",
    "web-address",
];

/// Maximum bytes of the name of a stored secret or a variable.
const MAX_NAME: usize = 64;
const MIN_HEARTBEAT_MS: i64 = 60_000;
/// A run waits for a consulted hook.
const MAX_HOOK_TIMEOUT_MS: i64 = 10 * 60_000;

static SETTINGS: LazyLock<DocumentSchema> =
    LazyLock::new(|| DocumentSchema::of::<SettingsDocument>(&FORMATS, format_violation));

/// The JSON schema of the settings.
#[must_use]
pub fn settings_schema() -> &'static Value {
    &SETTINGS.schema
}

/// Reads the settings. Unknown keys are ignored.
///
/// # Errors
/// All violations with their paths.
pub fn read_settings(
    mut document: Value,
    zones: &Zones,
) -> Result<SettingsDocument, Vec<FieldError>> {
    if let Some(hours) = document.get_mut("quietHours") {
        lower_days(hours);
    }
    SETTINGS.normalise(&mut document);
    let violations = SETTINGS.violations(&document, violations_across_fields(&document, zones));
    if !violations.is_empty() {
        return Err(violations);
    }
    let mut settings: SettingsDocument =
        serde_json::from_value(document).expect("BUG: a valid document does not fit its type");
    if let Some(hours) = &mut settings.quiet_hours {
        hours.canonicalise(zones);
    }
    if let Some(hours) = &mut settings.heartbeat.active_hours {
        hours.canonicalise(zones);
    }
    Ok(settings)
}

fn violations_across_fields(document: &Value, zones: &Zones) -> Vec<FieldError> {
    let mut found = Vec::new();
    let mut add = |path: &str, errors: Vec<FieldError>| {
        found.extend(errors.into_iter().map(|error| FieldError {
            path: format!("{path}.{}", error.path),
            message: error.message,
        }));
    };
    add("quietHours", crate::time::quiet_hours_violations(&document["quietHours"], zones));
    let active_hours = &document["heartbeat"]["activeHours"];
    add("heartbeat.activeHours", crate::time::day_hours_violations(active_hours, zones));
    add("search", key_source_violation(&document["search"]));
    add("channels", channel_section_violations(&document["channels"]));
    for (name, provider) in document["providers"].as_object().into_iter().flatten() {
        add(&format!("providers.{name}"), key_source_violation(provider));
    }
    found
}

fn key_source_violation(section: &Value) -> Vec<FieldError> {
    let has_both = section["keyEnv"].is_string() && section["keySecret"].is_string();
    let message = "cannot be combined with keyEnv: a key has one source".to_owned();
    let violation = FieldError { path: "keySecret".to_owned(), message };
    if has_both { vec![violation] } else { Vec::new() }
}

fn format_violation(format: &str, text: &str) -> Option<String> {
    match format {
        "channel-target" => channel_target_violation(text),
        "heartbeat-interval" => match parse_duration(text) {
            Ok(MIN_HEARTBEAT_MS..) => None,
            Ok(_) => Some("must be at least one minute".to_owned()),
            Err(error) => Some(error.to_string()),
        },
        "hook-timeout" => {
            let is_valid = matches!(parse_duration(text), Ok(1..=MAX_HOOK_TIMEOUT_MS));
            (!is_valid).then(|| "expected a duration of at most 10m, such as 5s".to_owned())
        }
        "host-name" => host_name_violation(text),
        "registry-address" => registry_address_violation(text),
        "remote-program" => remote_program_violation(text),
        "secret-name" => (!is_secret_name(text) || looks_like_key(text)).then(|| {
            "expected the name of a stored secret (1 to 64 small letters, digits, _ and -), never the key itself".to_owned()
        }),
        "skill-name" => (!is_skill_name(text))
            .then(|| "expected names of skills: small letters, digits and hyphens".to_owned()),
        "ssh-address" => SshAddress::parse(text).err(),
        "time-of-day" => time_of_day(text.trim()).err(),
        "variable-name" => (!is_variable_name(text)).then(|| {
            "expected the name of a variable that holds the key, such as OPENAI_API_KEY, never the key itself".to_owned()
        }),
        _ => (!is_web_address(text))
            .then(|| "expected an address that begins with http:// or https://".to_owned()),
    }
}

/// Whether a text begins like an address of the web.
fn is_web_address(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// Whether `name` is allowed for a stored secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_valid)
}

fn is_variable_name(name: &str) -> bool {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_upper_case = !name.chars().any(|c| c.is_ascii_lowercase());
    !name.is_empty()
        && name.len() <= MAX_NAME
        && name.chars().all(is_valid)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && (is_upper_case || !looks_like_key(name))
}

/// Whether a text is more likely an API key than a name.
fn looks_like_key(name: &str) -> bool {
    let digits = name.chars().filter(char::is_ascii_digit).count();
    name.starts_with("sk-") || (name.len() >= 20 && digits >= 4)
}

pub(super) fn duration_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    parse_duration(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

pub(super) const fn hook_timeout_ms() -> i64 {
    10_000
}

pub(super) fn web_address(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "web-address" })
}
