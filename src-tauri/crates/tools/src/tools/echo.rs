//! `echo`: returns the text. For trials and for reminders without a model.

use std::future::ready;

use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::arguments;
use crate::spec::{object_schema, read_only_spec};
use crate::text::plain_text;

pub(crate) struct Echo {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
}

impl Echo {
    pub(crate) fn new() -> Self {
        let parameters =
            object_schema(&["text"], json!({ "text": { "type": "string", "maxLength": 20_000 } }));
        let base = read_only_spec("echo", "Echo a text", "Returns the text unchanged.", parameters);
        Self { spec: ToolSpec { listed_only: true, ..base } }
    }
}

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        let output = arguments::parse(call.arguments())
            .map(|arguments: Arguments| ToolOutput::ok(plain_text(&arguments.text)));
        Box::pin(ready(output.unwrap_or_else(arguments::invalid_arguments)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_context::call;

    #[tokio::test]
    async fn text_is_returned_without_control_characters() {
        let output = call(&Echo::new(), json!({ "text": "hello\n\u{1b}[2Jworld" })).await;
        assert_eq!(output, ToolOutput::ok("hello\n[2Jworld"));
    }
}
