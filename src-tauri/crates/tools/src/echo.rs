//! `echo`: gives its text back. For trying out jobs, and for a reminder that needs no model.

use std::future::ready;

use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::text::plain_text;
use crate::{arguments, spec};

/// The tool.
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
            spec::object(&["text"], json!({ "text": { "type": "string", "maxLength": 20_000 } }));
        Self {
            spec: ToolSpec {
                listed_only: true,
                ..spec::harmless(
                    ("echo", "Give a text back"),
                    "Gives the text back unchanged.",
                    parameters,
                )
            },
        }
    }
}

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        let said = arguments::read(call.arguments())
            .map(|arguments: Arguments| ToolOutput::ok(plain_text(&arguments.text)));
        Box::pin(ready(said.unwrap_or_else(arguments::misfit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    #[tokio::test]
    async fn gives_the_text_back_without_control_characters() {
        let output = call(&Echo::new(), json!({ "text": "hello\n\u{1b}[2Jworld" })).await;
        assert_eq!(output, ToolOutput::ok("hello\n[2Jworld"));
    }
}
