//! A tool with an incomplete fingerprint, so that the proof can fail.

use std::sync::Arc;

use rouse_core::approval::Surroundings;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{ApprovalRule, BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde_json::Value;

/// Removes a part of the fingerprint.
pub(super) type Weaken = fn(&mut Surroundings);

/// A tool that removes a part of the fingerprint of `inner`.
pub(super) struct WeakTool {
    inner: Arc<dyn Tool>,
    weaken: Weaken,
}

impl WeakTool {
    pub(super) fn over(inner: Arc<dyn Tool>, weaken: Weaken) -> Arc<dyn Tool> {
        Arc::new(Self { inner, weaken })
    }
}

impl Tool for WeakTool {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn approval(&self, arguments: &Value, context: &ToolContext) -> ApprovalRule {
        self.inner.approval(arguments, context)
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        Box::pin(async move {
            let mut surroundings = self.inner.surroundings(arguments, context).await?;
            (self.weaken)(&mut surroundings);
            Ok(surroundings)
        })
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        self.inner.call(call, context)
    }
}
