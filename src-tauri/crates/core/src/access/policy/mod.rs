//! The policy that judges a tool call. The only source of an `ApprovedCall`.
//!
//! Owns the order of judgement: tools offered to the run (fewer with an untrusted skill in the context), the call in
//! the job document, approvals of this run, grants of the job, a request to the person. Never requests approval twice
//! for a decided call, and never lets a grant cover a call that needs approval every time.
//! Pitfall: taking an approval of a tool for an approval of a call; only the fingerprint counts. A denial needs less:
//! the same arguments, whatever the state of the files.

mod approved_call;
mod denial;
mod withheld_tools;

use serde_json::Value;

use crate::UnixMs;
use crate::approval::{
    Approval, ApprovalScope, ApprovalState, Authorization, Fingerprint, Grant, Refusal,
    Surroundings, canonical,
};
use crate::extension::{ExtensionName, ToolOrigin};
use crate::job::Approvals;
use crate::skills::Skill;
use crate::tool::{ApprovalRule, ToolDomain, ToolSpec};
use crate::tool_search::TOOL_SEARCH;
pub use approved_call::ApprovedCall;
pub use denial::{Denial, denial_without_request};
pub use withheld_tools::WithheldGrant;

/// The tool that reads files of skills; offered only to a run whose skills have files.
pub const SKILL_READ: &str = "skill_read";

/// The tool that loads the instructions of a trusted skill; offered only to a run with a trusted skill.
pub const SKILL_LOAD: &str = "skill_load";

/// The calls that a run may make.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolPolicy {
    /// The allowed tools; all when none.
    allow: Option<Vec<String>>,
    /// The servers whose tools are allowed; all when none.
    servers: Option<Vec<ExtensionName>>,
    /// The call in the job document, written by the person, which counts as approved.
    written: Option<WrittenCall>,
    /// The job's policy for calls without an approval.
    approvals: Approvals,
    /// Whether a person started this turn and waits for the answer.
    is_attended: bool,
    /// Whether any skill has files beside the instructions.
    has_skill_files: bool,
    /// Whether any skill is trusted.
    has_trusted_skills: bool,
    /// Whether the run has tools that a search finds.
    has_searchable_tools: bool,
    /// Untrusted skills in the context. Any untrusted skill makes the run read-only.
    untrusted_skills: Vec<String>,
    /// Tools with a valid grant of the job.
    granted: Vec<String>,
    /// Granted tools that are not offered, because every call would be refused.
    withheld: Vec<WithheldGrant>,
}

/// A call in the job document.
#[derive(Debug, Clone, PartialEq)]
struct WrittenCall {
    tool: String,
    arguments: Value,
}

/// The first judgement of a call, before approvals and grants.
#[derive(Debug, Clone, PartialEq)]
pub enum PolicyVerdict {
    /// Allowed.
    Allowed(ApprovedCall),
    /// Allowed only with an approval or a grant.
    NeedsApproval(NeedsApproval),
    /// Denied.
    Denied(Denial),
}

/// A call that needs an approval or a grant.
#[derive(Debug, Clone, PartialEq)]
pub struct NeedsApproval {
    tool: String,
    arguments: Value,
    is_highest: bool,
    /// Whether a shell reads a part of the call, so that no pattern describes its effect.
    is_shell: bool,
    /// Whether a hook requires approval of this call, so that no grant counts.
    is_forced: bool,
    approvals: Approvals,
}

/// The decisions of the person so far.
#[derive(Debug, Clone, Copy)]
pub struct PriorDecisions<'d> {
    /// The approvals of this run.
    pub approvals: &'d [Approval],
    /// The grants of the job.
    pub grants: &'d [Grant],
    /// The current instant.
    pub now: UnixMs,
}

/// The final judgement of a call, by the person's decisions.
#[derive(Debug, Clone, PartialEq)]
pub enum CallRuling {
    /// Allowed on this basis.
    Permitted(Box<ApprovedCall>, Authorization),
    /// Undecided: ask the person.
    Ask,
    /// Denied: approval is needed, but the job requests no approvals.
    NotAsked(Approvals),
    /// Denied by the person.
    Denied(Denial),
}

