//! The first start: an example job that needs no model and fires within ten seconds.

use rouse_core::job::job_from_json;
use rouse_core::{Clock, JobId};
use rouse_scheduler::SchedulerHandle;
use rouse_store::Store;
use serde_json::{Value, json};

use crate::error::HostError;

/// The setting with the example's id; read by the gateway's first-start card.
const EXAMPLE_JOB_SETTING: &str = "firstStart.exampleJobId";
/// The example's id in every data directory, so an import never adds a second example.
const EXAMPLE_JOB_ID: &str = "hello-from-rouse";
/// The delay of the example: long enough for the window to open.
const FIRES_AFTER_MS: i64 = 6_000;

/// Creates the example job in a new data directory. No-op in all other cases.
pub(crate) async fn prepare(
    store: &Store,
    scheduler: &SchedulerHandle,
    clock: &dyn Clock,
) -> Result<(), HostError> {
    if store.setting(EXAMPLE_JOB_SETTING).await?.is_some() || store.job_counts().await?.all > 0 {
        return Ok(());
    }
    let now = clock.now();
    let job = job_from_json(example(now.plus_ms(FIRES_AFTER_MS).0), now, clock.zones())
        .expect("BUG: the example job is not a job");
    let (id, name): (JobId, String) = (job.id.clone(), job.name.clone());
    store.put_setting(EXAMPLE_JOB_SETTING, &Value::String(id.to_string()), None, now).await?;
    scheduler.add_job(job).await?;
    tracing::info!(job_id = %id, name, "created the example job");
    Ok(())
}

fn example(at_ms: i64) -> Value {
    json!({
        "id": EXAMPLE_JOB_ID,
        "name": "Hello from Rouse",
        "description": "An example: it runs once, needs no model and costs nothing. Keep it, change it or delete it.",
        "schedule": { "kind": "at", "atMs": at_ms },
        "payload": {
            "kind": "toolCall",
            "tool": "echo",
            "arguments": { "text": "Your first job ran on time. Click to see the run." },
            "notifyWhen": "always"
        }
    })
}
