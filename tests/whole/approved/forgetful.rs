//! A tool that forgets a part of what a yes is bound to: with it the proof must fail, or it would show nothing.

use std::sync::Arc;

use rouse_core::approval::Surroundings;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{ApprovalRule, BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde_json::Value;

/// Takes out what is forgotten.
pub(super) type Forget = fn(&mut Surroundings);

/// Another tool, but for its memory.
pub(super) struct Forgetful {
    inner: Arc<dyn Tool>,
    forgets: Forget,
}

impl Forgetful {
    pub(super) fn over(inner: Arc<dyn Tool>, forgets: Forget) -> Arc<dyn Tool> {
        Arc::new(Self { inner, forgets })
    }
}

impl Tool for Forgetful {
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
            (self.forgets)(&mut surroundings);
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
