//! The files of a server's call, kept with the run.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rouse_core::attachment::MediaKind;
use rouse_tests::EngineBuilder;
use rouse_tests::mcp::{install_and_accept, steps_of};
use serde_json::json;

use super::fixture::double;

#[tokio::test]
async fn image_of_a_call_is_read_from_its_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    install_and_accept(&engine, "cal", double(&[])).await;
    let call = json!({ "kind": "toolCall", "tool": "cal_image", "arguments": {} });
    let job = json!({ "name": "Draw", "schedule": { "kind": "manual" }, "payload": call });
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    let run = engine.wait_for_run(&id, "succeeded").await;
    let step = steps_of(&engine, &run, "cal_image").await.remove(0);
    let file = &step["attachments"][0];
    assert_eq!(
        (&file["name"], &file["mediaType"], &file["isKept"]),
        (&json!("image-1"), &json!("image/png"), &json!(true)),
    );
    let source =
        |position: u32| json!({ "runId": run["id"], "step": step["seq"], "position": position });
    let image = engine.call("runs.attachment", source(0)).await;
    assert_eq!(image["mediaType"], "image/png");
    let bytes = STANDARD.decode(image["data"].as_str().expect("a text")).expect("base64");
    assert_eq!(MediaKind::of(&bytes), Some(MediaKind::Png));
    assert_eq!(file["bytes"], bytes.len());
    let error = engine.try_call("runs.attachment", source(1)).await.expect_err("no second file");
    assert!(error.message.contains("keeps no file 1"), "{}", error.message);
    engine.host.stop().await;
}
