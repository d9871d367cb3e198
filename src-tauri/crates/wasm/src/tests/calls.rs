use serde_json::json;

use super::components;
use super::fixture::Fixture;

#[tokio::test]
async fn component_returns_its_result() {
    let fixture = Fixture::new();
    let arguments = json!({ "city": "Zürich", "days": [1, 2] });
    let trace = fixture.call(&components::echo(), &arguments).await;
    assert_eq!(trace.result, Ok(arguments));
}
