//! May exactly this call run? The only place where an `ApprovedCall` comes from.
//!
//! Owns the order of the answers to that question: what a run is offered at all (less, with the text of a skill in it
//! that nobody has trusted), what a person has written down, what a person has said in this run, what a person has
//! granted to the job, and only then whether anybody is asked. It refuses to ask twice what was answered, and lets no
//! grant cover a call of the highest class. One could get it wrong by taking a yes to a tool for a yes to a call: only
//! the fingerprint of the call counts. A no needs less: it is one to these words, whatever they would work with by then.

mod approved;
mod denial;
mod withheld;

use serde_json::Value;

use crate::UnixMs;
use crate::approval::{
    Approval, ApprovalState, Fingerprint, Grant, Permit, Refusal, Scope, Surroundings, canonical,
};
use crate::job::Approvals;
use crate::skills::Skill;
use crate::tool::{ApprovalRule, Domain, ToolSpec};
pub use approved::ApprovedCall;
use approved::differ_by_stand_ins_alone;
pub use denial::{Denial, unasked};
pub use withheld::Withheld;

/// The tool that reads the files of skills, and is there only for a run that has some.
pub const SKILL_READ: &str = "skill_read";

/// The tool that loads the instructions of a trusted skill, offered only to a run that has one.
pub const SKILL_LOAD: &str = "skill_load";

/// What a run is allowed to call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolPolicy {
    /// Only these tools; all when absent.
    allow: Option<Vec<String>>,
    /// The one call that the person has written down word for word, which is as good as a yes to it.
    written: Option<WrittenCall>,
    /// What becomes of calls that need a yes and have none.
    asks: Approvals,
    /// Whether a person is there and has asked for this turn.
    is_attended: bool,
    /// Whether any of its skills has files beside its instructions.
    has_skill_files: bool,
    /// Whether any of its skills is trusted.
    has_trusted_skills: bool,
    /// The skills in its context that nobody has trusted: with any of them it may only look.
    untrusted_skills: Vec<String>,
    /// The tools that a grant of its job covers a call of.
    granted: Vec<String>,
    /// What is not offered although it was granted.
    withheld: Vec<Withheld>,
}

/// A call as it stands in a job.
#[derive(Debug, Clone, PartialEq)]
struct WrittenCall {
    tool: String,
    arguments: Value,
}

/// The first answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It may run.
    Allowed(ApprovedCall),
    /// Only with a person's yes.
    NeedsYes(NeedsYes),
    /// It may not.
    Denied(Denial),
}

/// A call that may run only with a person's yes.
#[derive(Debug, Clone, PartialEq)]
pub struct NeedsYes {
    tool: String,
    arguments: Value,
    is_highest: bool,
    /// Whether a shell reads a part of it: then no pattern tells what it does.
    is_shell: bool,
    /// Whether somebody wants a yes to this very call, so that no standing one counts.
    is_wished: bool,
    asks: Approvals,
}

/// What the person has said so far.
#[derive(Debug, Clone, Copy)]
pub struct Said<'s> {
    /// The questions of this run, with their answers.
    pub answers: &'s [Approval],
    /// The grants of its job.
    pub grants: &'s [Grant],
    /// When it is.
    pub now: UnixMs,
}

/// The second answer to a call, in the light of what the person has said.
#[derive(Debug, Clone, PartialEq)]
pub enum Ruling {
    /// It may run, on this ground.
    Permitted(Box<ApprovedCall>, Permit),
    /// The person is to be asked.
    Ask,
    /// It may not: it needs a yes, and its run asks nobody.
    Unasked(Approvals),
    /// It may not.
    Denied(Denial),
}

impl ToolPolicy {
    /// Only these tools, all when none; what needs a yes is asked for.
    #[must_use]
    pub const fn of_tools(allow: Option<Vec<String>>) -> Self {
        Self {
            allow,
            written: None,
            asks: Approvals::Ask,
            is_attended: false,
            has_skill_files: false,
            has_trusted_skills: false,
            untrusted_skills: Vec::new(),
            granted: Vec::new(),
            withheld: Vec::new(),
        }
    }

