//! A no: of which kind it is, and what a model is told of it.

use crate::approval::Refusal;

/// Why a call may not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// Of which kind it is.
    pub why: Refusal,
    /// The same for the model and the person.
    pub words: String,
}

impl Denial {
    pub(super) const fn new(why: Refusal, words: String) -> Self {
        Self { why, words }
    }

    /// The person said no.
    pub(super) fn by_person(tool: &str, reason: Option<&str>) -> Self {
        let words = match reason {
            Some(reason) => format!(
                "The person said no to this call of {tool}: {reason}\nDo not try it again. Go on without it, or end the run."
            ),
            None => format!(
                "The person said no to this call of {tool}. Do not try it again. Go on without it, or end the run."
            ),
        };
        Self::new(Refusal::Denied { reason: reason.map(str::to_owned) }, words)
    }

    /// Nobody answered in time.
    pub(super) fn by_nobody(tool: &str) -> Self {
        let words = format!(
            "Nobody answered in time whether this call of {tool} may be made, so it was not made. Do not ask for it again. End the run with what there is."
        );
        Self::new(Refusal::Expired, words)
    }
}

/// What a model is told of a call that needs a yes in a run that asks nobody.
#[must_use]
pub fn unasked(tool: &str) -> String {
    format!(
        "This call of {tool} needs a person's yes, and this job does not ask for it. Go on without it."
    )
}
