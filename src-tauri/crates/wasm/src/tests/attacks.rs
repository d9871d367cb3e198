use std::time::Duration;

use serde_json::{Value, json};

use super::components;
use super::fixture::GuestFixture;
use crate::{CompileError, GuestError, GuestTrap};

#[tokio::test]
async fn endless_loop_ends_at_the_time_limit() {
    let mut fixture = GuestFixture::new();
    fixture.limits.time = Duration::from_millis(150);
    let error = Err(GuestError::TimeLimit(fixture.limits.time));
    let looping = components::doing("(loop $more (br $more))");
    assert_eq!(fixture.call(&looping, &Value::Null).await.result, error);
    let at_start = components::looping_at_start();
    assert_eq!(fixture.call(&at_start, &Value::Null).await.result, error);
    let log_loop = components::logging_then(
        "(loop $more (call $log (i32.const 0) (i32.const 0) (i32.const 1)) (br $more))",
    );
    assert_eq!(fixture.call(&log_loop, &Value::Null).await.result, error);
}

#[tokio::test]
async fn busy_guest_gives_its_thread_back() {
    let mut fixture = GuestFixture::new();
    let looping = components::doing("(loop $more (br $more))");
    fixture.limits.time = Duration::from_millis(1);
    fixture.call(&looping, &Value::Null).await.result.expect_err("a time limit");
    fixture.limits.time = Duration::from_secs(2);
    // Both run on this thread, the guest first.
    tokio::select! {
        biased;
        trace = fixture.call(&looping, &Value::Null) => panic!("{:?}", trace.result),
        () = tokio::task::yield_now() => {}
    }
}

#[tokio::test]
async fn fuel_ends_a_call_before_its_time() {
    let mut fixture = GuestFixture::new();
    fixture.limits.fuel = 1_000_000;
    let looping = components::doing("(loop $more (br $more))");
    let trace = fixture.call(&looping, &Value::Null).await;
    assert_eq!(trace.result, Err(GuestError::Trap(GuestTrap::Fuel)));
}

#[tokio::test]
async fn memory_growth_is_refused_at_the_limit() {
    let growing = components::doing(
        "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
         (if (i32.gt_u (memory.size) (i32.const 1024)) (then (unreachable)))
         (if (i32.lt_u (memory.size) (i32.const 1000)) (then (unreachable)))",
    );
    let fixture = GuestFixture::new();
    assert_eq!(fixture.call(&growing, &Value::Null).await.result, Ok(Value::Null));
    let trace = fixture.call(&components::with_large_memory(), &Value::Null).await;
    assert!(matches!(trace.result, Err(GuestError::Unusable(_))), "{:?}", trace.result);
}

#[tokio::test]
async fn table_growth_is_refused_at_the_limit() {
    let growing = components::doing(
        "(loop $more (br_if $more (i32.ne (i32.const -1)
           (table.grow $table (ref.null func) (i32.const 1000)))))
         (if (i32.gt_u (table.size $table) (i32.const 100000)) (then (unreachable)))",
    );
    let trace = GuestFixture::new().call(&growing, &Value::Null).await;
    assert_eq!(trace.result, Ok(Value::Null));
}

#[tokio::test]
async fn deep_recursion_ends_the_call_alone() {
    let fixture = GuestFixture::new();
    let trace = fixture.call(&components::doing("(call $again)"), &Value::Null).await;
    assert_eq!(trace.result, Err(GuestError::Trap(GuestTrap::Stack)));
    assert_eq!(fixture.call(&components::echo(), &json!(1)).await.result, Ok(json!(1)));
}

#[tokio::test]
async fn host_call_without_answer_ends_at_the_limit() {
    let mut fixture = GuestFixture::new();
    fixture.grants.hosts = vec!["api.example.com".parse().expect("a host")];
    fixture.grants.secrets = vec!["key".to_owned()];
    fixture.limits.time = Duration::from_secs(1);
    let trace = fixture.call(&components::getting(), &json!("https://api.example.com/")).await;
    assert_eq!(trace.result, Err(GuestError::TimeLimit(fixture.limits.time)));
    assert_eq!(trace.http_exchanges, 1);
}

#[tokio::test]
async fn many_modules_are_refused() {
    let fixture = GuestFixture::new();
    let trace = fixture.call(&components::with_modules(500), &Value::Null).await;
    let Err(GuestError::Unusable(cause)) = trace.result else { panic!("{:?}", trace.result) };
    assert!(cause.contains("instance count too high"), "{cause}");
    let trace = fixture.call(&components::with_modules(1_001), &Value::Null).await;
    let invalid = GuestError::Compile(CompileError::Invalid(String::new()));
    let error = trace.result.expect_err("too many modules");
    assert_eq!(std::mem::discriminant(&error), std::mem::discriminant(&invalid), "{error}");
}

#[tokio::test]
async fn huge_log_is_bounded() {
    let trace = GuestFixture::new().call(&components::logging(), &Value::Null).await;
    assert_eq!(trace.result, Ok(Value::Null));
    assert_eq!((trace.log.lines.len(), trace.log.dropped), (200, 800));
    assert!(trace.log.lines.iter().all(|line| line.text.len() == 2_048));
}

#[tokio::test]
async fn huge_text_to_the_host_is_a_trap() {
    let component = components::logging_then(
        "(drop (memory.grow (i32.const 200)))
         (call $log (i32.const 0) (i32.const 4096) (i32.const 10000000))",
    );
    let trace = GuestFixture::new().call(&component, &Value::Null).await;
    assert_eq!(trace.result, Err(GuestError::Trap(GuestTrap::HostCallSize)));
}

#[tokio::test]
async fn import_without_permission_is_refused() {
    let fixture = GuestFixture::new();
    for (component, import) in [
        (components::getting(), "rouse:tool/http@0.1.0"),
        (components::reading(), "rouse:tool/files@0.1.0"),
        (components::importing_sockets(), "wasi:sockets/network@0.2.6"),
    ] {
        let trace = fixture.call(&component, &json!("x")).await;
        assert_eq!(trace.result, Err(GuestError::ImportNotGranted(import.to_owned())));
    }
}

#[tokio::test]
async fn call_of_wasi_is_a_trap() {
    let fixture = GuestFixture::new();
    let component = components::importing_exit();
    assert_eq!(fixture.call(&component, &json!(1)).await.result, Ok(Value::Null));
    let trace = fixture.call(&component, &json!(1_000)).await;
    assert_eq!(
        trace.result,
        Err(GuestError::Trap(GuestTrap::Wasi("wasi:cli/exit@0.2.6#exit".to_owned())))
    );
}
