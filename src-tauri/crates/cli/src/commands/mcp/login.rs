//! `rouse mcp login` and `rouse mcp logout`: the sign-in at a server over HTTP.
//!
//! Prints the address, opens a browser if there is a terminal and a desktop, and waits for the end. Ctrl+C cancels the
//! sign-in. Never opens a browser for a run. Pitfall: an address that a shell reads; the browser gets it as one argument.

use rouse_core::extension::{ExtensionName, SignInState};
use rouse_core::text::escape_line;
use rouse_gateway::wire::{ChangeResult, SignInLink, SignInStatus};
use serde_json::{Value, json};

use crate::commands::extensions::is_interactive;
use crate::commands::open::open_in_browser;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::runs::current_run_id;

#[derive(Debug, clap::Args)]
pub(crate) struct LoginArgs {
    /// Name of the server
    name: ExtensionName,
    /// Print the address only
    #[arg(long)]
    no_browser: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LogoutArgs {
    /// Name of the server
    name: ExtensionName,
}

pub(super) async fn login(args: LoginArgs, engine: &EngineConnection) -> Result<(), CliError> {
    let LoginArgs { name, no_browser } = args;
    if current_run_id().is_some() {
        let message = format!("A run cannot sign in. Sign in yourself: rouse mcp login {name}");
        return Err(CliError::Refused(message));
    }
    let server = json!({ "name": name });
    let link: SignInLink = engine.fetch("extensions.signIn", server.clone()).await?;
    anstream::eprintln!("Sign in at {name} within 10 minutes:\n{}", escape_line(&link.url));
    if !no_browser && is_interactive(engine) && !open_in_browser(&link.url) {
        anstream::eprintln!("Open this address in a browser on this computer.");
    }
    let status = tokio::select! {
        status = await_sign_in(engine, &server) => status?,
        _ = tokio::signal::ctrl_c() => {
            engine.call("extensions.cancelSignIn", server.clone()).await?;
            return Err(CliError::Refused("Cancelled. The sign-in was not finished.".to_owned()));
        }
    };
    match (status.state, &status.reason) {
        (SignInState::SignedIn, None) => {
            let print = |_: &EngineConnection, _: SignInStatus| {
                anstream::println!("Signed in at {name}.");
            };
            engine.print_answer(serde_json::to_value(&status)?, print)
        }
        (_, Some(reason)) => Err(CliError::Refused(escape(reason))),
        (_, None) => Err(CliError::Refused(format!(
            "The sign-in was not finished within 10 minutes. Start it again: rouse mcp login {name}"
        ))),
    }
}

/// Waits until the sign-in has ended.
async fn await_sign_in(
    engine: &EngineConnection,
    server: &Value,
) -> Result<SignInStatus, CliError> {
    loop {
        let status: SignInStatus = engine.fetch("extensions.awaitSignIn", server.clone()).await?;
        if status.state != SignInState::Pending {
            return Ok(status);
        }
    }
}

pub(super) async fn logout(args: LogoutArgs, engine: &EngineConnection) -> Result<(), CliError> {
    let LogoutArgs { name } = args;
    let print = |_: &EngineConnection, result: ChangeResult| {
        let text = if result.changed { "Signed out." } else { "Nobody was signed in." };
        anstream::println!("{text}");
    };
    engine.show("extensions.signOut", json!({ "name": name }), print).await
}
