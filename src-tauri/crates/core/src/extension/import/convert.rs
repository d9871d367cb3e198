//! From a foreign definition to a proposed server.
//!
//! Owns the refusals: a secret or a placeholder outside variables and headers, and a program by a relative path. The
//! proposed server is confined, without hosts and folders; notes name what it may need. Pitfall: a relative path, which
//! means another file in the private folder of the server.

use std::collections::BTreeMap;

use super::foreign::ForeignDefinition;
use super::imported::ImportedServer;
use super::names::{reserved_note, shown};
use super::package_launcher::launcher_notes;
use super::placeholder::{TextPart, parts};
use super::secret_handles::{SecretHandles, SecretsAndNotes};
use super::secret_values::{
    holds_secret, is_absolute_path, is_path, is_secret_address, secret_argument,
};
use crate::extension::definition::{ServerDefinition, ServerTransport};
use crate::extension::name::ExtensionName;

/// The maximum of a start limit in seconds.
const MAX_START_SECONDS: u32 = 300;

/// The maximum of a call limit in seconds.
const MAX_CALL_SECONDS: u32 = 3_600;

/// Endings of scripts, for relative paths.
const SCRIPT_ENDINGS: [&str; 6] = [".js", ".mjs", ".cjs", ".ts", ".py", ".sh"];

/// The server, or why Rouse cannot run it, as sentences.
pub(super) fn convert(
    name: ExtensionName,
    original_name: &str,
    mut foreign: ForeignDefinition,
) -> Result<ImportedServer, String> {
    let mut notes = Vec::new();
    if !original_name.is_empty() && original_name != name.as_str() {
        notes.push(format!("The file calls the server {}.", shown(original_name)));
    }
    notes.extend(reserved_note(original_name));
    if foreign.is_disabled {
        notes.push("The server is disabled in the file.".to_owned());
    }
    notes.append(&mut foreign.notes);
    let is_enabled = !foreign.is_disabled;
    let start_limit = foreign.start_timeout_seconds;
    let call_limit = foreign.call_timeout_seconds;
    let mut secrets = SecretHandles::new(&name);
    let transport = match (foreign.command.take(), foreign.url.take()) {
        (Some(command), None) => {
            stdio_transport(&name, &command, foreign, &mut secrets, &mut notes)?
        }
        (None, Some(url)) => http_transport(&url, foreign.headers, &mut secrets, &mut notes)?,
        (Some(_), Some(_)) => return Err("The server has a command and an address.".to_owned()),
        (None, None) => return Err("The server has neither command nor address.".to_owned()),
    };
    let SecretsAndNotes { secrets, notes: value_notes } = secrets.finish();
    notes.extend(value_notes);
    let definition = ServerDefinition {
        start_timeout_seconds: start_limit.and_then(|limit| seconds(limit, MAX_START_SECONDS)),
        call_timeout_seconds: call_limit.and_then(|limit| seconds(limit, MAX_CALL_SECONDS)),
        ..ServerDefinition::new(transport)
    };
    let original_name = original_name.to_owned();
    Ok(ImportedServer { name, original_name, definition, is_enabled, secrets, notes })
}

fn stdio_transport(
    name: &ExtensionName,
    command: &str,
    foreign: ForeignDefinition,
    secrets: &mut SecretHandles<'_>,
    notes: &mut Vec<String>,
) -> Result<ServerTransport, String> {
    let variables: Vec<&str> = foreign.environment.keys().map(String::as_str).collect();
    let command = plain_text("The command", command, &[])?;
    if holds_secret(&command) {
        return Err("The command holds what looks like a key.".to_owned());
    }
    if command.contains(['/', '\\']) && !is_absolute_path(&command) {
        // The text stays out of the reason, because it may hold arguments.
        return Err("The command is a relative path. Write the absolute path, then import again."
            .to_owned());
    }
    let arguments =
        foreign.arguments.iter().enumerate().map(|(at, argument)| {
            plain_text(&format!("Argument {}", at + 1), argument, &variables)
        });
    let arguments: Vec<String> = arguments.collect::<Result<_, _>>()?;
    if let Some(at) = secret_argument(&arguments) {
        return Err(format!(
            "Argument {} holds what looks like a key. Rouse fills secrets only into variables and headers. If the server reads the key from a variable, write it there, then import again.",
            at + 1
        ));
    }
    let folder = foreign.folder.map(|folder| plain_text("`cwd`", &folder, &[])).transpose()?;
    if let Some(folder) = folder.as_deref().filter(|folder| !is_absolute_path(folder)) {
        notes.push(format!(
            "`cwd` is left out, because {} is a relative path. The server starts in its private folder.",
            shown(folder)
        ));
    }
    let folder = folder.filter(|folder| is_absolute_path(folder));
    let environment = fill_values(foreign.environment, secrets)?;
    notes.extend(path_notes(&arguments, folder.as_deref()));
    notes.extend(launcher_notes(name, &command, &arguments, &environment));
    Ok(ServerTransport::Stdio {
        command,
        arguments,
        environment,
        folder,
        folders: Vec::new(),
        hosts: Vec::new(),
        is_unconfined: false,
    })
}

