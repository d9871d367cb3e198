//! `rouse open`: the UI in a browser, signed in by a one-time code.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Page, such as /runs or /jobs/ID
    #[arg(default_value = "/")]
    page: String,
    /// Print the URL, valid once for 30 seconds, instead of opening a browser
    #[arg(long)]
    print: bool,
}

pub(crate) async fn run(args: &Args, engine: &EngineConnection) -> Result<(), CliError> {
    if !args.page.starts_with('/') || args.page.contains(['#', '?']) {
        return Err(CliError::input(format!(
            "`{}` is not a page; pages begin with / and end before a ? or #, such as /runs",
            args.page
        )));
    }
    let address = engine.client()?.sign_in_url(&args.page).await?;
    if engine.json {
        anstream::println!("{}", json!({ "address": address }));
        return Ok(());
    }
    if args.print || !open_in_browser(&address) {
        anstream::println!("{address}");
        anstream::eprintln!("Open this address in a browser within 30 seconds.");
    }
    Ok(())
}

/// Opens the URL. False if no browser started.
pub(super) fn open_in_browser(address: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        let has_display =
            ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
        if !has_display {
            return false;
        }
        ("xdg-open", &[])
    };
    let status = Command::new(program)
        .args(arguments)
        .arg(address)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}
