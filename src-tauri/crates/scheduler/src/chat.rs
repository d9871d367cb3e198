//! What a person writes to the main session.
//!
//! A message is a run, like everything else that is done: it is on the disk before anybody says that it was taken, waits
//! in the lane of the main session behind what is going there, and has one end that can be seen. A pause and the kill
//! switch are for what happens by itself and do not touch it. When Rouse stops while it is answered, it is put back and
//! goes on from what was said and done by then. One could get it wrong by trying for ever: a message that ends Rouse
//! each time would keep it from starting.

use rouse_core::{Run, RunId, RunTrigger};
use serde_json::json;

use crate::SchedulerError;
use crate::engine::Engine;
use crate::tick::new_run;

/// What people read as the name of such a run.
const NAME: &str = "Chat";

impl Engine {
    /// A message with a key that was taken before is that message: nothing is begun again.
    pub(crate) async fn chat(
        &mut self,
        text: &str,
        key: Option<&str>,
    ) -> Result<RunId, SchedulerError> {
        let now = self.clock.now();
        let id = key.map(|key| RunId::new(format!("chat-{key}")));
        if let Some(id) = &id
            && let Some(taken) = self.store.run(id).await?
        {
            let is_same = taken.payload["text"] == text;
            return if is_same { Ok(taken.id) } else { Err(SchedulerError::KeyIsTaken) };
        }
        let payload = json!({ "kind": "chat", "text": text });
        let job_name = NAME.to_owned();
        let run = new_run(None, RunTrigger::Chat, payload, now);
        let run = Run { job_name, id: id.unwrap_or_else(|| run.id.clone()), ..run };
        self.store.insert_run(&run, now).await?;
        let id = run.id.clone();
        self.enqueue(run, None);
        Ok(id)
    }
}
