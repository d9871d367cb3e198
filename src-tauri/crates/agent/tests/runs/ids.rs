//! The ids that a model gives its calls.

use rouse_agent::{Secret, SecretValue};
use rouse_core::RunState;
use rouse_core::message::{Part, StopReason, ToolCallRequest};
use rouse_testkit::scripted_model::{Scripted, answer, calls};
use serde_json::json;

use super::guarded::{VALUE, done};
use super::house::{House, agent_job, tools, turn_of};

#[tokio::test]
async fn a_secret_in_the_id_of_a_call_is_kept_nowhere() {
    let echo = |text: &str| {
        let (id, tool) = (format!("call-{VALUE}"), "echo".to_owned());
        Part::ToolCall(ToolCallRequest { id, tool, arguments: json!({ "text": text }) })
    };
    let both = answer(vec![echo("a"), echo("b")], StopReason::ToolCalls);
    let again = calls([("rouse-1", "echo", json!({ "text": "c" }))]);
    let value = SecretValue::new(VALUE).expect("a value");
    let secrets = vec![Secret::never_sent("mail", value)];
    let script = vec![Scripted::Answer(both), again, done()];
    let house = House::guarded(script, tools(), secrets, Vec::new()).await;
    let job = agent_job(json!({ "message": "Say it." }), json!({}));
    let run = house.run_of(Some(&job)).await;
    let outcome =
        house.driver().run_turn(&run, &job, turn_of(&job), house.chosen(), &house.cancel).await;
    assert_eq!(outcome.state, RunState::Succeeded);
    let requests = house.model.requests();
    let told = format!("{:?}", requests.last().expect("asked").messages);
    for text in ["a", "b", "c"] {
        assert!(told.contains(&format!("text: \"{text}\"")), "{told}");
    }
    assert!(!told.contains(VALUE), "{told}");
    for entry in std::fs::read_dir(&house.workspace).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let kept = std::fs::read(path).expect("a file");
            assert!(!String::from_utf8_lossy(&kept).contains(VALUE));
        }
    }
}
