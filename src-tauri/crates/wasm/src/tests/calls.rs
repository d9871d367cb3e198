use serde_json::{Value, json};

use super::components;
use super::fixture::GuestFixture;
use crate::{ComponentBytes, GuestError, GuestTrap, ToolLogLevel};

#[tokio::test]
async fn component_returns_its_result() {
    let fixture = GuestFixture::new();
    let arguments = json!({ "city": "Zürich", "days": [1, 2] });
    let trace = fixture.call(&components::echo(), &arguments).await;
    assert_eq!(trace.result, Ok(arguments));
}

#[tokio::test]
async fn error_of_a_component_is_bounded() {
    let trace = GuestFixture::new().call(&components::failing(), &json!("é".repeat(5_000))).await;
    let Err(GuestError::Tool(text)) = trace.result else { panic!("{:?}", trace.result) };
    assert!(text.starts_with("\"éé") && text.len() <= 4_096 && text.len() > 4_000);
}

#[tokio::test]
async fn component_has_clock_and_random_bytes() {
    let trace =
        GuestFixture::new().call(&components::asking_clock_and_random(), &Value::Null).await;
    assert_eq!(trace.result, Ok(Value::Null));
}

#[tokio::test]
async fn component_has_random_hash_seeds() {
    let trace = GuestFixture::new().call(&components::asking_hash_seeds(), &Value::Null).await;
    assert_eq!(trace.result, Ok(Value::Null));
}

#[tokio::test]
async fn log_is_kept_when_the_call_fails() {
    let component = components::logging_then("(unreachable)");
    let trace = GuestFixture::new().call(&component, &json!("before")).await;
    assert_eq!(trace.result, Err(GuestError::Trap(GuestTrap::Unreachable)));
    assert_eq!(trace.log.lines.len(), 1);
    let line = &trace.log.lines[0];
    assert_eq!((line.level, line.text.as_str()), (ToolLogLevel::Warn, "\"before\""));
}

#[tokio::test]
async fn wrong_results_are_typed_errors() {
    let fixture = GuestFixture::new();
    let call =
        async |component: ComponentBytes| fixture.call(&component, &Value::Null).await.result;
    let at = |pointer: &str, length: &str| {
        components::returning(
            0,
            &format!("(i32.const {pointer})"),
            &format!("(i32.const {length})"),
        )
    };
    let limit = fixture.limits.output_bytes;
    let too_large = GuestError::OutputTooLarge { bytes: 2 << 20, limit };
    assert_eq!(call(at("4096", "2097152")).await, Err(too_large));
    assert!(matches!(call(at("8192", "4")).await, Err(GuestError::InvalidOutput(_))));
    assert!(matches!(call(at("4096", "0")).await, Err(GuestError::InvalidOutput(_))));
    let outside = call(at("-16", "100")).await;
    assert_eq!(outside, Err(GuestError::Trap(GuestTrap::BadData)));
}

#[tokio::test]
async fn large_arguments_are_refused() {
    let mut fixture = GuestFixture::new();
    fixture.limits.arguments_bytes = 10;
    let trace = fixture.call(&components::echo(), &json!("0123456789")).await;
    assert_eq!(trace.result, Err(GuestError::ArgumentsTooLarge { bytes: 12, limit: 10 }));
}

#[tokio::test]
async fn component_of_another_world_is_refused() {
    let component = components::encode("(component)");
    let trace = GuestFixture::new().call(&component, &Value::Null).await;
    assert!(matches!(trace.result, Err(GuestError::Unusable(_))), "{:?}", trace.result);
}

#[tokio::test]
async fn call_may_move_between_threads() {
    let fixture = GuestFixture::new();
    let result =
        tokio::spawn(async move { fixture.call(&components::echo(), &json!(1)).await.result });
    assert_eq!(result.await.expect("no panic"), Ok(json!(1)));
}
