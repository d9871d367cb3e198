//! An accepted tool in Rouse's own sandbox, as a tool of Rouse.
//!
//! Owns the spec that follows from the person's choice, the words of an approval, and the way of a call to the guest.
//! Never decides permission: the access that the person chose decides, and the accepted definition limits the guest.
//! Pitfall: running other bytes than the accepted ones; the files that a call reads are compared with the lock.

use std::collections::BTreeMap;
use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::approval::{Surroundings, canonical};
use rouse_core::extension::{
    Extension, ExtensionBook, ExtensionName, PinnedTool, ServerTransport, ToolDefinition,
    ToolFileAccess, ToolHints, tool_reach,
};
use rouse_core::http_exchange::HttpExchange;
use rouse_core::policy::ApprovedCall;
use rouse_core::text::{escape_invisible, hex_digits};
use rouse_core::tool::{BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::cache::ComponentBytes;
use crate::check::{ToolFolder, read_manifest, tool_guest};
use crate::error::{CompileError, GuestError};
use crate::guest::{Guest, WasmRuntime};
use crate::host::{GuestPorts, ToolSecrets};
use crate::limits::GuestLimits;
use crate::manifest::ToolManifest;
use crate::permissions::ToolPermissions;

/// The time limit of a call in seconds, unless the definition has one.
const DEFAULT_CALL_SECONDS: u32 = 60;

/// Time for the check of the files and a compilation before the call.
const PREPARATION_TIME: Duration = Duration::from_secs(150);

/// Names in the environment of the surroundings.
const TOOL_DEFINITION: &str = "tool definition";
const PERMISSIONS: &str = "permissions";
const PACKAGE_FILES: &str = "package files";

/// The ports that all tools share.
pub struct WasmToolPorts {
    /// The installed extensions.
    pub book: Arc<dyn ExtensionBook>,
    /// Runs the guests.
    pub runtime: Arc<WasmRuntime>,
    /// The engine of scripts.
    pub script_engine: ComponentBytes,
    /// Guarded HTTP.
    pub http: Arc<dyn HttpExchange>,
    /// The values of secrets.
    pub secrets: Arc<dyn ToolSecrets>,
}

/// The folders of an installed tool.
#[derive(Debug, Clone)]
pub struct WasmToolFolders {
    /// The accepted files.
    pub package: PathBuf,
    /// The private folder, for the import `files`.
    pub private: PathBuf,
}

/// An accepted tool.
struct WasmTool {
    spec: ToolSpec,
    extension: ExtensionName,
    permissions: ToolPermissions,
    limits: GuestLimits,
    /// The SHA-256 of the list of accepted files.
    files_hash: String,
    folders: WasmToolFolders,
    surroundings: Surroundings,
    ports: Arc<WasmToolPorts>,
}

/// The tool of `pin`; none when the person switched the tool off, or without a package or valid permissions.
#[must_use]
pub fn wasm_tool(
    extension: &ExtensionName,
    entry: &Extension,
    pin: &PinnedTool,
    folders: WasmToolFolders,
    ports: Arc<WasmToolPorts>,
) -> Option<Arc<dyn Tool>> {
    let approval = pin.access.approval_rule()?;
    let permissions = permissions_of(&entry.server.transport)?;
    let files_hash = entry.package.as_ref()?.files.sha256.clone();
    let seconds = entry.server.call_timeout_seconds.unwrap_or(DEFAULT_CALL_SECONDS);
    let time = Duration::from_secs(seconds.into());
    let definition = serde_json::to_value(&entry.server).expect("BUG: a definition is JSON");
    let definition_hash = hex_digits(&Sha256::digest(canonical(&definition).as_bytes()));
    Some(Arc::new(WasmTool {
        spec: entry.tool_spec(extension, pin, approval, time + PREPARATION_TIME),
        extension: extension.clone(),
        surroundings: Surroundings {
            confinement: Some(format!("in Rouse's own sandbox. {}", reach_text(&permissions))),
            environment: BTreeMap::from([
                (TOOL_DEFINITION.to_owned(), pin.hash.clone()),
                (PERMISSIONS.to_owned(), definition_hash),
                (PACKAGE_FILES.to_owned(), files_hash.clone()),
            ]),
            ..Surroundings::default()
        },
        permissions,
        limits: GuestLimits { time, ..GuestLimits::default() },
        files_hash,
        folders,
        ports,
    }))
}

/// The declaration of a tool, as its manifest has it.
#[must_use]
pub fn manifest_tool(manifest: &ToolManifest) -> ToolDefinition {
    ToolDefinition {
        name: manifest.name.to_string(),
        title: None,
        description: manifest.description.clone(),
        input_schema: manifest.parameters.clone(),
        output_schema: None,
        hints: ToolHints { read_only: manifest.reads_only.then_some(true), ..ToolHints::default() },
    }
}

/// The way to a tool with these permissions.
#[must_use]
pub fn tool_transport(permissions: &ToolPermissions) -> ServerTransport {
    ServerTransport::Wasm {
        hosts: permissions.hosts.iter().map(ToString::to_string).collect(),
        secrets: permissions.secrets.clone(),
        files: permissions.files,
    }
}

/// The permissions of an accepted definition; none for a server, and with an invalid host.
fn permissions_of(transport: &ServerTransport) -> Option<ToolPermissions> {
    let ServerTransport::Wasm { hosts, secrets, files } = transport else { return None };
    let hosts: Result<_, _> = hosts.iter().map(|host| host.parse()).collect();
    let hosts = hosts.inspect_err(|problem| tracing::warn!(%problem, "a tool cannot be offered"));
    Some(ToolPermissions { hosts: hosts.ok()?, secrets: secrets.clone(), files: *files })
}

/// What a call can reach, as sentences.
fn reach_text(permissions: &ToolPermissions) -> String {
    let hosts: Vec<String> = permissions.hosts.iter().map(ToString::to_string).collect();
    tool_reach(&hosts, &permissions.secrets, permissions.files)
}

impl WasmTool {
    /// The guest of the accepted files.
    async fn accepted_guest(&self) -> Result<Guest, String> {
        let (name, ports) = (&self.extension, &self.ports);
        ports.book.check_files(name).await.map_err(|difference| changed(name, &difference))?;
        let (package, script_engine) = (self.folders.package.clone(), ports.script_engine.clone());
        let accepted = self.files_hash.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let folder = ToolFolder::read(&package).map_err(|error| error.to_string())?;
            // The files may have changed since the check.
            if folder.hash() != accepted {
                return Err("Its files are not the accepted files.".to_owned());
            }
            let manifest = read_manifest(&folder).map_err(|problems| {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                problems.join("; ")
            })?;
            tool_guest(&folder, manifest.language, &script_engine)
        });
        let read = reading.await.unwrap_or_else(|error| Err(error.to_string()));
        read.map_err(|problem| changed(name, &problem))
    }

    fn guest_ports(&self, context: &ToolContext) -> GuestPorts {
        let (secrets, name) = (Arc::clone(&self.ports.secrets), self.extension.clone());
        let fill = move |text: &str, host: &str| secrets.fill(&name, text, host);
        let has_files = self.permissions.files != ToolFileAccess::None;
        GuestPorts {
            clock: Arc::clone(&context.clock),
            http: Arc::clone(&self.ports.http),
            secrets: Arc::new(fill),
            folder: has_files.then(|| self.folders.private.clone()),
            allows_loopback_http: false,
        }
    }
}

