//! Calls at once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;

use super::components;
use super::fixture::GuestFixture;
use crate::limits::MAX_CALLS;
use crate::{CallTrace, GuestError};

/// As many calls as run at once, each in an exchange without an answer.
async fn hanging_calls(fixture: &Arc<GuestFixture>) -> Vec<JoinHandle<CallTrace>> {
    let component = components::getting();
    let calls = (0..MAX_CALLS).map(|_| {
        let (fixture, component) = (Arc::clone(fixture), component.clone());
        let url = json!("https://api.example.com/");
        tokio::spawn(async move { fixture.call(&component, &url).await })
    });
    let calls = calls.collect();
    let hanging = u32::try_from(MAX_CALLS).expect("a small number");
    let begun = fixture.http.begun.acquire_many(hanging).await.expect("open");
    begun.forget();
    calls
}

fn fixture() -> GuestFixture {
    let mut fixture = GuestFixture::new();
    fixture.grants.hosts = vec!["api.example.com".parse().expect("a host")];
    fixture.grants.secrets = vec!["key".to_owned()];
    fixture
}

#[tokio::test]
async fn call_without_a_permit_ends_at_its_limit() {
    let fixture = Arc::new(fixture());
    let _hanging = hanging_calls(&fixture).await;
    let time = Duration::from_millis(10);
    let mut limits = fixture.limits.clone();
    limits.time = time;
    let trace = fixture.call_within(&limits, &components::echo(), &json!(1)).await;
    let error = trace.result.expect_err("no permit");
    assert_eq!(error, GuestError::Queued { calls: MAX_CALLS, time });
    assert!(error.to_string().starts_with("The tool was not started: 4 other calls ran"));
}

#[tokio::test]
async fn queued_call_runs_when_another_ends() {
    let fixture = Arc::new(fixture());
    let hanging = hanging_calls(&fixture).await;
    let queued = Arc::clone(&fixture);
    let call = tokio::spawn(async move { queued.call(&components::getting(), &json!("x")).await });
    hanging[0].abort();
    // The guest runs: its URL is refused.
    let trace = call.await.expect("no panic");
    assert!(matches!(trace.result, Err(GuestError::Tool(_))), "{:?}", trace.result);
    assert_eq!(fixture.http.begun.available_permits(), 0);
}
