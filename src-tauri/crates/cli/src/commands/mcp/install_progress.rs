//! The call of an installation: its progress, and its cancellation by Ctrl+C.
//!
//! Owns the lines on standard error. Never judges the answer. Pitfall: an interrupted command; the engine would go on,
//! so Ctrl+C cancels there and the command waits for the answer.

use std::pin::pin;
use std::time::Duration;

use rouse_core::extension::ExtensionName;
use rouse_core::text::escape_line;
use rouse_gateway::wire::InstallStatus;
use serde_json::{Value, json};

use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

/// Time between two looks at the progress.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// Installs the accepted page with `params`.
pub(super) async fn call_install(
    engine: &EngineConnection,
    name: &ExtensionName,
    params: Value,
) -> Result<Value, CliError> {
    if params["source"].is_null() {
        if !engine.json {
            anstream::eprintln!("Installing {name} …");
        }
        return engine.call("extensions.install", params).await;
    }
    if !engine.json {
        anstream::eprintln!("Installing {name}, at most 5 min. Ctrl+C cancels.");
    }
    let mut installing = pin!(engine.call("extensions.install", params));
    let mut shown = String::new();
    loop {
        tokio::select! {
            answer = tokio::time::timeout(LOOK_PERIOD, installing.as_mut()) => match answer {
                Ok(answer) => return answer,
                Err(_) => show_step(engine, name, &mut shown).await?,
            },
            Ok(()) = tokio::signal::ctrl_c() => {
                engine.call("extensions.cancelInstall", json!({ "name": name })).await?;
            }
        }
    }
}

/// Prints what the installation does if that is another step than the shown one.
async fn show_step(
    engine: &EngineConnection,
    name: &ExtensionName,
    shown: &mut String,
) -> Result<(), CliError> {
    if engine.json {
        return Ok(());
    }
    let params = json!({ "name": name });
    let status: InstallStatus = engine.fetch("extensions.installStatus", params).await?;
    let Some(step) = status.step else { return Ok(()) };
    if step != *shown {
        anstream::eprintln!("  {}", escape_line(&step));
        *shown = step;
    }
    Ok(())
}