    /// The call of a `toolCall` job, which the person has written. Any other that is made of it is a call like those of
    /// a model, and so is this one where somebody wants it asked.
    #[must_use]
    pub fn of_a_persons_call(tool: &str, arguments: &Value) -> Self {
        let written = WrittenCall { tool: tool.to_owned(), arguments: arguments.clone() };
        let allow = Some(vec![tool.to_owned()]);
        Self { written: Some(written), ..Self::of_tools(allow) }
    }

    /// The same, with this becoming of calls that need a yes and have none.
    #[must_use]
    pub fn asking(self, asks: Approvals) -> Self {
        Self { asks, ..self }
    }

    /// The same with these grants of its job: what it offers of tools that ask, where it asks nobody and offers no others.
    #[must_use]
    pub fn granted(self, grants: &[Grant], now: UnixMs) -> Self {
        let good = grants.iter().filter(|grant| grant.is_good(now));
        Self { granted: good.map(|grant| grant.tool.clone()).collect(), ..self }
    }

    /// The same for a turn that a person has asked for and waits for.
    #[must_use]
    pub fn attended(self) -> Self {
        Self { is_attended: true, ..self }
    }

    /// Whether a person waits for what it lets through.
    #[must_use]
    pub const fn is_attended(&self) -> bool {
        self.is_attended
    }

    /// The same with the texts of these skills in its context.
    ///
    /// One that nobody has trusted lowers what may be called to tools that only look, whatever the job says and whatever
    /// was granted. Those that name their tools narrow what there is to what they name together; the others widen nothing.
    #[must_use]
    pub fn told_of(mut self, skills: &[Skill]) -> Self {
        let untrusted = skills.iter().filter(|skill| !skill.trust.is_given());
        self.untrusted_skills.extend(untrusted.map(|skill| skill.name.clone()));
        self.has_trusted_skills |= skills.iter().any(|skill| skill.trust.is_given());
        self.has_skill_files |= skills.iter().any(|skill| !skill.files.is_empty());
        let named: Vec<&[String]> =
            skills.iter().filter_map(|skill| skill.tools.as_deref()).collect();
        if !named.is_empty() {
            let wanted = named.concat();
            self.allow = Some(match self.allow {
                Some(names) => names.into_iter().filter(|name| wanted.contains(name)).collect(),
                None => wanted,
            });
        }
        self
    }

    /// The same for a run that has read the text of such a skill before.
    #[must_use]
    pub fn having_read(mut self, untrusted: impl IntoIterator<Item = String>) -> Self {
        for name in untrusted {
            if !self.untrusted_skills.contains(&name) {
                self.untrusted_skills.push(name);
            }
        }
        self
    }

    /// The skills that nobody trusts among what its run has read.
    #[must_use]
    pub fn untrusted_skills(&self) -> &[String] {
        &self.untrusted_skills
    }

    /// Why only tools that look may be called; none when that is not so.
    #[must_use]
    pub fn ceiling(&self) -> Option<String> {
        let skills = match self.untrusted_skills.as_slice() {
            [] => return None,
            [one] => format!("the skill {one}, which"),
            several => format!("the skills {}, which", several.join(", ")),
        };
        Some(format!("This run is told of {skills} nobody has trusted, so it may only look."))
    }

    fn only_looks(tool: &ToolSpec) -> bool {
        // Ending the run changes nothing.
        tool.name == "complete_run"
            || (tool.annotations.read_only
                && !tool.annotations.open_world
                && tool.domain == Domain::InProcess)
    }

    /// Whether a person has written down the one call that there is.
    #[must_use]
    pub const fn is_a_persons_call(&self) -> bool {
        self.written.is_some()
    }

    /// Whether a person has written down this very call.
    #[must_use]
    pub fn has_written(&self, tool: &str, arguments: &Value) -> bool {
        let same = |written: &WrittenCall| written.tool == tool && written.arguments == *arguments;
        self.written.as_ref().is_some_and(same)
    }