fn http_transport(
    url: &str,
    headers: BTreeMap<String, String>,
    secrets: &mut SecretHandles<'_>,
    notes: &mut Vec<String>,
) -> Result<ServerTransport, String> {
    let url = plain_text("The address", url, &[])?;
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err("The address does not begin with https:// or http://.".to_owned());
    }
    if is_secret_address(&url) {
        return Err(
            "The address holds what looks like a key or a password. Rouse fills secrets only into variables and headers. Use a header, then import again."
                .to_owned(),
        );
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    if path.trim_end_matches('/').ends_with("/sse") {
        notes.push("The address ends with /sse, as with the old transport HTTP+SSE, which Rouse does not support. Use the Streamable HTTP address of the server if there is one.".to_owned());
    }
    Ok(ServerTransport::Http { url, headers: fill_values(headers, secrets)?, oauth: None })
}

/// Variables or headers with handles in the place of secrets.
fn fill_values(
    values: BTreeMap<String, String>,
    secrets: &mut SecretHandles<'_>,
) -> Result<BTreeMap<String, String>, String> {
    values
        .into_iter()
        .map(|(name, value)| secrets.fill(&name, &value).map(|value| (name, value)))
        .collect()
}

/// A text in which no secret can be filled: with the defaults of its placeholders. A placeholder of one of `variables`
/// stays, because the server gets the variable and fills it in.
fn plain_text(what: &str, text: &str, variables: &[&str]) -> Result<String, String> {
    let mut plain = String::new();
    for part in parts(text) {
        match part {
            TextPart::Literal(literal) => plain.push_str(literal),
            TextPart::Placeholder(placeholder) => match placeholder.default {
                _ if variables.contains(&placeholder.name) => plain.push_str(placeholder.whole),
                Some(default) => plain.push_str(default),
                None => {
                    return Err(format!(
                        "{what} holds `{}`. Rouse fills values only into variables and headers. Write the value, then import again.",
                        shown(placeholder.whole)
                    ));
                }
            },
        }
    }
    Ok(plain)
}

/// The notes about paths in arguments and about the working directory.
fn path_notes(arguments: &[String], folder: Option<&str>) -> Vec<String> {
    let is_script = |argument: &str| {
        let is_word = !argument.contains(['@', ':']) && !argument.starts_with('-');
        is_word && SCRIPT_ENDINGS.iter().any(|ending| argument.ends_with(ending))
    };
    let is_relative = |argument: &&String| {
        !is_absolute_path(argument) && (is_path(argument) || is_script(argument.as_str()))
    };
    let mut notes = Vec::new();
    let relative = listed(arguments.iter().filter(is_relative).map(String::as_str));
    if let (Some(paths), None) = (relative, folder) {
        notes.push(format!(
            "Relative paths start at the private folder of the server: {paths}. Write absolute paths."
        ));
    }
    let absolute = arguments.iter().map(String::as_str).filter(|text| is_absolute_path(text));
    if let Some(paths) = listed(folder.into_iter().chain(absolute)) {
        notes.push(format!(
            "A confined server reaches only its private folder and listed folders. It names {paths}: list folders with --folder."
        ));
    }
    notes
}

/// The first texts of a list; none for an empty list.
fn listed<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    const MOST: usize = 4;
    let mut shown: Vec<String> = texts.take(MOST + 1).map(shown).collect();
    if shown.len() > MOST {
        shown[MOST] = "…".to_owned();
    }
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// A time limit in whole seconds within its bounds; none for a limit without a meaning.
fn seconds(limit: f64, max: u32) -> Option<u32> {
    let is_limit = limit.is_finite() && limit > 0.0;
    is_limit.then(|| limit.ceil().min(f64::from(max)) as u32)
}
