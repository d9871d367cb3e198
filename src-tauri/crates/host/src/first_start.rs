//! The first start: an example job that needs no model and fires within ten seconds.

use rouse_core::job::job_from_json;
use rouse_core::{Clock, JobId};
use rouse_scheduler::SchedulerHandle;
use rouse_store::Store;
use serde_json::{Value, json};

use crate::error::HostError;

/// Where the example's id is kept; the gateway's first-start card reads it.
const EXAMPLE_JOB: &str = "firstStart.exampleJobId";
/// Its id in every data directory, so that an export brings no second one into another.
const ID: &str = "hello-from-rouse";
/// How long after the start the example fires: soon enough to be seen, late enough for the window to be there.
const FIRES_AFTER_MS: i64 = 6_000;

/// Makes the example job in an empty, new data directory; does nothing ever after.
pub(crate) async fn prepare(
    store: &Store,
    scheduler: &SchedulerHandle,
    clock: &dyn Clock,
) -> Result<(), HostError> {
    if store.setting(EXAMPLE_JOB).await?.is_some() || store.job_counts().await?.all > 0 {
        return Ok(());
    }
    let now = clock.now();
    let job = job_from_json(example(now.plus_ms(FIRES_AFTER_MS).0), now, clock.zones())
        .expect("BUG: the example job is not a job");
    let (id, name): (JobId, String) = (job.id.clone(), job.name.clone());
    store.put_setting(EXAMPLE_JOB, &Value::String(id.to_string()), None, now).await?;
    scheduler.add_job(job).await?;
    tracing::info!(job_id = %id, name, "made the example job");
    Ok(())
}

fn example(at_ms: i64) -> Value {
    json!({
        "id": ID,
        "name": "Hello from Rouse",
        "description": "An example: it runs once, needs no model and costs nothing. Keep it, change it or delete it.",
        "schedule": { "kind": "at", "atMs": at_ms },
        "payload": {
            "kind": "toolCall",
            "tool": "echo",
            "arguments": { "text": "Your first job ran on time. Click to see how it went." },
            "notifyWhen": "always"
        }
    })
}
