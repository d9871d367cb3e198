//! The progress of a running call, on its way from a tool to the people who watch the run.
//!
//! Owns the port only. Progress is never stored and never reaches a model. The text is untrusted input: the receiver
//! redacts and shortens it. Pitfall: a message for each step of a loop; the tool limits the rate.

use std::sync::Arc;

/// A progress message of a running call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallProgress<'a> {
    /// The number of the call's step in the journal of the run.
    pub step: u32,
    /// The tool.
    pub tool: &'a str,
    /// The message, such as `3 of 10`.
    pub text: &'a str,
}

type ProgressReceiver = Arc<dyn Fn(CallProgress<'_>) + Send + Sync>;

/// Takes the progress of a call. Without a receiver, reports go nowhere.
#[derive(Clone, Default)]
pub struct ProgressReporter {
    receiver: Option<ProgressReceiver>,
    step: u32,
    tool: String,
}

impl ProgressReporter {
    /// Passes the progress of all calls of a run to `receiver`.
    #[must_use]
    pub fn new(receiver: impl Fn(CallProgress<'_>) + Send + Sync + 'static) -> Self {
        Self { receiver: Some(Arc::new(receiver)), ..Self::default() }
    }

    /// The same for the call of `tool` in this step.
    #[must_use]
    pub fn of_call(&self, step: u32, tool: &str) -> Self {
        Self { receiver: self.receiver.clone(), step, tool: tool.to_owned() }
    }

    /// Reports progress of the call.
    pub fn report(&self, text: &str) {
        if let Some(receiver) = &self.receiver {
            receiver(CallProgress { step: self.step, tool: &self.tool, text });
        }
    }
}
