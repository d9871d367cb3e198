//! A job as one of its runs was claimed with it.
//!
//! What a run does is settled when it is claimed: editing its job fires nothing, so it must not make another work of a run
//! that waits, for its place, an answer or its next attempt, either. Everything else about the job (whether it is on, its
//! policies, its name) counts as it is now. One could get it wrong by asking only whether the kind is still the same: a
//! yes that was given to one message would carry out another one.

use serde_json::{Value, json};

use super::{Job, JobError, MESSAGE_BY, Payload, SessionTarget, stored_payload_from_json};

impl Job {
    /// This job with the work that a run was claimed with.
    ///
    /// # Errors
    /// When nobody can read what that was.
    pub fn as_claimed(mut self, payload: &Value) -> Result<Self, JobError> {
        let claimed = stored_payload_from_json(payload.clone())?;
        if claimed == self.payload {
            return Ok(self);
        }
        // Who wrote the words of now says nothing about those of then, unless nobody but a person ever wrote any.
        if self.extra.contains_key(MESSAGE_BY) && claimed.message() != self.payload.message() {
            self.extra.insert(MESSAGE_BY.to_owned(), json!({ "kind": "agent" }));
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
    fn the_work_is_that_of_the_claim_and_the_rest_is_that_of_now() {
        let before = job(json!({ "kind": "person" }));
        let claimed = crate::job::payload_to_json(&before.payload);
        let reminder = json!({ "kind": "systemEvent", "text": "Drink water" });
        let patch = json!({ "name": "Water", "sessionTarget": "main", "payload": reminder });
        let after = edited(&before, patch);
        let works = after.clone().as_claimed(&claimed).expect("read");
        assert_eq!((works.name.as_str(), &works.payload), ("Water", &before.payload));
        assert_eq!(works.session_target, SessionTarget::Isolated);
        assert!(works.is_message_by_person());
        let same = crate::job::payload_to_json(&after.payload);
        assert_eq!(after.clone().as_claimed(&same), Ok(after.clone()));
        assert!(after.as_claimed(&json!({ "kind": "dance" })).is_err());
    }

    #[test]
    fn words_that_a_person_has_replaced_are_not_theirs() {
        let before = job(json!({ "kind": "agent" }));
        let claimed = crate::job::payload_to_json(&before.payload);
        let after = edited(&before, json!({ "payload": { "message": "Tidy up my desk" } }));
        assert!(after.is_message_by_person());
        assert!(!after.as_claimed(&claimed).expect("read").is_message_by_person());
    }
}