impl ToolPolicy {
    /// Allows only these tools (all when none) and asks for approval where needed.
    #[must_use]
    pub const fn for_tools(allow: Option<Vec<String>>) -> Self {
        Self {
            allow,
            servers: None,
            written: None,
            approvals: Approvals::Ask,
            is_attended: false,
            has_skill_files: false,
            has_trusted_skills: false,
            has_searchable_tools: false,
            untrusted_skills: Vec::new(),
            granted: Vec::new(),
            withheld: Vec::new(),
        }
    }

    /// Allows the call of a `toolCall` job, which the person wrote. A rewritten call needs approval like a model's call.
    #[must_use]
    pub fn for_written_call(tool: &str, arguments: &Value) -> Self {
        let written = WrittenCall { tool: tool.to_owned(), arguments: arguments.clone() };
        let allow = Some(vec![tool.to_owned()]);
        Self { written: Some(written), ..Self::for_tools(allow) }
    }

    /// Allows the tools of these servers only.
    #[must_use]
    pub fn with_servers(self, servers: Vec<ExtensionName>) -> Self {
        Self { servers: Some(servers), ..self }
    }

    /// The same with this policy for calls without an approval.
    #[must_use]
    pub fn with_approvals(self, approvals: Approvals) -> Self {
        Self { approvals, ..self }
    }

    /// The same with the job's grants. A job that does not ask is offered granted tools only.
    #[must_use]
    pub fn with_grants(self, grants: &[Grant], now: UnixMs) -> Self {
        let valid = grants.iter().filter(|grant| grant.is_valid(now));
        Self { granted: valid.map(|grant| grant.tool.clone()).collect(), ..self }
    }

    /// The same for a turn that a person started and waits for.
    #[must_use]
    pub fn for_attended_turn(self) -> Self {
        Self { is_attended: true, ..self }
    }

    /// The policy for calls without an approval.
    #[must_use]
    pub const fn approvals(&self) -> Approvals {
        self.approvals
    }

    /// Whether a person waits for the result.
    #[must_use]
    pub const fn is_attended(&self) -> bool {
        self.is_attended
    }

    /// The same for a run with or without tools that a search finds.
    #[must_use]
    pub fn with_tool_search(self, has_searchable_tools: bool) -> Self {
        Self { has_searchable_tools, ..self }
    }