    /// Whether the tool is offered at all.
    #[must_use]
    pub fn offers(&self, tool: &ToolSpec) -> bool {
        // The tool of a call that a person has written is offered to nobody.
        let may_run = match tool.approval {
            ApprovalRule::Never => true,
            _ if self.asks != Approvals::Skip || self.is_a_persons_call() => true,
            ApprovalRule::UnlessGranted => self.is_granted(&tool.name),
            ApprovalRule::Always => false,
        };
        let is_wanted = !tool.listed_only || self.names(tool);
        may_run && is_wanted && !self.withholds(tool) && self.lets_call(tool)
    }

    /// Whether it may be called, if only with a yes.
    fn lets_call(&self, tool: &ToolSpec) -> bool {
        let is_listed = match tool.name.as_str() {
            // Nobody lists away the files of a skill that the job names.
            SKILL_READ => self.has_skill_files || self.names(tool),
            SKILL_LOAD => self.has_trusted_skills,
            // The run's own way out cannot be listed away either.
            name => self.lists(tool) || name == "complete_run",
        };
        let is_below = self.untrusted_skills.is_empty() || Self::only_looks(tool);
        is_listed && is_below && (self.is_attended || !tool.attended_only)
    }

    fn names(&self, tool: &ToolSpec) -> bool {
        self.allow.as_ref().is_some_and(|names| names.contains(&tool.name))
    }

    fn lists(&self, tool: &ToolSpec) -> bool {
        self.allow.as_ref().is_none_or(|names| names.contains(&tool.name))
    }

    /// Whether the person has written down this very call, and that is as good as a yes to it.
    fn is_written(&self, tool: &ToolSpec, arguments: &Value) -> bool {
        tool.approval == ApprovalRule::UnlessGranted
            && !tool.attended_only
            && self.has_written(&tool.name, arguments)
    }

    /// Whether it would run with the person's own rights, which only what the person has written has.
    fn has_rights_of_another(&self, tool: &ToolSpec, arguments: &Value) -> bool {
        tool.domain == Domain::Container
            && self.is_a_persons_call()
            && !self.has_written(&tool.name, arguments)
    }

    /// Judges one call of `tool`, whose rule is the one for this very call and whose arguments fit its schema.
    #[must_use]
    pub fn judge(&self, tool: &ToolSpec, arguments: Value) -> Verdict {
        self.judged(tool, arguments, false)
    }

    /// The same for a call to which a hook wants a person's yes: neither a grant nor that the person has written the
    /// call down stands for that.
    #[must_use]
    pub fn judge_wished(&self, tool: &ToolSpec, arguments: Value) -> Verdict {
        self.judged(tool, arguments, true)
    }

    fn judged(&self, tool: &ToolSpec, arguments: Value, is_wished: bool) -> Verdict {
        let is_written = self.is_written(tool, &arguments);
        if is_written && !is_wished {
            return Verdict::Allowed(ApprovedCall::judged(arguments));
        }
        if !is_written && !self.lets_call(tool) {
            return Verdict::Denied(self.refusal(tool));
        }
        let is_highest =
            tool.approval == ApprovalRule::Always || self.has_rights_of_another(tool, &arguments);
        match tool.approval {
            ApprovalRule::Never => Verdict::Allowed(ApprovedCall::judged(arguments)),
            ApprovalRule::UnlessGranted | ApprovalRule::Always => Verdict::NeedsYes(NeedsYes {
                tool: tool.name.clone(),
                arguments,
                is_highest,
                is_shell: !tool.shell_text.is_empty(),
                is_wished,
                asks: self.asks,
            }),
        }
    }

    fn refusal(&self, tool: &ToolSpec) -> Denial {
        let name = &tool.name;
        if let Some(ceiling) = self.ceiling().filter(|_| !Self::only_looks(tool)) {
            let words =
                format!("{name} may not be called. {ceiling} Go on without it, or end the run.");
            return Denial::new(Refusal::Ceiling { skills: self.untrusted_skills.clone() }, words);
        }
        if tool.attended_only && !self.is_attended {
            let words =
                format!("{name} may be called only while a person is there. Go on without it.");
            return Denial::new(Refusal::Unattended, words);
        }
        let words = format!("The tool {name} is not allowed in this run.");
        Denial::new(Refusal::NotListed, words)
    }
}

