//! `rouse devices …`: browsers and phones that may use Rouse.

use clap::{Subcommand, ValueEnum};
use rouse_core::text::PairingQr;
use rouse_gateway::wire::{
    ChangeResult, DevicePairing, DeviceScope, DeviceView, DevicesListResult,
};
use serde_json::json;

use crate::render::table::{new_table, print_rows};
use crate::render::text::escape;
use crate::render::time::local_time;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// List devices
    #[default]
    #[command(alias = "ls")]
    List,
    /// Show a link and a QR code that pair one device within 10 minutes
    Pair {
        /// What the device may do
        #[arg(long, value_enum, default_value_t = DeviceScopeFlag::Approve)]
        scope: DeviceScopeFlag,
        /// Suggested name
        #[arg(long)]
        name: Option<String>,
    },
    /// Revoke a device; it is signed out at once
    #[command(alias = "rm")]
    Revoke {
        /// Name or id
        device: String,
    },
}

/// `--scope`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DeviceScopeFlag {
    /// See everything, change nothing
    Read,
    /// Also decide approvals
    Approve,
    /// Also change jobs, start runs and chat; no settings, secrets or extensions
    Write,
}

impl From<DeviceScopeFlag> for DeviceScope {
    fn from(flag: DeviceScopeFlag) -> Self {
        match flag {
            DeviceScopeFlag::Read => Self::Read,
            DeviceScopeFlag::Approve => Self::Approve,
            DeviceScopeFlag::Write => Self::Write,
        }
    }
}

pub(super) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List => engine.show("devices.list", json!({}), print_devices).await,
        Command::Pair { scope, name } => {
            let params = json!({ "name": name, "scope": DeviceScope::from(scope) });
            let paired = engine.show("devices.pair", params, print_pairing).await;
            paired.map_err(|error| error.with_field_names(&[("name", "--name")]))
        }
        Command::Revoke { device } => revoke(engine, &device).await,
    }
}

async fn revoke(engine: &EngineConnection, wanted: &str) -> Result<(), CliError> {
    let listed: DevicesListResult = engine.fetch("devices.list", json!({})).await?;
    let device = listed.devices.iter().find(|device| device.id == wanted || device.name == wanted);
    let Some(device) = device else {
        return Err(CliError::not_found(format!(
            "There is no device {}. See them: rouse devices list",
            escape(wanted)
        )));
    };
    let answer = engine.call("devices.revoke", json!({ "id": device.id })).await?;
    engine.print_answer(answer, |_, _: ChangeResult| {
        anstream::println!("Revoked: {}. It is signed out.", escape(&device.name));
    })
}

fn print_pairing(engine: &EngineConnection, pairing: DevicePairing) {
    let remote: Vec<_> = pairing.links.iter().filter(|link| !link.is_local).collect();
    for link in &remote {
        if let Some(qr) = PairingQr::new(&link.url) {
            anstream::println!("{}", qr.terminal());
        }
    }
    for link in &pairing.links {
        let place = if link.is_local { "  (a browser on this computer)" } else { "" };
        anstream::println!("{}{place}", link.url);
    }
    let expiry = local_time(engine, pairing.expires_at_ms);
    anstream::eprintln!("The first device that opens a link is paired. Valid until {expiry}.");
    if remote.is_empty() {
        anstream::eprintln!(
            "A phone needs a name for this computer: set gateway.names, then restart Rouse."
        );
    }
}

fn print_devices(engine: &EngineConnection, found: DevicesListResult) {
    if found.devices.is_empty() {
        anstream::println!("No devices. Pair one: rouse devices pair");
        return;
    }
    let mut table = new_table(&["DEVICE", "MAY", "PAIRED", "LAST SEEN"]);
    for DeviceView { name, scope, created_at_ms, last_seen_at_ms, .. } in &found.devices {
        let last_seen =
            last_seen_at_ms.map_or_else(|| "never".to_owned(), |at| local_time(engine, at));
        let paired = local_time(engine, *created_at_ms);
        table.add_row([escape(name), scope.name().to_owned(), paired, last_seen]);
    }
    print_rows(&table);
}
