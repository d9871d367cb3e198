//! Screening of a call: secrets, sandbox, and the person's list in HEARTBEAT.md.
//!
//! Owns the checks before an approval is requested, because a person must not approve a forbidden call: a stored value in
//! the arguments, a secret handle that cannot be filled, a key-shaped text on its way out. Handles are filled last, after
//! approval and journal. A call that the person wrote into the job may send key-shaped text.
//! Also owns the attribution of changes to HEARTBEAT.md, and the arguments and injection notes of the journal.
//! Pitfall: caching `is_written_call` across a hook; a rewritten call is no longer the person's own.

use rouse_core::approval::Refusal;
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::ApprovedCall;
use rouse_core::redaction::redacted_secrets;
use rouse_core::tool::{Annotations, SandboxMode, Tool, ToolContext, ToolDomain, ToolOutput};
use rouse_store::{JournalNote, StoreError};
use serde_json::{Value, json};

use super::refusal::CallRefusal;
use super::types::{Gate, GateStop, GatedCall, RunPolicy};
use crate::heartbeat_list::{ListChange, WatchedCall};
use crate::safety::result_size::for_journal;
use crate::safety::{InjectionSignal, Safety};
use crate::secrets::HandleError;

impl Gate {
    /// Screens the arguments of a call. Returns a reason if a person must check them: only a person can tell whether a
    /// program searches for a key-shaped text or sends it away.
    ///
    /// # Errors
    /// When the call must not be made.
    pub(super) async fn screen(
        &self,
        policy: &RunPolicy,
        tool: &dyn Tool,
        request: &ToolCallRequest,
        context: &ToolContext,
    ) -> Result<Option<String>, GateStop> {
        let arguments = &request.arguments;
        let stored = self.stored_secrets_in(arguments).await;
        if !stored.is_empty() {
            return Err(self.stored_secret_refusal(&request.tool, stored).into());
        }
        let filled = self.safety.secrets().fill_handles_with_reload(tool, arguments).await;
        filled.map_err(|error| handle_refusal(&error))?;
        let is_egress = !is_offline(tool, context)
            && Safety::is_egress(&tool.spec().name, tool.annotations(arguments));
        if !is_egress || policy.is_written_call(request) {
            return Ok(None);
        }
        match self.safety.check_egress(arguments) {
            Ok(()) => Ok(None),
            Err(leak) if leak.is_only_key_shaped() && is_program(tool) => {
                let places = self.safety.places_of_leak(&leak, arguments);
                Ok(Some(format!(
                    "The arguments may hold a key ({places}), and the call could send it away."
                )))
            }
            Err(leak) => {
                let text = leak.to_string();
                Err(CallRefusal::new(Refusal::Leak { found: leak.what }, text).into())
            }
        }
    }

    async fn stored_secrets_in(&self, arguments: &Value) -> Vec<String> {
        let arguments = arguments.clone();
        self.safety.off_thread(move |safety| safety.stored_secrets_in(&arguments)).await
    }

    /// The refusal of a call with values of the stored secrets `names` in the arguments.
    fn stored_secret_refusal(&self, tool: &str, names: Vec<String>) -> CallRefusal {
        let with_handle = names.iter().filter(|name| self.safety.secrets().has_handle(name));
        let handles: Vec<String> =
            with_handle.map(|name| format!("{{{{secret:{name}}}}}")).collect();
        let advice = if handles.is_empty() {
            "Remove the value.".to_owned()
        } else {
            format!(
                "Write {} instead. Rouse fills in the value when it sends a request to a bound host.",
                handles.join(", ")
            )
        };
        let text = format!(
            "{tool} was not called, because the arguments hold the value of a stored secret ({}). {advice}",
            names.join(", ")
        );
        CallRefusal::new(Refusal::StoredSecret { names }, text)
    }

