//! `rouse cron try-condition`.

use rouse_gateway::wire::CronTryConditionResult;
use serde_json::json;

use crate::render::text::{escape, shorten};
use crate::render::time::local_time;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::find_job;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Job: id, id prefix or exact name
    id: String,
    /// CEL expression over `result`, `previous`, `state`, `event`: `"json(result.stdout) < 20"` [default: that of the
    /// job]
    #[arg(long, value_name = "CEL")]
    cel: Option<String>,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let id = find_job(engine, &args.id).await?;
    let cel = match args.cel {
        Some(cel) => cel,
        None => job_condition(&id, engine).await?,
    };
    let answer = engine.call("cron.tryCondition", json!({ "id": id, "cel": cel })).await?;
    // For a script, an invalid condition is an error; a false condition is an answer.
    if let Some(problem) = answer["problem"].as_str() {
        return Err(CliError::input(format!("the condition cannot be checked: {problem}")));
    }
    engine.print_answer(answer, |engine, tried: CronTryConditionResult| {
        let Some(on) = &tried.on else {
            anstream::println!("The condition is valid. The job has no result yet to check.");
            return;
        };
        anstream::println!("Last result ({}):", local_time(engine, on.at_ms));
        anstream::println!("  {}", escape(&shorten(&on.result.to_string(), 400)));
        match tried.holds {
            Some(true) => anstream::println!("True: this result would notify you."),
            _ => anstream::println!("False: this result would not notify you."),
        }
    })
}

/// The condition in the job.
async fn job_condition(id: &str, engine: &EngineConnection) -> Result<String, CliError> {
    let view = engine.call("cron.get", json!({ "id": id })).await?;
    let condition = view["job"]["payload"]["notifyWhen"]["cel"].as_str();
    condition.map(str::to_owned).ok_or_else(|| {
        CliError::input("the job has no condition; add one: --cel \"json(result.stdout) < 20\"")
    })
}
