//! What a job is called when nobody has said, and no other job has been called.
//!
//! It refuses to give a name that another job has: a name is what people type.

use rouse_core::naming::from_payload;
use rouse_gateway::wire::CronListResult;
use serde_json::Value;

use super::list;
use crate::exit::Failure;
use crate::session::Session;

/// A name for a job that does `payload`, and that no other job has.
pub(super) async fn name_for(payload: &Value, session: &Session) -> Result<String, Failure> {
    let name = from_payload(payload);
    let list = list::read(session, true, Some(&name), usize::MAX).await?;
    let list: CronListResult = serde_json::from_value(list)?;
    let taken = |wanted: &str| list.jobs.iter().any(|view| view.job["name"] == wanted);
    if !taken(&name) {
        return Ok(name);
    }
    let numbered = (2..).map(|n| format!("{name} {n}")).find(|name| !taken(name));
    Ok(numbered.expect("BUG: numbers do not end"))
}
