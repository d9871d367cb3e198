//! What the gate asks beside the policy: the safety layer, the secrets and the hooks.
//!
//! Owns when each is asked. What a call holds is looked at before anybody is asked about it: no person is to say yes to
//! a call that must not be made. A command that only holds what looks like a key is asked about. A handle becomes a
//! value in the last step before the tool, behind the journal and the answers, which hold the handle. What comes back
//! is freed of secrets before it is written down anywhere.
//!
//! A call that a person has written into a job may hold what it likes, for it is theirs to send; what comes back from it
//! is looked at like everything else. What a hook has made of it nobody has written.

use rouse_core::approval::Refusal;
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{Annotations, Domain, SandboxMode, Tool, ToolContext, ToolOutput};
use rouse_store::{Note, StoreError};
use serde_json::{Value, json};

use super::refused::Refused;
use super::{Gate, Terms, fence};
use crate::hooks::{CallEnded, CallSeen, HookContext};
use crate::list::{AtWork, ChangedBy};
use crate::safety::{Incoming, Safety, Signal};
use crate::secret::HandleError;

impl Gate {
    /// What makes a call one that is asked about each time, for what it holds; none when nothing speaks against it. What
    /// a request holds is on its way out as it is; a command may look for it or write it here, so a person looks at it.
    ///
    /// # Errors
    /// Why it must not be made.
    pub(super) async fn held_back(
        &self,
        terms: &Terms,
        tool: &dyn Tool,
        request: &ToolCallRequest,
        context: &ToolContext,
    ) -> Result<Option<String>, Box<Refused>> {
        let arguments = &request.arguments;
        let filled = self.safety.secrets().filled_after_a_look(tool, arguments).await;
        filled.map_err(|error| Box::new(not_filled(&error)))?;
        if terms.policy.has_written(&request.tool, arguments) || !leaves(tool, arguments, context) {
            return Ok(None);
        }
        match self.safety.outgoing(arguments) {
            Ok(()) => Ok(None),
            Err(leak) if leak.is_only_shaped() && is_program(tool) => {
                let places = self.safety.places(&leak, arguments);
                Ok(Some(format!(
                    "It holds what looks like a key ({places}), and could send that away."
                )))
            }
            Err(leak) => {
                let words = leak.to_string();
                Err(Box::new(Refused::new(Refusal::Leak { found: leak.what }, words)))
            }
        }
    }

    /// The call with values where its handles stand.
    pub(super) fn with_secrets(
        &self,
        tool: &dyn Tool,
        call: ApprovedCall,
    ) -> Result<ApprovedCall, Box<ToolOutput>> {
        let filled = self.safety.secrets().filled(tool, call.arguments());
        match filled.map_err(|error| Box::new(not_filled(&error).output))? {
            None => Ok(call),
            Some(arguments) => {
                Ok(call.with_values(arguments).expect("BUG: only handles were replaced"))
            }
        }
    }

    /// A refusal as it may be told and written down: it may repeat what the call held.
    pub(super) fn refusal(&self, tool: &str, output: ToolOutput) -> Incoming {
        self.safety.incoming(tool, false, output)
    }

    /// What a person is shown of a call: what it replaces may hold a secret, and a question is written down.
    pub(super) fn shown(&self, preview: &str) -> String {
        self.safety.words(preview)
    }

    /// How a call is confined more than its run is. What a run that knows something from outside looks at unasked is at a
    /// host that a person has named, and what it asks for must not be sent on from there: redirects stay among the named
    /// hosts then. Commands are not meant, to which hosts would be an opening.
    pub(super) async fn confined(
        &self,
        terms: &Terms,
        tool: &dyn Tool,
        context: &ToolContext,
    ) -> Result<Option<SandboxMode>, StoreError> {
        let is_open = tool.spec().domain == Domain::InProcess && context.sandbox.hosts().is_empty();
        let is_meant = is_open && !context.named_hosts.is_empty();
        let hosts = || context.named_hosts.clone();
        Ok((is_meant && self.knows_outside(terms, context).await?.is_some())
            .then(|| SandboxMode::Sandboxed { hosts: hosts() }))
    }