impl Tool for WasmTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, String> {
        let arguments = escape_invisible(&format!("{arguments:#}"));
        let (extension, reach) = (&self.extension, reach_text(&self.permissions));
        let text = format!("Tool {extension}, in Rouse's own sandbox\n{reach}\n\n{arguments}");
        Box::pin(ready(text))
    }

    fn surroundings<'a>(
        &'a self,
        _: &'a Value,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        Box::pin(ready(Ok(self.surroundings.clone())))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let guest = match self.accepted_guest().await {
                Ok(guest) => guest,
                Err(problem) => return ToolOutput::faulty(Fault::Refused, problem),
            };
            let ports = self.guest_ports(context);
            let (runtime, arguments) = (&self.ports.runtime, call.arguments());
            let calling =
                runtime.trace_call(&guest, arguments, &self.permissions, &self.limits, &ports);
            let trace = calling.await;
            match trace.result {
                Ok(result) => ToolOutput::ok(result),
                Err(error) => {
                    let is_doubtful = trace.http_exchanges > 0 && !self.spec.is_repeatable();
                    failure_of(&error, is_doubtful)
                }
            }
        })
    }
}

/// The refusal of a call with changed files.
fn changed(extension: &ExtensionName, difference: &str) -> String {
    format!(
        "The tool {extension} was not called. {difference} List the differences with `rouse extensions verify {extension}`, then install the tool again with `rouse extensions update {extension}`."
    )
}

/// The output for a call that failed with `error`.
fn failure_of(error: &GuestError, is_doubtful: bool) -> ToolOutput {
    let fault = match error {
        GuestError::TimeLimit(_) | GuestError::Queued { .. } => Fault::Timeout,
        GuestError::ArgumentsTooLarge { .. } => Fault::InvalidParameters,
        GuestError::ImportNotGranted(_)
        | GuestError::Unusable(_)
        | GuestError::Compile(
            CompileError::TooLarge { .. }
            | CompileError::Invalid(_)
            | CompileError::OutputTooLarge { .. },
        ) => Fault::Refused,
        GuestError::Compile(
            CompileError::TimeLimit(_) | CompileError::Crashed | CompileError::Io(_),
        )
        | GuestError::Tool(_)
        | GuestError::Trap(_)
        | GuestError::OutputTooLarge { .. }
        | GuestError::InvalidOutput(_)
        | GuestError::Engine(_) => Fault::Execution,
    };
    let doubt = if is_doubtful { " Its requests may have had an effect." } else { "" };
    ToolOutput::faulty(fault, format!("{error}{doubt}"))
}
