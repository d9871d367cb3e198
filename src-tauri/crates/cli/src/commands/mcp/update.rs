//! `rouse extensions update`: the page of another version of a package, or of the same version again.
//!
//! Owns the draft of an update: what the person wrote at the installation. Never updates by itself. Pitfall: a program
//! that has moved since; Node.js and Python are looked up anew.

use rouse_core::extension::package::{ExtensionSource, InstalledPackage};
use rouse_core::extension::{ExtensionName, ServerTransport};
use rouse_gateway::wire::ExtensionDetail;
use serde_json::json;

use super::add::{InstallOffer, offer_install};
use super::definition::runtime_program;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

// `--version` is the version of the package.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true)]
pub(crate) struct UpdateArgs {
    /// Name of the extension
    name: ExtensionName,
    /// Exact version [default: the installed version, installed again]
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Hash of the page that you have read [default: print the page and ask]
    #[arg(long, value_name = "HASH")]
    accept: Option<String>,
}

pub(crate) async fn run(args: UpdateArgs, engine: &EngineConnection) -> Result<(), CliError> {
    let UpdateArgs { name, version, accept } = args;
    let detail: ExtensionDetail = engine.fetch("extensions.get", json!({ "name": name })).await?;
    let Some(InstalledPackage { source, draft: mut server, .. }) = detail.extension.package else {
        return Err(CliError::Refused(format!(
            "{name} is no package, so Rouse has nothing to update. Change its definition with `rouse mcp add {name}`."
        )));
    };
    let source = source.renewed(version.as_deref()).ok_or_else(|| {
        CliError::input(
            "--version is for packages of npm and PyPI. Update a bundle with `rouse mcp add NAME --mcpb FILE`",
        )
    })?;
    source.check().map_err(|error| CliError::input(format!("--version: {error}")))?;
    if let ServerTransport::Stdio { command, .. } = &mut server.transport {
        match &source {
            ExtensionSource::Npm { .. } => *command = runtime_program("node"),
            ExtensionSource::Pypi { .. } => *command = runtime_program("python3"),
            ExtensionSource::Mcpb { .. }
            | ExtensionSource::Folder { .. }
            | ExtensionSource::Tool { .. } => {}
        }
    }
    let params = json!({ "name": name, "server": server, "source": source });
    let offer = InstallOffer { name: &name, params, accept, verb: "update", secrets: &[] };
    offer_install(engine, offer).await
}