    /// From now on a change of the person's list may be this call's.
    pub(super) async fn watch_list(
        &self,
        tool: &dyn Tool,
        does: Annotations,
        context: &ToolContext,
    ) -> Result<Option<AtWork>, StoreError> {
        if does.read_only {
            return Ok(None);
        }
        let by = ChangedBy::of(&tool.spec().name, context, self.clock.now().0);
        self.list.begins(&context.workspace, by).await.map(Some)
    }

    /// It has ended. A person sees every word that is written, and of a program only how it is started.
    pub(super) async fn look_at_list(
        &self,
        watched: Option<AtWork>,
        tool: &dyn Tool,
        was_shown: bool,
        context: &ToolContext,
    ) -> Result<(), StoreError> {
        let Some(watched) = watched else { return Ok(()) };
        self.list.ended(watched, &context.workspace, was_shown && !is_program(tool)).await
    }

    /// Arguments as they are journalled.
    pub(super) fn kept(&self, tool: &str, arguments: &Value) -> Value {
        fence::journalled(&self.safety.kept(self.shown_arguments(tool, arguments)))
    }

    /// Arguments as they are shown where nobody decides about them: without what its tool hides.
    #[must_use]
    pub fn shown_arguments(&self, tool: &str, arguments: &Value) -> Value {
        match self.tools.get(tool) {
            Some(tool) => tool.spec().shown(arguments),
            None => arguments.clone(),
        }
    }

    /// Writes down that an answer gives orders, so that whoever reads the run sees it.
    pub(super) async fn note(
        &self,
        tool: &str,
        signals: &[Signal],
        context: &ToolContext,
    ) -> Result<(), StoreError> {
        if signals.is_empty() {
            return Ok(());
        }
        let said: Vec<String> = signals.iter().map(ToString::to_string).collect();
        let text = format!("The answer of {tool} gives orders: {}.", said.join("; "));
        tracing::warn!(run_id = %context.run_id, tool, "a text from outside gives orders");
        let note = Note {
            run_id: &context.run_id,
            name: "Text that gives orders",
            input: json!({ "tool": tool }),
            output: Some(text.into()),
            is_error: false,
        };
        self.store.note(note, self.clock.now()).await
    }

    /// Tells the hooks of a call that was made.
    pub(super) fn tell_of(
        &self,
        tool: &str,
        arguments: Value,
        (output, took_ms): (&ToolOutput, i64),
        context: &ToolContext,
    ) {
        self.hooks.after_tool_call(CallEnded {
            tool: tool.to_owned(),
            arguments,
            output: output.value.clone(),
            is_error: output.is_error(),
            duration_ms: took_ms,
            context: hook_context(context),
        });
    }
}

/// A call as hooks are asked about it, with its arguments as they are shown.
pub(super) fn seen(tool: &str, arguments: &Value, context: &ToolContext) -> CallSeen {
    CallSeen { tool: tool.to_owned(), arguments: arguments.clone(), context: hook_context(context) }
}

/// Whose run it is, for hooks.
pub(crate) fn hook_context(context: &ToolContext) -> HookContext {
    HookContext::of(&context.run_id, context.job_id.as_ref(), &context.workspace)
}

/// A command in a sandbox without a network tells nobody anything.
pub(super) fn is_alone(tool: &dyn Tool, context: &ToolContext) -> bool {
    tool.spec().domain == Domain::Container
        && matches!(&context.sandbox, SandboxMode::Sandboxed { hosts } if hosts.is_empty())
}

fn leaves(tool: &dyn Tool, arguments: &Value, context: &ToolContext) -> bool {
    !is_alone(tool, context) && Safety::leaves(&tool.spec().name, tool.annotations(arguments))
}

fn not_filled(error: &HandleError) -> Refused {
    Refused::new(Refusal::Secret { name: error.name().to_owned() }, error.to_string())
}

/// Whether it does more than what its arguments say word for word.
fn is_program(tool: &dyn Tool) -> bool {
    tool.spec().domain == Domain::Container
}
