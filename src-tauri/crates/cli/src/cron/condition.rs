//! `rouse cron try-condition`: would this be told?

use rouse_core::Clock as _;
use rouse_gateway::wire::CronTryConditionResult;
use serde_json::json;

use super::resolve;
use crate::exit::Failure;
use crate::output::{instant, plain, short};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The job's id or exact name.
    id: String,
    /// The expression over `result`, `previous`, `state` and `event`: `"json(result.stdout) < 20"`; the job's own when absent.
    #[arg(long, value_name = "CEL")]
    cel: Option<String>,
}

/// The condition that the job has.
async fn own(id: &str, session: &Session) -> Result<String, Failure> {
    let view = session.call("cron.get", json!({ "id": id })).await?;
    let own = view["job"]["payload"]["notifyWhen"]["cel"].as_str();
    let none =
        "the job has no condition of its own; give one to try: --cel \"json(result.stdout) < 20\"";
    own.map(str::to_owned).ok_or_else(|| Failure::input(none))
}

pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let id = resolve(session, &args.id).await?;
    let cel = match args.cel {
        Some(cel) => cel,
        None => own(&id, session).await?,
    };
    let answer = session.call("cron.tryCondition", json!({ "id": id, "cel": cel })).await?;
    // A script asks whether the condition is good; that it holds is an answer, that it cannot be checked is not.
    if let Some(problem) = answer["problem"].as_str() {
        return Err(Failure::input(format!("the condition cannot be checked: {problem}")));
    }
    session.tell(answer, |session, tried: CronTryConditionResult| {
        let Some(on) = &tried.on else {
            anstream::println!(
                "The condition can be read. The job has no result yet to try it on."
            );
            return Ok(());
        };
        let (now, zone) = (session.clock.now().0, session.clock.zone());
        anstream::println!("Last result ({}):", instant(on.at_ms, now, zone));
        anstream::println!("  {}", plain(&short(&on.result.to_string(), 400)));
        match tried.holds {
            Some(true) => anstream::println!("Yes: this would be told."),
            _ => anstream::println!("No: nobody would be told."),
        }
        Ok(())
    })
}