    /// The same with these skills in the context.
    ///
    /// An untrusted skill makes the run read-only, even with grants. Skills that list tools narrow the allowed tools to
    /// the union of the lists.
    #[must_use]
    pub fn with_skills(mut self, skills: &[Skill]) -> Self {
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

    /// The same for a run that has read these untrusted skills before.
    #[must_use]
    pub fn after_reading(mut self, untrusted: impl IntoIterator<Item = String>) -> Self {
        for name in untrusted {
            if !self.untrusted_skills.contains(&name) {
                self.untrusted_skills.push(name);
            }
        }
        self
    }

    /// The untrusted skills in the run's context.
    #[must_use]
    pub fn untrusted_skills(&self) -> &[String] {
        &self.untrusted_skills
    }

    /// Why the run is read-only, as a sentence; none when not read-only.
    #[must_use]
    pub fn read_only_reason(&self) -> Option<String> {
        let skills = match self.untrusted_skills.as_slice() {
            [] => return None,
            [one] => format!("the skill {one}, which is"),
            several => format!("the skills {}, which are", several.join(", ")),
        };
        Some(format!("This run is read-only, because its context has {skills} not trusted."))
    }

    fn is_read_only(tool: &ToolSpec) -> bool {
        // Ending the run changes nothing.
        tool.name == "complete_run"
            || (tool.annotations.read_only
                && !tool.annotations.open_world
                && tool.domain == ToolDomain::InProcess)
    }

    /// Whether the run is for a single call that the person wrote.
    #[must_use]
    pub const fn has_written_call(&self) -> bool {
        self.written.is_some()
    }

    /// Whether the person wrote exactly this call.
    #[must_use]
    pub fn is_written_call(&self, tool: &str, arguments: &Value) -> bool {
        let same = |written: &WrittenCall| written.tool == tool && written.arguments == *arguments;
        self.written.as_ref().is_some_and(same)
    }

    /// Whether the tool is offered to the model.
    #[must_use]
    pub fn offers(&self, tool: &ToolSpec) -> bool {
        // No model sees the offers of a job with a written call.
        let may_run = match tool.approval {
            ApprovalRule::Never => true,
            _ if self.approvals != Approvals::Skip || self.has_written_call() => true,
            ApprovalRule::UnlessGranted => self.is_granted(&tool.name),
            ApprovalRule::Always => false,
        };
        let is_wanted = !tool.listed_only || self.names(tool);
        may_run && is_wanted && !self.withholds(tool) && self.allows(tool)
    }

    /// Whether a call of the tool is possible, perhaps with an approval.
    fn allows(&self, tool: &ToolSpec) -> bool {
        let is_listed = match tool.name.as_str() {
            // A tool list of the job does not exclude the files of skills.
            SKILL_READ => self.has_skill_files || self.names(tool),
            SKILL_LOAD => self.has_trusted_skills,
            TOOL_SEARCH => self.has_searchable_tools || self.names(tool),
            // Nor the end of the run.
            name => self.lists(tool) || name == "complete_run",
        };
        let is_below = self.untrusted_skills.is_empty() || Self::is_read_only(tool);
        is_listed && is_below && (self.is_attended || !tool.attended_only)
    }

    /// Whether the list of tools has the name of the tool.
    #[must_use]
    pub fn names(&self, tool: &ToolSpec) -> bool {
        self.allow.as_ref().is_some_and(|names| names.contains(&tool.name))
    }

    /// Whether the lists of tools and of servers allow the tool. The list of tools narrows a server if it names any of
    /// its tools.
    fn lists(&self, tool: &ToolSpec) -> bool {
        let Some(ToolOrigin { extension, .. }) = &tool.origin else {
            return self.allow.is_none() || self.names(tool);
        };
        let is_tool_of_server = |name: &String| {
            name.strip_prefix(extension.as_str()).is_some_and(|rest| rest.starts_with('_'))
        };
        let is_narrowed = match (&self.servers, &self.allow) {
            // A named server is wanted whole unless the list names some of its tools.
            (Some(_), Some(names)) => names.iter().any(is_tool_of_server),
            (None, allow) => allow.is_some(),
            (Some(_), None) => false,
        };
        self.servers.as_ref().is_none_or(|servers| servers.contains(extension))
            && (!is_narrowed || self.names(tool))
    }

    /// Whether the person wrote exactly this call, and the written call counts as approved.
    fn is_approved_by_job(&self, tool: &ToolSpec, arguments: &Value) -> bool {
        tool.approval == ApprovalRule::UnlessGranted
            && !tool.attended_only
            && self.is_written_call(&tool.name, arguments)
    }

    /// Whether this is a rewritten call that would run with the person's own rights; only the written call has such
    /// rights.
    fn escapes_written_call(&self, tool: &ToolSpec, arguments: &Value) -> bool {
        tool.domain == ToolDomain::Container
            && self.has_written_call()
            && !self.is_written_call(&tool.name, arguments)
    }

    /// Judges a call of `tool`. The arguments match the schema, and `tool.approval` is the rule for this call.
    #[must_use]
    pub fn judge(&self, tool: &ToolSpec, arguments: Value) -> PolicyVerdict {
        self.judged(tool, arguments, false)
    }

    /// Judges a call for which a hook requires approval: neither a grant nor the written call suffices.
    #[must_use]
    pub fn judge_for_hook(&self, tool: &ToolSpec, arguments: Value) -> PolicyVerdict {
        self.judged(tool, arguments, true)
    }

    fn judged(&self, tool: &ToolSpec, arguments: Value, is_forced: bool) -> PolicyVerdict {
        let is_written = self.is_approved_by_job(tool, &arguments);
        if is_written && !is_forced {
            return PolicyVerdict::Allowed(ApprovedCall::new(arguments));
        }
        if !is_written && !self.allows(tool) {
            return PolicyVerdict::Denied(self.denial(tool));
        }
        let is_highest =
            tool.approval == ApprovalRule::Always || self.escapes_written_call(tool, &arguments);
        match tool.approval {
            ApprovalRule::Never => PolicyVerdict::Allowed(ApprovedCall::new(arguments)),
            ApprovalRule::UnlessGranted | ApprovalRule::Always => {
                PolicyVerdict::NeedsApproval(NeedsApproval {
                    tool: tool.name.clone(),
                    arguments,
                    is_highest,
                    is_shell: !tool.shell_text.is_empty(),
                    is_forced,
                    approvals: self.approvals,
                })
            }
        }
    }

    fn denial(&self, tool: &ToolSpec) -> Denial {
        let name = &tool.name;
        if let Some(reason) = self.read_only_reason().filter(|_| !Self::is_read_only(tool)) {
            let text = format!(
                "{name} may not be called. {reason} Continue without the tool, or end the run."
            );
            return Denial::new(Refusal::Ceiling { skills: self.untrusted_skills.clone() }, text);
        }
        if tool.attended_only && !self.is_attended {
            let text = format!(
                "{name} may be called only in an attended turn. Continue without the tool."
            );
            return Denial::new(Refusal::Unattended, text);
        }
        let text = format!("The tool {name} is not allowed in this run.");
        Denial::new(Refusal::NotListed, text)
    }
}

impl NeedsApproval {
    /// The arguments.
    #[must_use]
    pub const fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Whether the call needs approval every time and can never be granted.
    #[must_use]
    pub const fn is_highest(&self) -> bool {
        self.is_highest
    }

