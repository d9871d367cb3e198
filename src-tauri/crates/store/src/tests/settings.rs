use super::*;

#[tokio::test]
async fn a_setting_is_what_was_written_last() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.store.setting("pause").await.unwrap(), None);
    fixture.store.put_setting("pause", &json!({ "untilMs": 5 }), None, NOW).await.unwrap();
    fixture.store.put_setting("other", &Value::Null, None, NOW).await.unwrap();
    let event = (EventKind::Config, json!({ "paused": false }));
    fixture.store.put_setting("pause", &json!(false), Some(event.clone()), NOW).await.unwrap();
    assert_eq!(fixture.store.setting("pause").await.unwrap(), Some(json!(false)));
    assert_eq!(fixture.store.setting("other").await.unwrap(), Some(Value::Null));
    assert_eq!(fixture.told(), [event]);
}
