//! A copy holds a single state of the file, and a restored copy ends all work.

use std::collections::BTreeMap;

use rouse_core::approval::{GrantFolder, GrantScope, NewGrant};
use rouse_core::delivery::DeliveryState;
use rouse_core::{DeliveryId, JobId, RunState, UnixMs};
use serde_json::json;

use super::approvals::{approval, parked};
use super::{Fixture, NOW, delivery};
use crate::sql::Durability;
use crate::tables::grants::insert_grant;
use crate::{RestoreMark, RestoredPermissions, Store, copy_database, mark_restored};

#[tokio::test]
async fn copy_holds_committed_rows_and_passes_check() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    let to = fixture.folder.path().join("copy.db");
    copy_database(&fixture.path(), &to).await.unwrap();
    fixture.insert_job("later", None).await;
    assert_eq!(crate::integrity_problems(&to).await.unwrap(), Vec::<String>::new());
    let copy = Store::open(&to, std::sync::Arc::new(|_| ())).await.unwrap();
    assert_eq!(copy.job_counts().await.unwrap().all, 1);
    assert_eq!(copy.restore_mark().await.unwrap(), None);
    copy.close().await;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let missing = fixture.folder.path().join("missing.db");
    let never = fixture.folder.path().join("never.db");
    assert!(copy_database(&missing, &never).await.is_err());
    assert!(!missing.exists() && !never.exists(), "a failed copy leaves nothing");
}

#[tokio::test]
async fn restored_file_resumes_no_run_and_sends_nothing() {
    let fixture = Fixture::new().await;
    let (queued, running) = (fixture.queued("waits").await, fixture.running("works").await);
    let sent = DeliveryId::new("d");
    fixture.store.enqueue_delivery(None, &delivery("d"), NOW).await.unwrap();
    fixture.store.queue_system_event("Tea", "wake", &[], NOW).await.unwrap();
    fixture.store.put_setting(crate::PENDING_MAIN_TURN, &json!("wake"), None, NOW).await.unwrap();
    let now = NOW.plus_ms(60_000);
    fixture.store.end_restored_work("The database was restored", now).await.unwrap();
    for id in [queued, running] {
        let run = fixture.store.run(&id).await.unwrap().unwrap();
        assert_eq!((run.state, run.finished_at), (RunState::Interrupted, Some(now)));
        assert_eq!(run.reason.as_deref(), Some("The database was restored"));
    }
    let suppressed = fixture.store.delivery(&sent).await.unwrap().unwrap();
    assert_eq!(suppressed.state, DeliveryState::Suppressed);
    assert_eq!(fixture.store.pending_system_events(9).await.unwrap(), []);
    let pending = fixture.store.setting(crate::PENDING_MAIN_TURN).await.unwrap();
    assert_eq!(pending, Some(json!(null)));
}

#[tokio::test]
async fn restore_mark_stays_until_cleared() {
    let fixture = Fixture::new().await;
    fixture.store.close().await;
    let restored = RestoreMark { backup_at: UnixMs(5), restored_at: NOW };
    mark_restored(&fixture.path(), restored).await.unwrap();
    let store = Store::open(&fixture.path(), std::sync::Arc::new(|_| ())).await.unwrap();
    assert_eq!(store.restore_mark().await.unwrap(), Some(restored));
    store.clear_restore_mark(NOW).await.unwrap();
    assert_eq!(store.restore_mark().await.unwrap(), None);
    store.close().await;
}

#[tokio::test]
async fn restore_counts_valid_grants_and_pending_approvals() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![approval("a", "ls")]).await;
    let mut tx = fixture.store.begin("grant", Durability::Full, NOW).await.unwrap();
    let mut grants = Vec::new();
    for expires_at in [None, Some(NOW.plus_ms(1)), None] {
        let covers =
            GrantScope::Pattern { rules: BTreeMap::new(), works_in: GrantFolder::NoFolder };
        let terms = NewGrant { covers, expires_at, uses: None };
        grants.push(insert_grant(&mut tx, &terms, &JobId::new("job"), "echo").await.unwrap());
    }
    tx.commit().await.unwrap();
    assert!(fixture.store.revoke_grant(&grants[2].id, NOW).await.unwrap());
    fixture.store.close().await;
    let restored = RestoreMark { backup_at: NOW, restored_at: NOW.plus_ms(1) };
    let permissions = mark_restored(&fixture.path(), restored).await.unwrap();
    assert_eq!(permissions, RestoredPermissions { grants: 1, pending_approvals: 1 });
}
