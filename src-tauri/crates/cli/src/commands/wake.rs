//! `rouse wake`: a system event for the main session.

use rouse_core::job::WakeMode;
use rouse_core::schedule::parse_duration;
use rouse_gateway::wire::WakeResult;
use serde_json::json;

use super::cron::choice;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

/// Fields of the request and their flags.
const FIELD_NAMES: [(&str, &str); 4] =
    [("mode", "--mode"), ("text", "--text"), ("reason", "--reason"), ("coalesceMs", "--coalesce")];

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("line").required(true))]
pub(crate) struct Args {
    /// Turn of the main session
    #[arg(long, value_parser = choice::<WakeMode>(), default_value = "now")]
    mode: WakeMode,
    /// Text of the system event
    #[arg(group = "line", value_name = "TEXT")]
    words: Vec<String>,
    /// Text, as a flag
    #[arg(long, group = "line")]
    text: Option<String>,
    /// Reason of the turn, shown by `rouse heartbeat`, at most 200 characters
    #[arg(long)]
    reason: Option<String>,
    /// Time in which requests become one turn, at most 1m [default: 250ms]
    #[arg(long, value_name = "DURATION")]
    coalesce: Option<String>,
}

pub(crate) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let is_later = args.mode == WakeMode::NextHeartbeat;
    if is_later && (args.reason.is_some() || args.coalesce.is_some()) {
        return Err(CliError::input("--reason and --coalesce need --mode now"));
    }
    let text = args.text.unwrap_or_else(|| args.words.join(" "));
    let coalesce = args.coalesce.as_deref().map(parse_duration).transpose();
    let params = json!({
        "mode": args.mode,
        "text": text,
        "reason": args.reason,
        "coalesceMs": coalesce.map_err(|error| CliError::input(format!("--coalesce: {error}")))?,
    });
    let answer = engine.call("wake", params).await;
    let answer = answer.map_err(|error| error.with_field_names(&FIELD_NAMES))?;
    engine.print_answer(answer, |_, result: WakeResult| anstream::println!("{}", result.outcome))
}