    fn permitted_by(self, approval: &Approval) -> CallRuling {
        let input = approval.input_reply();
        let call = ApprovedCall::new(self.arguments).with_input(input);
        CallRuling::Permitted(Box::new(call), Authorization::Approval(approval.id.clone()))
    }

    fn is_covered_by(&self, approval: &Approval, scope: ApprovalScope) -> bool {
        match scope {
            ApprovalScope::Run => !self.is_highest || approval.used_at.is_none(),
            // The approved call itself runs by this approval; later calls by the grant, which may be revoked.
            ApprovalScope::Once | ApprovalScope::Always => approval.used_at.is_none(),
        }
    }

    /// Whether the request was for the same arguments, in any surroundings.
    fn has_arguments_of(&self, approval: &Approval) -> bool {
        approval.tool == self.tool && canonical(&approval.arguments) == canonical(&self.arguments)
    }

    /// Judges the call by the person's decisions. An approval or denial of this run has priority over a grant. Changed
    /// surroundings void an approval; a denial still holds. Any answer to an input request permits the call, once.
    #[must_use]
    pub fn evaluate(self, prior: PriorDecisions<'_>, surroundings: &Surroundings) -> CallRuling {
        let name = &self.tool;
        let fingerprint = Fingerprint::of(name, &self.arguments, surroundings);
        let for_grant = Fingerprint::for_grant(name, &self.arguments, surroundings);
        let same_call = prior.approvals.iter().rev().filter(|approval| match approval.state {
            ApprovalState::Denied { .. } | ApprovalState::Expired { .. }
                if approval.input.is_none() =>
            {
                self.has_arguments_of(approval)
            }
            _ => {
                approval.fingerprint == fingerprint
                    || is_used_in_run(approval) && approval.grant_fingerprint() == for_grant
            }
        });
        for approval in same_call {
            match &approval.state {
                _ if approval.input.is_some() => {
                    if approval.permits_call() {
                        return self.permitted_by(approval);
                    }
                }
                ApprovalState::Approved { scope, .. } if self.is_covered_by(approval, *scope) => {
                    return self.permitted_by(approval);
                }
                ApprovalState::Denied { reason, .. } => {
                    return CallRuling::Denied(Denial::by_person(name, reason.as_deref()));
                }
                ApprovalState::Expired { .. } => {
                    return CallRuling::Denied(Denial::by_expiry(name));
                }
                // Used up, or the basis of a grant, which is judged below.
                ApprovalState::Approved { .. }
                | ApprovalState::Pending
                | ApprovalState::Withdrawn { .. }
                | ApprovalState::Covered { .. } => {}
            }
        }
        let covers = |grant: &&Grant| {
            !self.is_forced
                && (grant.is_exact() || !self.is_shell)
                && grant.is_valid(prior.now)
                && grant.permits_call(&self.tool, &self.arguments, surroundings, self.is_highest)
        };
        if let Some(grant) = prior.grants.iter().find(covers) {
            let authorization = Authorization::Grant(grant.id.clone());
            let call = ApprovedCall::new(self.arguments);
            return CallRuling::Permitted(Box::new(call), authorization);
        }
        match self.approvals {
            Approvals::Ask => CallRuling::Ask,
            Approvals::Deny | Approvals::Skip => CallRuling::NotAsked(self.approvals),
        }
    }
}

/// Whether the approval allows the call for the whole run and was used: the call itself has changed the replaced files.
fn is_used_in_run(approval: &Approval) -> bool {
    matches!(approval.state, ApprovalState::Approved { scope: ApprovalScope::Run, .. })
        && approval.used_at.is_some()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod skill_tests;
#[cfg(test)]
mod input_tests;
