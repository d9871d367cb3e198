//! A job with the payload of a run's claim.
//!
//! A claim settles the payload of the run: an edit of the job does not change a run that is queued, parked or in
//! backoff. Everything else (enabled, policies, name) is the current state.
//! Pitfall: comparing only the kind. An approval of a message would carry out another message.

use serde_json::{Value, json};

use super::document::{Job, SessionTarget};
use super::payload::Payload;
use super::read::{JobError, parse};

impl Job {
    /// This job with the payload of a run's claim.
    ///
    /// # Errors
    /// When the payload cannot be read.
    pub fn as_claimed(mut self, payload: &Value) -> Result<Self, JobError> {
        let claimed: Payload = parse(payload.clone())?;
        if claimed == self.payload {
            return Ok(self);
        }
        // The author of the current message is not the author of the earlier message, unless no agent ever wrote a
        // message.
        if self.message_by.is_some() && claimed.message() != self.payload.message() {
            self.message_by = Some(json!({ "kind": "agent" }));
        }
        self.session_target = match claimed {
            Payload::SystemEvent { .. } => SessionTarget::Main,
            Payload::AgentTurn(_) | Payload::ToolCall(_) => SessionTarget::Isolated,
        };
        self.payload = claimed;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnixMs;
    use crate::job::{job_from_json, patch_job};

    fn job(by: Value) -> Job {
        let document = json!({
            "name": "Tidy",
            "createdBy": by,
            "schedule": { "kind": "manual" },
            "payload": { "kind": "agentTurn", "message": "Tidy up" },
        });
        job_from_json(document, UnixMs(0), chrono_tz::UTC).expect("a job")
    }

    fn edited(job: &Job, patch: Value) -> Job {
        patch_job(job, patch, UnixMs(1), chrono_tz::UTC).expect("a job")
    }

    #[test]
    fn work_is_of_the_claim_and_policies_are_current() {
        let before = job(json!({ "kind": "person" }));
        let claimed = crate::job::to_json(&before.payload);
        let reminder = json!({ "kind": "systemEvent", "text": "Drink water" });
        let patch = json!({ "name": "Water", "sessionTarget": "main", "payload": reminder });
        let after = edited(&before, patch);
        let works = after.clone().as_claimed(&claimed).expect("read");
        assert_eq!((works.name.as_str(), &works.payload), ("Water", &before.payload));
        assert_eq!(works.session_target, SessionTarget::Isolated);
        assert!(works.is_message_by_person());
        let same = crate::job::to_json(&after.payload);
        assert_eq!(after.clone().as_claimed(&same), Ok(after.clone()));
        assert!(after.as_claimed(&json!({ "kind": "dance" })).is_err());
    }

    #[test]
    fn words_that_a_person_has_replaced_are_not_theirs() {
        let before = job(json!({ "kind": "agent" }));
        let claimed = crate::job::to_json(&before.payload);
        let after = edited(&before, json!({ "payload": { "message": "Tidy up my desk" } }));
        assert!(after.is_message_by_person());
        assert!(!after.as_claimed(&claimed).expect("read").is_message_by_person());
    }
}
