//! `rouse open`: the UI in a browser, signed in by a one-time code.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::exit::Failure;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The page, such as /runs or /jobs/ID.
    #[arg(default_value = "/")]
    page: String,
    /// Print the address instead of opening it; it is good once, for 30 seconds.
    #[arg(long)]
    print: bool,
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    if !args.page.starts_with('/') || args.page.contains(['#', '?']) {
        return Err(Failure::input(format!(
            "`{}` is not a page; pages begin with / and end before a ? or #, such as /runs",
            args.page
        )));
    }
    let address = session.client()?.browser_address(&args.page).await?;
    if session.json {
        anstream::println!("{}", json!({ "address": address }));
        return Ok(());
    }
    if args.print || !open_in_browser(&address) {
        anstream::println!("{address}");
        anstream::eprintln!("Open this address in a browser within 30 seconds.");
    }
    Ok(())
}

/// Whether a browser was started.
fn open_in_browser(address: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        let screen =
            ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
        if !screen {
            return false;
        }
        ("xdg-open", &[])
    };
    let quiet = Command::new(program)
        .args(arguments)
        .arg(address)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    quiet.is_ok_and(|status| status.success())
}