impl NeedsYes {
    /// The arguments.
    #[must_use]
    pub const fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Whether it belongs to the highest class: asked each time, granted never.
    #[must_use]
    pub const fn is_highest(&self) -> bool {
        self.is_highest
    }

    /// The same call as it is written down, with handles or marks where secrets stand in it; none when anything else in it
    /// differs.
    #[must_use]
    pub fn as_kept(self, arguments: Value) -> Option<Self> {
        differ_by_stand_ins_alone(&arguments, &self.arguments).then_some(Self { arguments, ..self })
    }

    fn call(self) -> ApprovedCall {
        ApprovedCall::judged(self.arguments)
    }

    fn is_answered(&self, asked: &Approval, scope: Scope) -> bool {
        match scope {
            Scope::Run => !self.is_highest || asked.used_at.is_none(),
            // The call that asked runs by its answer; whatever comes after it by the grant, which may have been taken back.
            Scope::Once | Scope::Always => asked.used_at.is_none(),
        }
    }

    /// Whether it was asked about in these words, whatever the call worked with then.
    fn was_asked(&self, asked: &Approval, surroundings: &Surroundings) -> bool {
        asked.tool == self.tool
            && asked.surroundings.stand_for_the_same(surroundings)
            && canonical(&asked.arguments) == canonical(&self.arguments)
    }

    /// Judges it, with what it works with now, by what the person has said to exactly this call. An answer of this run
    /// goes before a grant, so that a no stands against an older yes. What has changed since makes a yes none, and a no
    /// no question.
    #[must_use]
    pub fn in_the_light_of(self, said: Said<'_>, surroundings: &Surroundings) -> Ruling {
        let name = &self.tool;
        let fingerprint = Fingerprint::of(name, &self.arguments, surroundings);
        let standing = Fingerprint::standing(name, &self.arguments, surroundings);
        let about = said.answers.iter().rev().filter(|asked| match asked.state {
            ApprovalState::Denied { .. } | ApprovalState::Expired { .. } => {
                self.was_asked(asked, surroundings)
            }
            _ => {
                let has_same_values =
                    asked.surroundings.values_set_at == surroundings.values_set_at;
                asked.fingerprint == fingerprint
                    || goes_on(asked) && has_same_values && asked.standing() == standing
            }
        });
        for asked in about {
            match &asked.state {
                ApprovalState::Approved { scope, .. } if self.is_answered(asked, *scope) => {
                    let permit = Permit::Answer(asked.id.clone());
                    return Ruling::Permitted(Box::new(self.call()), permit);
                }
                ApprovalState::Denied { reason, .. } => {
                    return Ruling::Denied(Denial::by_person(name, reason.as_deref()));
                }
                ApprovalState::Expired { .. } => return Ruling::Denied(Denial::by_nobody(name)),
                // Used up, or made into a grant that is looked at below.
                ApprovalState::Approved { .. }
                | ApprovalState::Pending
                | ApprovalState::Withdrawn { .. }
                | ApprovalState::Covered { .. } => {}
            }
        }
        let covers = |grant: &&Grant| {
            !self.is_wished
                && (grant.is_exact() || !self.is_shell)
                && grant.is_good(said.now)
                && grant.says_yes(&self.tool, &self.arguments, surroundings, self.is_highest)
        };
        if let Some(grant) = said.grants.iter().find(covers) {
            let permit = Permit::Grant(grant.id.clone());
            return Ruling::Permitted(Box::new(self.call()), permit);
        }
        match self.asks {
            Approvals::Ask => Ruling::Ask,
            Approvals::Deny | Approvals::Skip => Ruling::Unasked(self.asks),
        }
    }
}

/// Whether it is a yes for a run that has made the call before, and so has changed what the call replaces.
fn goes_on(asked: &Approval) -> bool {
    matches!(asked.state, ApprovalState::Approved { scope: Scope::Run, .. })
        && asked.used_at.is_some()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod skill_tests;
