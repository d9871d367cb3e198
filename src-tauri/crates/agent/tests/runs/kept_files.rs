//! Files that calls return, kept for the person.

use std::sync::Arc;

use rouse_core::RunState;
use rouse_core::attachment::{Attachment, MediaKind};
use rouse_core::tool::{Annotations, Tool, ToolOutput};
use rouse_testkit::scripted_model::calls;
use serde_json::json;

use super::fixtures::{VALUE, done, secret};
use super::run_fixture::{RunFixture, TestTool, tools};
use super::secrets_and_hooks::BoundSendTool;

#[tokio::test]
async fn files_are_kept_without_those_of_a_call_with_a_secret() {
    let chart = Attachment::new("chart.png", MediaKind::Png, b"\x89PNG\r\n\x1a\n".to_vec());
    let output = ToolOutput { attachments: vec![chart], ..ToolOutput::ok("A chart.") };
    let camera = TestTool::answering("camera", output).with(|spec| {
        spec.parameters = json!({"type": "object"});
        spec.annotations = Annotations { open_world: true, ..Annotations::READS };
    });
    let mut all = tools();
    all.push(Arc::new(BoundSendTool { inner: camera }) as Arc<dyn Tool>);
    let with_secret = json!({"to": "api.example.com", "key": "{{secret:mail}}"});
    let script = vec![
        calls([("c0", "camera", with_secret)]),
        calls([("c1", "camera", json!({"to": "api.example.com"}))]),
        done(),
    ];
    let secrets = vec![secret("mail", VALUE)];
    let fixture = RunFixture::guarded(script, all, secrets, Vec::new()).await;
    let (run, outcome) = fixture.turn(json!({"message": "Look."})).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let steps = fixture.steps(&run).await;
    let call = steps.iter().find(|step| step.call_id.as_deref() == Some("c1")).expect("a call");
    let files = fixture.store.call_attachments(&run.id).await.expect("read");
    let kept: Vec<_> = files.iter().map(|file| (file.step, file.name.as_str())).collect();
    assert_eq!(kept, [(call.seq, "chart.png")]);
}
