//! Ids of tool calls.

use rouse_agent::{Secret, SecretValue};
use rouse_core::RunState;
use rouse_core::message::{Part, StopReason, ToolCallRequest};
use rouse_testkit::scripted_model::{Scripted, answer, calls};
use serde_json::json;

use super::fixtures::{VALUE, done};
use super::run_fixture::{RunFixture, agent_job, tools, turn_of};

#[tokio::test]
async fn secret_in_a_call_id_is_redacted() {
    let echo = |text: &str| {
        let (id, tool) = (format!("call-{VALUE}"), "echo".to_owned());
        Part::ToolCall(ToolCallRequest { id, tool, arguments: json!({ "text": text }) })
    };
    let both = answer(vec![echo("a"), echo("b")], StopReason::ToolCalls);
    let again = calls([("rouse-1", "echo", json!({ "text": "c" }))]);
    let value = SecretValue::new(VALUE).expect("a value");
    let secrets = vec![Secret::redacted_only("mail", value)];
    let script = vec![Scripted::Answer(both), again, done()];
    let fixture = RunFixture::guarded(script, tools(), secrets, Vec::new()).await;
    let job = agent_job(json!({ "message": "Say it." }), json!({}));
    let run = fixture.run_of(Some(&job)).await;
    let outcome = fixture
        .driver()
        .run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel)
        .await;
    assert_eq!(outcome.state, RunState::Succeeded);
    let requests = fixture.model.requests();
    let told = format!("{:?}", requests.last().expect("asked").messages);
    for text in ["a", "b", "c"] {
        assert!(told.contains(&format!("text: \"{text}\"")), "{told}");
    }
    assert!(!told.contains(VALUE), "{told}");
    for entry in std::fs::read_dir(&fixture.workspace).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let kept = std::fs::read(path).expect("a file");
            assert!(!String::from_utf8_lossy(&kept).contains(VALUE));
        }
    }
}
