//! `rouse dial`: the far end of `rouse --on`, which `ssh` starts on this computer.
//!
//! Prints JSON lines and nothing else; the gateway owns their protocol. A refusal is the first line, so the reason is not
//! repeated on standard error.

use std::process::ExitCode;

use rouse_host::Home;

use crate::resolve::error::CliError;

/// Serves standard input and output until one of them closes.
pub(crate) fn run() -> Result<ExitCode, CliError> {
    let home = Home::find(&|name| std::env::var(name).ok()).map_err(anyhow::Error::from)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let served = runtime.block_on(rouse_gateway::serve_dial(home.root(), input, output));
    // The thread that reads standard input may wait for a line.
    runtime.shutdown_background();
    Ok(match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ExitCode::from(CliError::from(error).exit_code() as u8),
    })
}
