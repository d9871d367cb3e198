//! Denials: the kind, and the message for the model.

use crate::approval::Refusal;

/// Why a call may not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The kind.
    pub refusal: Refusal,
    /// The message for the model and the person.
    pub text: String,
}

impl Denial {
    pub(super) const fn new(refusal: Refusal, text: String) -> Self {
        Self { refusal, text }
    }

    /// Denied by the person.
    pub(super) fn by_person(tool: &str, reason: Option<&str>) -> Self {
        let text = match reason {
            Some(reason) => format!(
                "The person denied this call of {tool}: {reason}\nDo not repeat the call. Continue without it, or end the run."
            ),
            None => format!(
                "The person denied this call of {tool}. Do not repeat the call. Continue without it, or end the run."
            ),
        };
        Self::new(Refusal::Denied { reason: reason.map(str::to_owned) }, text)
    }

    /// Expired undecided.
    pub(super) fn by_expiry(tool: &str) -> Self {
        let text = format!(
            "The approval of this call of {tool} expired, so the call was not made. Do not request it again. End the run with the results so far."
        );
        Self::new(Refusal::Expired, text)
    }
}

/// The message for the model when a call needs approval and the job requests no approvals.
#[must_use]
pub fn denial_without_request(tool: &str) -> String {
    format!(
        "This call of {tool} needs approval, but this job requests no approvals. Continue without the call."
    )
}