    /// Refuses a call of a model whose arguments were redacted because of the value of a stored secret.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) async fn refuse_redacted(
        &self,
        request: &ToolCallRequest,
        context: &ToolContext,
    ) -> Result<GatedCall, StoreError> {
        let arguments = request.arguments.to_string();
        let mut names: Vec<String> = redacted_secrets(&arguments).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        let refusal = self.stored_secret_refusal(&request.tool, names);
        self.refuse(request, context, refusal).await
    }

    /// The call with filled secret handles.
    pub(super) fn fill_handles(
        &self,
        tool: &dyn Tool,
        call: ApprovedCall,
    ) -> Result<ApprovedCall, Box<ToolOutput>> {
        let filled = self.safety.secrets().fill_handles(tool, call.arguments());
        match filled.map_err(|error| Box::new(handle_refusal(&error).output))? {
            None => Ok(call),
            Some(arguments) => {
                Ok(call.with_values(arguments).expect("BUG: only handles were replaced"))
            }
        }
    }

    /// A sandbox narrower than the run's; none for the run's own. In a tainted run with hosts that a person named,
    /// redirects must not lead to other hosts. Commands keep their own sandbox: it must not gain hosts.
    pub(super) async fn narrower_sandbox(
        &self,
        policy: &RunPolicy,
        tool: &dyn Tool,
        context: &ToolContext,
    ) -> Result<Option<SandboxMode>, StoreError> {
        let has_open_network =
            tool.spec().domain == ToolDomain::InProcess && context.sandbox.hosts().is_empty();
        if !has_open_network || context.named_hosts.is_empty() {
            return Ok(None);
        }
        let is_tainted = self.taint(policy, context).await?.is_some();
        Ok(is_tainted.then(|| SandboxMode::Sandboxed { hosts: context.named_hosts.clone() }))
    }

    /// Attributes changes of HEARTBEAT.md to this call from now on.
    pub(super) async fn watch_list(
        &self,
        tool: &dyn Tool,
        annotations: Annotations,
        context: &ToolContext,
    ) -> Result<Option<WatchedCall>, StoreError> {
        if annotations.read_only {
            return Ok(None);
        }
        let change = ListChange::of(&tool.spec().name, context, self.clock.now().0);
        self.list.begin_call(&context.workspace, change).await.map(Some)
    }

    /// Ends the attribution. The person saw the whole content of an approved call, unless a program writes the file.
    pub(super) async fn unwatch_list(
        &self,
        watched: Option<WatchedCall>,
        tool: &dyn Tool,
        was_approved: bool,
        context: &ToolContext,
    ) -> Result<(), StoreError> {
        let Some(watched) = watched else { return Ok(()) };
        self.list.end_call(watched, &context.workspace, was_approved && !is_program(tool)).await
    }

    /// Arguments for the journal.
    pub(super) fn arguments_for_journal(&self, tool: &str, arguments: &Value) -> Value {
        let shown = self.shown_arguments(tool, arguments);
        for_journal(&self.safety.redact_arguments(shown))
    }

    /// Arguments for display, without the tool's sensitive parameters.
    #[must_use]
    pub fn shown_arguments(&self, tool: &str, arguments: &Value) -> Value {
        match self.tools().get(tool) {
            Some(tool) => tool.spec().shown(arguments),
            None => arguments.clone(),
        }
    }

    /// Notes in the journal that the result of `tool` contains instructions.
    pub(super) async fn note_signals(
        &self,
        tool: &str,
        signals: &[InjectionSignal],
        context: &ToolContext,
    ) -> Result<(), StoreError> {
        if signals.is_empty() {
            return Ok(());
        }
        let signals: Vec<String> = signals.iter().map(ToString::to_string).collect();
        let text = format!("The result of {tool} contains instructions: {}.", signals.join("; "));
        tracing::warn!(run_id = %context.run_id, tool, "untrusted input contains instructions");
        let note = JournalNote {
            run_id: &context.run_id,
            name: "Possible prompt injection",
            input: json!({ "tool": tool }),
            output: Some(text.into()),
            is_error: false,
        };
        self.store.add_note(note, self.clock.now()).await
    }
}

/// Whether the tool runs in a sandbox without a network.
fn is_offline(tool: &dyn Tool, context: &ToolContext) -> bool {
    tool.spec().domain == ToolDomain::Container
        && matches!(&context.sandbox, SandboxMode::Sandboxed { hosts } if hosts.is_empty())
}

fn handle_refusal(error: &HandleError) -> CallRefusal {
    CallRefusal::new(Refusal::Secret { name: error.name().to_owned() }, error.to_string())
}

/// Whether the tool runs in a child process. The arguments then do not show all effects of the call.
fn is_program(tool: &dyn Tool) -> bool {
    tool.spec().domain == ToolDomain::Container
}
