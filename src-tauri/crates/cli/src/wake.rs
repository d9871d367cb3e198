//! `rouse wake`.

use rouse_gateway::wire::WakeResult;
use serde_json::json;

use crate::cron::Wake;
use crate::exit::Failure;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// When the main session gets its turn.
    #[arg(long, value_enum, default_value = "now")]
    mode: Wake,
    /// The line for the main session.
    #[arg(long)]
    text: String,
}

pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let params = json!({ "mode": args.mode.name(), "text": args.text });
    session
        .show("wake", params, |_, result: WakeResult| {
            anstream::println!("{}", result.outcome);
            Ok(())
        })
        .await
}
