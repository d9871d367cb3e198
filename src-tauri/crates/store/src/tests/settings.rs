//! Settings.

use super::*;

#[tokio::test]
async fn setting_returns_the_last_value() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.store.setting("pause").await.unwrap(), None);
    fixture.store.put_setting("pause", &json!({ "untilMs": 5 }), None, NOW).await.unwrap();
    fixture.store.put_setting("other", &Value::Null, None, NOW).await.unwrap();
    let event = (EventKind::Config, json!({ "paused": false }));
    fixture.store.put_setting("pause", &json!(false), Some(event.clone()), NOW).await.unwrap();
    assert_eq!(fixture.store.setting("pause").await.unwrap(), Some(json!(false)));
    assert_eq!(fixture.store.setting("other").await.unwrap(), Some(Value::Null));
    assert_eq!(fixture.take_events(), [event]);
}
