use rouse_core::extension::ToolFileAccess;
use serde_json::json;

use super::components;
use super::fixture::GuestFixture;
use crate::GuestError;

#[tokio::test]
async fn file_is_written_and_read_in_the_folder() {
    let mut fixture = GuestFixture::new();
    fixture.grants.files = ToolFileAccess::Write;
    let path = json!("seen/last.json");
    assert_eq!(fixture.call(&components::writing(), &path).await.result, Ok(json!([1])));
    fixture.grants.files = ToolFileAccess::Read;
    assert_eq!(fixture.call(&components::reading(), &path).await.result, Ok(json!([1])));
    let trace = fixture.call(&components::writing(), &path).await;
    let Err(GuestError::Tool(error)) = trace.result else { panic!("{:?}", trace.result) };
    assert!(error.contains("no permission to write files"), "{error}");
}

#[tokio::test]
async fn path_out_of_the_folder_is_refused() {
    let mut fixture = GuestFixture::new();
    fixture.grants.files = ToolFileAccess::Write;
    std::fs::write(fixture.folder.path().join("key"), "1").expect("a file");
    for path in ["../key", "/etc/hostname", "a/../../key"] {
        for component in [components::reading(), components::writing()] {
            let trace = fixture.call(&component, &json!(path)).await;
            let Err(GuestError::Tool(error)) = trace.result else { panic!("{:?}", trace.result) };
            assert!(error.contains("is not allowed"), "{error}");
        }
    }
}
