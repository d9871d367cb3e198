//! Model servers for agent runs, and the settings that use them as the only model.

use rouse_testkit::fake_model::{FakeModel, Recorded, Reply, sse};
use serde_json::Value;

/// The settings that make `server` the model.
pub fn model_settings(server: &FakeModel) -> String {
    format!(
        "[providers.mine]\nkind = \"openai\"\nbaseUrl = \"{}/v1\"\nmodel = \"fake-1\"\n",
        server.url(),
    )
}

/// A model that makes these calls one after the other and ends with a report, in every run.
pub fn model_calling(calls: Vec<(&'static str, Value)>) -> FakeModel {
    FakeModel::start(move |request: &Recorded| {
        let body = request.json();
        let messages = body["messages"].as_array().expect("messages");
        // Messages of earlier runs in the session stand before the task.
        let task = messages.iter().rposition(|message| message["role"] == "user");
        let answers = messages
            .iter()
            .skip(task.map_or(0, |task| task + 1))
            .filter(|message| message["role"] == "assistant")
            .count();
        match calls.get(answers) {
            Some((tool, arguments)) => {
                Reply::events(sse::chat_calls(&format!("call_{answers}"), tool, arguments))
            }
            None => Reply::events(sse::chat_says("All done.")),
        }
    })
}
