//! The start of a server: secrets, connection, first tool list.
//!
//! Owns the time limit of a start, which covers connection and list. Never keeps a filled secret longer than the start
//! of a process or the headers of a connection. Pitfall: a start that runs out of time still has error output to show.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rouse_core::extension::{
    Extension, ExtensionBook, ExtensionName, ServerCommand, ServerDefinition, ServerTransport,
    ServerUnavailable, UnfilledSecret, compare_listing,
};

use super::config::ServerPoolConfig;
use super::server::{FailedStart, ListedTools, RunningServer};
use super::unavailable;
use crate::catalogue;
use crate::connection::{Connection, ConnectionError, StartAttempt};
use crate::sign_in::{ServerSignIns, ServerTokens, has_authorization};

/// The time limit of a start without one in the definition.
const START_LIMIT: Duration = Duration::from_secs(30);

/// The way to a server, with all secrets filled in.
pub(super) enum ServerRoute {
    Stdio(ServerCommand),
    Http { url: String, headers: BTreeMap<String, String>, tokens: Option<ServerTokens> },
}

/// The time limit of a start or a list.
pub(crate) fn start_limit(definition: &ServerDefinition) -> Duration {
    definition
        .start_timeout_seconds
        .map_or(START_LIMIT, |seconds| Duration::from_secs(seconds.into()))
}

/// The way to a server, with the secrets of its definition.
pub(super) fn route(
    book: &dyn ExtensionBook,
    sign_ins: &ServerSignIns,
    name: &ExtensionName,
    definition: &ServerDefinition,
) -> Result<ServerRoute, ServerUnavailable> {
    match &definition.transport {
        ServerTransport::Stdio { .. } => command(book, name, definition).map(ServerRoute::Stdio),
        ServerTransport::Http { url, headers, .. } => Ok(ServerRoute::Http {
            url: url.clone(),
            headers: filled(book, name, definition, headers)?,
            tokens: tokens(sign_ins, name, definition),
        }),
        ServerTransport::Wasm { .. } => Err(unavailable::no_command(name)),
    }
}

/// The command of a program, with the secrets of its definition.
///
/// # Errors
/// A secret has no value for this program, or the definition has no command.
pub(crate) fn command(
    book: &dyn ExtensionBook,
    name: &ExtensionName,
    definition: &ServerDefinition,
) -> Result<ServerCommand, ServerUnavailable> {
    let ServerTransport::Stdio {
        command,
        arguments,
        environment,
        folder,
        folders,
        hosts,
        is_unconfined,
    } = &definition.transport
    else {
        return Err(unavailable::no_command(name));
    };
    Ok(ServerCommand {
        extension: name.clone(),
        program: command.clone(),
        arguments: arguments.clone(),
        environment: filled(book, name, definition, environment)?,
        folder: folder.as_ref().map(PathBuf::from),
        task_folder: None,
        folders: folders.clone(),
        hosts: hosts.clone(),
        is_unconfined: *is_unconfined,
    })
}

fn filled(
    book: &dyn ExtensionBook,
    name: &ExtensionName,
    definition: &ServerDefinition,
    values: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, ServerUnavailable> {
    let fill = |(key, value): (&String, &String)| {
        let value = book.fill_secrets(name, value)?;
        Ok::<_, UnfilledSecret>((key.clone(), value))
    };
    let values: Result<BTreeMap<String, String>, UnfilledSecret> =
        values.iter().map(fill).collect();
    values.map_err(|unfilled| unavailable::unfilled_secret(name, definition, &unfilled))
}

/// The tokens of a server that a person can sign in at.
pub(super) fn tokens(
    sign_ins: &ServerSignIns,
    name: &ExtensionName,
    definition: &ServerDefinition,
) -> Option<ServerTokens> {
    match &definition.transport {
        ServerTransport::Http { url, headers, .. } if !has_authorization(headers.keys()) => {
            Some(ServerTokens::new(sign_ins.clone(), name.clone(), url.clone()))
        }
        ServerTransport::Http { .. }
        | ServerTransport::Stdio { .. }
        | ServerTransport::Wasm { .. } => None,
    }
}

/// Starts or reaches a server and lists its tools, within the time limit. A server with changed files does not start.
pub(super) async fn start(
    config: &ServerPoolConfig,
    name: &ExtensionName,
    entry: &Extension,
    route: ServerRoute,
) -> Result<RunningServer, FailedStart> {
    let limit = start_limit(&entry.server);
    let checked = tokio::time::timeout(limit, config.book.check_files(name)).await;
    let too_slow =
        || Err(format!("The check of its files took longer than {} s.", limit.as_secs()));
    if let Err(difference) = checked.unwrap_or_else(|_| too_slow()) {
        let unavailable = unavailable::changed_files(name, &difference);
        return Err(FailedStart { unavailable, stderr_tail: None });
    }
    let attempt = StartAttempt::default();
    let started = tokio::time::timeout(limit, connect(config, name, entry, route, &attempt)).await;
    started.unwrap_or(Err(ConnectionError::TimedOut)).map_err(|error| FailedStart {
        unavailable: unavailable::start_failed(name, &entry.server, &error, &attempt),
        stderr_tail: attempt.stderr_tail(),
    })
}

async fn connect(
    config: &ServerPoolConfig,
    name: &ExtensionName,
    entry: &Extension,
    route: ServerRoute,
    attempt: &StartAttempt,
) -> Result<RunningServer, ConnectionError> {
    let connection = match route {
        ServerRoute::Stdio(command) => {
            Connection::open_stdio(config.processes.as_ref(), command, attempt).await?
        }
        ServerRoute::Http { url, headers, tokens } => {
            Connection::open_http(Arc::clone(&config.http), &url, &headers, tokens).await?
        }
    };
    let listed = list(config, name, entry, &connection).await?;
    Ok(RunningServer {
        connection,
        definition: entry.server.clone(),
        started_at: config.clock.now(),
        listed: Mutex::new(listed),
    })
}

/// Lists the tools of a server and records the listing.
pub(super) async fn list(
    config: &ServerPoolConfig,
    name: &ExtensionName,
    entry: &Extension,
    connection: &Connection,
) -> Result<ListedTools, ConnectionError> {
    // Before the list: a change reported while the list is on its way leads to another list.
    connection.take_list_changed();
    connection.subscribe_to_list();
    let admitted = catalogue::admit(connection.list_tools().await?);
    let listing = compare_listing(&entry.tools, admitted.tools.clone());
    config.book.record_listing(name, connection.server_version(), &listing);
    Ok(ListedTools {
        tools: admitted.tools,
        refused: admitted.refused,
        listed_at: config.clock.monotonic(),
    })
}
