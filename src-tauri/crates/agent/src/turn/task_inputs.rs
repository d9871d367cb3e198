//! The untrusted skills and context files of a task, read through the gate like any tool output.
//!
//! A read that needs an approval ends the run: no approval request precedes the first model call.

use rouse_core::approval::Refusal;
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::{SKILL_READ, ToolPolicy};
use serde_json::json;

use super::end::TurnEnd;
use super::tool_calls::ToolCaller;
use crate::context::skills::{TurnSkills, read_call, untrusted_part};
use crate::gate::{GateOutcome, GatedCall, RunPolicy};

const READ_FILE: &str = "read_file";

impl ToolCaller<'_> {
    /// Reads the untrusted skills of the turn.
    pub(crate) async fn read_skills(&self, skills: &TurnSkills) -> Result<Vec<String>, TurnEnd> {
        let policy = self.policy_for(SKILL_READ);
        let mut parts = Vec::new();
        for skill in skills.untrusted() {
            let title = format!("The skill {}", skill.name);
            match self.call_one(&policy, &read_call(skill)).await? {
                GateOutcome::Called(called) if called.output.is_error() => {
                    return Err(TurnEnd::UnreadableInput(format!(
                        "{title} could not be read: {}",
                        called.output.text()
                    )));
                }
                GateOutcome::Called(called) => {
                    parts.push(untrusted_part(
                        skill,
                        &called.model_output.text(),
                        self.scope.safety(),
                    ));
                }
                GateOutcome::NeedsApproval(request) => {
                    return Err(TurnEnd::input_needs_approval(&title, &request));
                }
            }
        }
        Ok(parts)
    }

    /// Reads the context files of a job. The model receives a read error in place of a file.
    pub(crate) async fn read_context_files(
        &self,
        paths: &[String],
    ) -> Result<Vec<String>, TurnEnd> {
        let policy = self.policy_for(READ_FILE);
        let mut parts = Vec::with_capacity(paths.len());
        for (index, path) in paths.iter().enumerate() {
            let call = ToolCallRequest {
                id: format!("context-{index}"),
                tool: READ_FILE.to_owned(),
                arguments: json!({ "path": path }),
            };
            let path = self.scope.safety().redact_stored(path);
            let title = format!("The file {path}");
            match self.call_one(&policy, &call).await? {
                GateOutcome::Called(called) if needs_approval(&called) => {
                    return Err(TurnEnd::UnreadableInput(format!(
                        "{title} could not be read. {}",
                        called.output.text()
                    )));
                }
                GateOutcome::Called(called) => {
                    parts.push(format!("{path}:\n{}", called.model_output.text()))
                }
                GateOutcome::NeedsApproval(request) => {
                    return Err(TurnEnd::input_needs_approval(&title, &request));
                }
            }
        }
        Ok(parts)
    }

    fn policy_for(&self, tool: &str) -> RunPolicy {
        let policy = ToolPolicy::for_tools(Some(vec![tool.to_owned()]));
        RunPolicy { tools: policy, ..self.policy.clone() }
    }
}

/// Whether a call was refused because of an approval that cannot be requested.
const fn needs_approval(called: &GatedCall) -> bool {
    matches!(called.refusal, Some(Refusal::EarlierApprovals | Refusal::JobDeleted))
}
