//! `rouse wake`.

use rouse_core::schedule::parse_duration;
use rouse_gateway::wire::WakeResult;
use serde_json::json;

use crate::cron::Wake;
use crate::exit::Failure;
use crate::session::Session;

/// Which flag sets a field of the request.
const FLAGS: [(&str, &str); 4] =
    [("mode", "--mode"), ("text", "--text"), ("reason", "--reason"), ("coalesceMs", "--coalesce")];

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("line").required(true))]
pub(crate) struct Args {
    /// When the main session gets its turn.
    #[arg(long, value_enum, default_value = "now")]
    mode: Wake,
    /// The line for the main session.
    #[arg(group = "line", value_name = "TEXT")]
    words: Vec<String>,
    /// The same as a flag.
    #[arg(long, group = "line")]
    text: Option<String>,
    /// Why a turn is asked for, as `rouse heartbeat` then says; at most 200 characters.
    #[arg(long)]
    reason: Option<String>,
    /// What asks for a turn within this time is the same one: up to 1m; 250ms when left out.
    #[arg(long, value_name = "DURATION")]
    coalesce: Option<String>,
}

pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let is_later = matches!(args.mode, Wake::NextHeartbeat);
    if is_later && (args.reason.is_some() || args.coalesce.is_some()) {
        let why = "--reason and --coalesce go with --mode now: nothing else asks for a turn";
        return Err(Failure::input(why));
    }
    let text = args.text.unwrap_or_else(|| args.words.join(" "));
    let coalesce = args.coalesce.as_deref().map(parse_duration).transpose();
    let params = json!({
        "mode": args.mode.name(),
        "text": text,
        "reason": args.reason,
        "coalesceMs": coalesce.map_err(|error| Failure::input(format!("--coalesce: {error}")))?,
    });
    let answer = session.call("wake", params).await;
    session.tell(answer.map_err(|failure| failure.calling(&FLAGS))?, |_, result: WakeResult| {
        anstream::println!("{}", result.outcome);
        Ok(())
    })
}
