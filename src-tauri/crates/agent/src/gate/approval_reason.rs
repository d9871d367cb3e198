//! Why a call needs an approval: the text of the request, and of the refusal if the job's policy forbids requests.

use rouse_core::job::Approvals;
use rouse_core::tool::{ToolDomain, ToolSpec};

const DRIFTED: &str = "You granted this exact call to this job, but the folder, the environment (such as PATH), the sandbox or an executed file has changed since.";

/// Why a call needs an approval.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ApprovalReason<'h> {
    /// The tool's own rule.
    Tool,
    /// The job has a grant for these arguments, but the fingerprint differs.
    GrantDrifted,
    /// The run is tainted, and the call could send data out.
    Taint(Taint),
    /// A hook requires an approval, for this reason.
    Hook(&'h str),
    /// This hook rewrote the call.
    RewrittenBy(&'h str),
    /// The call requests input, for this reason.
    Input(&'h str),
}

/// How a run became tainted by untrusted input.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Taint {
    /// A tool of this run read untrusted input.
    Read,
    /// The task or the session held untrusted input before the run began.
    BeforeRun,
}

impl Taint {
    const fn text(self) -> &'static str {
        match self {
            Self::Read => "The run has read untrusted input, and this call could send data out.",
            Self::BeforeRun => {
                "The run began with untrusted input (in the task, or read earlier in the session), and this call could send data out. To remove the untrusted input, clear the session."
            }
        }
    }
}

impl ApprovalReason<'_> {
    /// Whether a hook requires the approval.
    pub(super) const fn is_hook(self) -> bool {
        matches!(self, Self::Hook(_))
    }

    /// The reason in an approval request. A program is in the highest class only outside of its sandbox.
    pub(super) fn text(self, spec: &ToolSpec, is_highest: bool, is_of_job: bool) -> String {
        let effect = match spec.domain {
            _ if !is_highest => "The call has side effects.",
            ToolDomain::InProcess => "Such a call needs your approval each time.",
            ToolDomain::Container => {
                "The call would run with your full permissions, outside the sandbox. That needs an approval each time."
            }
        };
        match self {
            Self::Hook(reason) if is_highest => format!("{} {effect}", sentence(reason)),
            Self::Hook(reason) | Self::Input(reason) => reason.to_owned(),
            Self::RewrittenBy(hook) => format!("{} {effect}", rewritten_by(hook)),
            Self::Taint(taint) => taint.text().to_owned(),
            Self::GrantDrifted if !is_highest => DRIFTED.to_owned(),
            Self::Tool if !is_highest && is_of_job => {
                "The call has side effects, and no grant of this job covers the call.".to_owned()
            }
            Self::Tool | Self::GrantDrifted => effect.to_owned(),
        }
    }

    /// The refusal for a person's own call in a job that requests no approvals.
    pub(super) fn refusal_for_person(self, tool: &str, setting: Approvals) -> String {
        let why = match self {
            Self::Hook(reason) | Self::Input(reason) => sentence(reason),
            Self::RewrittenBy(hook) => rewritten_by(hook),
            Self::GrantDrifted => DRIFTED.to_owned(),
            Self::Tool | Self::Taint(_) => format!("This call of {tool} needs your approval."),
        };
        let setting = setting.name();
        format!(
            "{why} {tool} was denied: this job's approval policy is `{setting}`. Set it to `ask` to be prompted."
        )
    }
}

fn rewritten_by(hook: &str) -> String {
    format!("The hook {hook} rewrote the call.")
}

/// `text` as a sentence.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}
