//! Why a call is asked about, in the words of the question and of a run that asks nobody.

use rouse_core::job::Approvals;

const DRIFTED: &str = "You have granted exactly this call to this job, and what it works with is another one since: its folder, its environment (such as PATH), how it is confined, or a file that it runs.";

/// Why a call needs a yes that its tool would not ask for in general.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Why<'w> {
    Usual,
    /// Its job was granted exactly this call, when it worked with something else.
    Drifted,
    KnowsOutside(Known),
    /// A hook wants it, for this reason.
    Hook(&'w str),
    /// This hook has made it of another call.
    MadeBy(&'w str),
}

/// How a run knows text that somebody else may have written.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Known {
    /// It has read it.
    Read,
    /// It began with it: with what its session has read, or a task in the words of an agent.
    Told,
}

impl Known {
    fn in_words(self) -> &'static str {
        match self {
            Self::Read => {
                "The run has read text that somebody else may have written, and this call could carry what it knows to others."
            }
            Self::Told => {
                "The run was told text that somebody else may have written (in its task, or read earlier in its session), and this call could carry what it knows to others. Clearing the session makes it forget."
            }
        }
    }
}

impl Why<'_> {
    /// Whether a hook wants it.
    pub(super) const fn is_wish(self) -> bool {
        matches!(self, Self::Hook(_))
    }

    /// Why it is asked, for the person.
    pub(super) fn of_question(self, is_highest: bool, is_of_job: bool) -> String {
        if is_highest {
            let own = "It would run with your own rights, outside the sandbox. That is asked for each time.";
            return match self {
                Why::Hook(reason) => format!("{} {own}", sentence(reason)),
                Why::MadeBy(hook) => format!("{} {own}", made_by(hook)),
                Why::Usual | Why::Drifted | Why::KnowsOutside(_) => own.to_owned(),
            };
        }
        match self {
            Why::Hook(reason) => reason.to_owned(),
            Why::MadeBy(hook) => format!("{} It changes something or sends something.", made_by(hook)),
            Why::KnowsOutside(known) => known.in_words().to_owned(),
            Why::Drifted => DRIFTED.to_owned(),
            Why::Usual if !is_of_job => "It changes something or sends something.".to_owned(),
            Why::Usual => "It changes something or sends something, and nothing that you have granted to this job covers it.".to_owned(),
        }
    }

    /// What a person is told of their call that needs a yes in a run that asks nobody.
    pub(super) fn unasked(self, tool: &str, setting: Approvals) -> String {
        let why = match self {
            Why::Hook(reason) => sentence(reason),
            Why::MadeBy(hook) => made_by(hook),
            Why::Drifted => DRIFTED.to_owned(),
            Why::Usual | Why::KnowsOutside(_) => {
                format!("This call of {tool} needs your yes.")
            }
        };
        format!(
            "{why} Nobody was asked, because this job's approvals are set to {}, so {tool} was not called. Set them to ask to be asked.",
            setting.name()
        )
    }
}

fn made_by(hook: &str) -> String {
    format!("The hook {hook} has made another call of it.")
}

/// What a hook has said, as a sentence.
pub(super) fn sentence(said: &str) -> String {
    let said = said.trim_end();
    if said.ends_with(['.', '!', '?']) { said.to_owned() } else { format!("{said}.") }
}
