//! Jobs: editing, listing, searching, planning.

use rouse_core::job::Payload;
use rouse_core::slots::{DecidedSlots, Plan};

use super::*;
use crate::{JobCounts, JobQuery, StoreError};

fn cron(data: Value) -> (EventKind, Value) {
    (EventKind::Cron, data)
}

async fn names(fixture: &Fixture, query: JobQuery) -> Vec<String> {
    let page = fixture.store.jobs(&query).await.unwrap();
    page.jobs.into_iter().map(|job| job.id.to_string()).collect()
}

#[tokio::test]
async fn job_round_trips() {
    let fixture = Fixture::new().await;
    let mut job = job("a");
    job.state.next_run_at = Some(NOW);
    job.state.consecutive_failures = 3;
    job.state.last = Some(RunState::Failed).into();
    job.state.last_error = Some("no network".to_owned());
    let saved = fixture.store.insert_job(&job, NOW).await.unwrap();
    job.state.revision = 1;
    assert_eq!(saved, job);
    assert_eq!(fixture.job("a").await, job);
    let event = json!({ "jobId": "a", "action": "added", "nextRunAtMs": NOW.0 });
    assert_eq!(fixture.take_events(), [cron(event)]);

    let stored: String = sqlx::query_scalar("SELECT definition FROM jobs")
        .fetch_one(&fixture.store.readers)
        .await
        .unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored.get("enabled").or(stored.get("state")), None, "the columns are the truth");
}

#[tokio::test]
async fn taken_job_id_is_refused() {
    let fixture = Fixture::new().await;
    let first = fixture.insert_job("a", None).await;
    let refused =
        fixture.store.insert_job(&Job { name: "Other".to_owned(), ..job("a") }, NOW).await;
    assert!(matches!(refused, Err(StoreError::Exists { what: "job", .. })), "{refused:?}");
    assert_eq!(fixture.job("a").await, first);
    assert_eq!(fixture.take_events().len(), 1);
}

#[tokio::test]
async fn update_keeps_run_history_of_the_job() {
    let fixture = Fixture::new().await;
    let mut edited = job("a");
    edited.state.consecutive_failures = 2;
    edited.state.last = Some(RunState::Failed).into();
    let mut edited = fixture.store.insert_job(&edited, NOW).await.unwrap();
    fixture.take_events();

    edited.name = "New name".to_owned();
    edited.state.next_run_at = Some(UnixMs(5));
    edited.state.consecutive_failures = 0;
    edited.state.last = None.into();
    let saved = fixture.store.update_job(&edited, Some(1), NOW).await.unwrap();
    assert_eq!((saved.name.as_str(), saved.state.revision), ("New name", 2));
    assert_eq!(
        (saved.state.consecutive_failures, saved.state.last.state),
        (2, Some(RunState::Failed))
    );
    assert_eq!(saved.state.next_run_at, Some(UnixMs(5)));
    assert_eq!(fixture.job("a").await, saved);
    let event = json!({ "jobId": "a", "action": "updated", "nextRunAtMs": 5 });
    assert_eq!(fixture.take_events(), [cron(event)]);
}

#[tokio::test]
async fn stale_or_missing_update_changes_nothing() {
    let fixture = Fixture::new().await;
    let job = fixture.insert_job("a", None).await;
    fixture.store.update_job(&job, None, NOW).await.unwrap();
    fixture.take_events();
    let other = Job { name: "Other".to_owned(), ..job.clone() };
    let refused = fixture.store.update_job(&other, Some(1), NOW).await;
    assert!(matches!(refused, Err(StoreError::Stale { expected: 1, found: 2 })), "{refused:?}");
    assert_eq!(fixture.job("a").await.name, job.name);
    let refused = fixture.store.update_job(&super::job("b"), None, NOW).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    assert_eq!(fixture.take_events(), []);
}

#[tokio::test]
async fn pause_keeps_error_and_enabling_resets_failures() {
    let fixture = Fixture::new().await;
    let mut failing = job("a");
    failing.state.consecutive_failures = 5;
    failing.state.last_error = Some("no network".to_owned());
    failing.state.next_run_at = Some(NOW);
    fixture.store.insert_job(&failing, NOW).await.unwrap();
    fixture.take_events();

    fixture.store.pause_job(&failing.id, "Failed 5 times in a row", NOW).await.unwrap();
    let mut paused = fixture.job("a").await;
    assert_eq!((paused.enabled, paused.state.next_run_at, paused.state.revision), (false, None, 2));
    assert_eq!(paused.state.last_error.as_deref(), Some("no network"));
    assert_eq!(paused.state.consecutive_failures, 5);
    let event = json!({ "jobId": "a", "action": "updated", "error": "Failed 5 times in a row" });
    assert_eq!(fixture.take_events(), [cron(event)]);
    assert_eq!(fixture.store.next_due_at().await.unwrap(), None);

    paused.enabled = true;
    let enabled = fixture.store.update_job(&paused, Some(2), NOW).await.unwrap();
    assert_eq!(enabled.state.consecutive_failures, 0);

    let lost = fixture.store.pause_job(&JobId::new("x"), "", NOW).await;
    assert!(matches!(lost, Err(StoreError::NotFound { .. })), "{lost:?}");
}

#[tokio::test]
async fn deleted_job_keeps_runs_and_cancels_waiting_ones() {
    let fixture = Fixture::new().await;
    let going = fixture.running("a").await;
    let waiting = Run { slot_at: Some(NOW.plus_ms(1)), ..slot_run("a", NOW) };
    fixture.store.insert_run(&waiting, NOW).await.unwrap();
    let other = fixture.queued("b").await;

    let removed = fixture.store.remove_job(&JobId::new("a"), NOW.plus_ms(9)).await.unwrap();
    assert_eq!(removed.map(|job| job.id), Some(JobId::new("a")));
    assert_eq!(fixture.store.job(&JobId::new("a")).await.unwrap(), None);
    let cancelled = fixture.run(&waiting.id).await;
    assert_eq!(cancelled.state, RunState::Cancelled);
    assert_eq!(cancelled.reason.as_deref(), Some("The job was deleted"));
    assert_eq!(cancelled.finished_at, Some(NOW.plus_ms(9)));
    assert_eq!((cancelled.job_id, cancelled.job_name.as_str()), (Some(JobId::new("a")), "Job a"));
    assert_eq!(fixture.run(&going).await.state, RunState::Running);
    assert_eq!(fixture.run(&other).await.state, RunState::Queued);
    assert_eq!(
        fixture.take_events(),
        [
            (
                EventKind::Run,
                json!({ "runId": waiting.id.as_str(), "state": "cancelled", "jobId": "a" })
            ),
            cron(json!({ "jobId": "a", "action": "removed" })),
        ]
    );
    assert_eq!(fixture.store.remove_job(&JobId::new("a"), NOW).await.unwrap(), None);
}

#[tokio::test]
async fn job_list_is_ordered_by_next_slot() {
    let fixture = Fixture::new().await;
    for (id, name, next) in
        [("1", "b", None), ("2", "A", None), ("3", "x", Some(9)), ("4", "y", Some(3))]
    {
        let mut job = Job { name: name.to_owned(), ..job(id) };
        job.state.next_run_at = next.map(UnixMs);
        fixture.store.insert_job(&job, NOW).await.unwrap();
    }
    let off = Job { enabled: false, name: "off".to_owned(), ..job("5") };
    fixture.store.insert_job(&off, NOW).await.unwrap();
    assert_eq!(names(&fixture, JobQuery::default()).await, ["4", "3", "2", "1"]);
    let all = JobQuery { include_disabled: true, ..JobQuery::default() };
    assert_eq!(names(&fixture, all).await, ["4", "3", "2", "1", "5"]);
    assert_eq!(
        fixture.store.job_counts().await.unwrap(),
        JobCounts { all: 5, enabled: 4, failing: 0 }
    );
}

#[tokio::test]
async fn search_covers_name_description_and_payload() {
    let fixture = Fixture::new().await;
    let mut lamp = Job { name: "ÜBER die Lampe".to_owned(), ..job("1") };
    lamp.session_target = rouse_core::job::SessionTarget::Main;
    lamp.payload =
        Payload::SystemEvent { text: "switch it off".to_owned(), extra: Default::default() };
    let tea = Job { description: Some("Green TEA".to_owned()), ..job("2") };
    for job in [lamp, tea] {
        fixture.store.insert_job(&job, NOW).await.unwrap();
    }
    for (words, found) in [("über", "1"), (" Switch ", "1"), ("green tea", "2"), ("the news", "2")]
    {
        let query = JobQuery { search: Some(words.to_owned()), ..JobQuery::default() };
        assert_eq!(names(&fixture, query).await, [found], "{words}");
    }
}

/// Jobs with equal slots, equal names, or without a slot.
async fn many_jobs(count: i64) -> Fixture {
    let fixture = Fixture::new().await;
    for n in 0..count {
        let mut job = job(&format!("{n:02}"));
        job.name = ["tea", "Tea", "ants", "\"quoted\""][usize::try_from(n % 4).unwrap()].to_owned();
        job.enabled = n % 5 != 0;
        job.state.next_run_at = (n % 3 != 0).then_some(UnixMs(n % 4));
        fixture.store.insert_job(&job, NOW).await.unwrap();
    }
    fixture
}

/// All pages of a query; each but the last page is full.
async fn pages(fixture: &Fixture, mut query: JobQuery) -> Vec<Vec<String>> {
    let mut pages: Vec<Vec<String>> = Vec::new();
    loop {
        let page = fixture.store.jobs(&query).await.unwrap();
        pages.push(page.jobs.iter().map(|job| job.id.to_string()).collect());
        let Some(next) = page.next else { return pages };
        assert_eq!(page.jobs.len(), query.limit as usize);
        assert!(pages.len() < 100, "the pages go on for ever");
        query.after = Some(next);
    }
}

#[tokio::test]
async fn job_pages_contain_every_job_once_in_order() {
    let fixture = many_jobs(24).await;
    let tea = Some(" TEA".to_owned());
    for query in [
        JobQuery { include_disabled: true, ..JobQuery::default() },
        JobQuery::default(),
        JobQuery { search: tea, ..JobQuery::default() },
    ] {
        let whole = names(&fixture, query.clone()).await;
        for limit in [1, 5, 12, 24, 500] {
            let pages = pages(&fixture, JobQuery { limit, ..query.clone() }).await;
            assert_eq!(pages.concat(), whole, "{limit} {query:?}");
            assert!(!pages.last().unwrap().is_empty(), "{limit} {query:?}");
        }
    }
}

#[tokio::test]
async fn job_page_continues_after_deleted_cursor_job() {
    let fixture = many_jobs(9).await;
    let query = JobQuery { include_disabled: true, limit: 3, ..JobQuery::default() };
    let whole = names(&fixture, JobQuery { limit: 0, ..query.clone() }).await;
    let first = fixture.store.jobs(&query).await.unwrap();
    fixture.store.remove_job(&first.jobs[2].id, NOW).await.unwrap();
    let rest = JobQuery { after: first.next, limit: 0, ..query.clone() };
    assert_eq!(names(&fixture, rest).await, whole[3..]);
    for cursor in ["", "x", "[1]", "[1, 2, 3]", "'; DROP TABLE jobs"] {
        let after = Some(cursor.to_owned());
        let page = fixture.store.jobs(&JobQuery { after, ..query.clone() }).await.unwrap();
        assert_eq!(page.jobs[0].id.as_str(), whole[0], "{cursor}");
    }
}

#[tokio::test]
async fn search_finds_id_by_prefix() {
    let fixture = Fixture::new().await;
    for id in ["9f1c-aa", "a-9f1c"] {
        let job = Job { name: "Tea".to_owned(), ..job(id) };
        fixture.store.insert_job(&job, NOW).await.unwrap();
    }
    let query = JobQuery { search: Some("9F1".to_owned()), ..JobQuery::default() };
    assert_eq!(names(&fixture, query).await, ["9f1c-aa"]);
}

#[tokio::test]
async fn job_counts_include_failing_jobs() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.store.job_counts().await.unwrap(), JobCounts::default());
    let mut failing = job("a");
    failing.enabled = false;
    failing.state.consecutive_failures = 2;
    fixture.store.insert_job(&failing, NOW).await.unwrap();
    fixture.insert_job("b", None).await;
    let counts = fixture.store.job_counts().await.unwrap();
    assert_eq!(counts, JobCounts { all: 2, enabled: 1, failing: 1 });
}

#[tokio::test]
async fn save_plans_emits_only_moved_jobs() {
    let fixture = Fixture::new().await;
    for id in ["a", "b", "c", "d"] {
        fixture.insert_job(id, Some(NOW)).await;
    }
    fixture.take_events();
    let known = fixture.store.planned_jobs().await.unwrap();
    let plan = |id: &str, next, until| {
        let job = known.iter().find(|job| job.id.as_str() == id).expect("planned").clone();
        (job, Plan { next, decided: DecidedSlots { until, settled_until: until } })
    };
    let plans = [
        plan("a", Some(NOW), None),
        plan("b", Some(UnixMs(7)), Some(UnixMs(5))),
        plan("c", None, None),
        plan("d", Some(NOW), Some(UnixMs(6))),
    ];
    fixture.store.save_plans(&plans, NOW).await.unwrap();
    assert_eq!(fixture.job("d").await.state.decided, plans[3].1.decided);
    let (_, Plan { decided, .. }) = plans[1];
    assert_eq!(fixture.job("b").await.state.decided, decided);
    let planned = fixture.store.planned_jobs().await.unwrap();
    assert!(planned.iter().any(|job| job.plan == plans[1].1), "{planned:?}");
    assert_eq!(fixture.job("b").await.state.next_run_at, Some(UnixMs(7)));
    assert_eq!(fixture.job("b").await.state.revision, 1);
    assert_eq!(fixture.job("c").await.state.next_run_at, None);
    let mut events = fixture.take_events();
    events.sort_by_key(|(_, data)| data["jobId"].to_string());
    assert_eq!(
        events,
        [
            cron(json!({ "jobId": "b", "action": "updated", "nextRunAtMs": 7 })),
            cron(json!({ "jobId": "c", "action": "updated" })),
        ]
    );
}

#[tokio::test]
async fn many_moved_jobs_share_one_event() {
    let fixture = Fixture::new().await;
    for number in 0..101 {
        fixture.insert_job(&format!("job-{number}"), Some(NOW)).await;
    }
    fixture.take_events();
    let plan = Plan { next: Some(UnixMs(7)), decided: DecidedSlots::default() };
    let known = fixture.store.planned_jobs().await.unwrap();
    let mut moved: Vec<_> = known.into_iter().map(|job| (job, plan)).collect();
    fixture.store.save_plans(&moved, NOW).await.unwrap();
    assert_eq!(fixture.take_events(), [cron(json!({ "action": "updated", "jobs": 101 }))]);
    assert_eq!(fixture.job("job-100").await.state.next_run_at, Some(UnixMs(7)));
    moved.truncate(100);
    fixture.store.save_plans(&moved, NOW).await.unwrap();
    assert_eq!(fixture.take_events().len(), 100, "up to the limit each has an event");
}

#[tokio::test]
async fn next_due_is_earliest_enabled_slot() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.store.next_due_at().await.unwrap(), None);
    fixture.insert_job("a", Some(UnixMs(20))).await;
    fixture.insert_job("b", Some(UnixMs(10))).await;
    let mut off = Job { enabled: false, ..job("c") };
    off.state.next_run_at = Some(UnixMs(1));
    fixture.store.insert_job(&off, NOW).await.unwrap();
    assert_eq!(fixture.store.next_due_at().await.unwrap(), Some(UnixMs(10)));
}

#[tokio::test]
async fn unreadable_job_is_listed_apart_and_not_due() {
    let fixture = Fixture::new().await;
    fixture.insert_job("broken", Some(UnixMs(1))).await;
    fixture.insert_job("good", Some(UnixMs(2))).await;
    let mut tx =
        fixture.store.begin("damage a row", crate::sql::Durability::Normal, NOW).await.unwrap();
    let query = "UPDATE jobs SET definition = '{\"name\": 4}' WHERE id = 'broken'";
    tx.execute(sqlx::query(query)).await.unwrap();
    tx.commit().await.unwrap();

    let page = fixture.store.jobs(&JobQuery::default()).await.unwrap();
    assert_eq!(page.jobs.iter().map(|job| job.id.as_str()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(page.unreadable.iter().map(|job| job.id.as_str()).collect::<Vec<_>>(), ["broken"]);
    assert_eq!(fixture.store.unreadable_jobs().await.unwrap(), []);
    let unreadable = fixture.store.job(&JobId::new("broken")).await;
    assert!(matches!(unreadable, Err(StoreError::Unreadable { .. })), "{unreadable:?}");
    let due = fixture.due().await;
    assert_eq!(due.len(), 1);
    assert_eq!(fixture.store.next_due_at().await.unwrap(), Some(UnixMs(2)));
    let broken = fixture.store.unreadable_jobs().await.unwrap();
    assert_eq!(broken, page.unreadable, "with the same reason");
    assert_eq!(fixture.store.job_counts().await.unwrap().failing, 1);
}

#[tokio::test]
async fn stored_invalid_schedule_stays_readable() {
    let fixture = Fixture::new().await;
    let mut strange = job("a");
    strange.schedule.spec = rouse_core::job::ScheduleSpec::Cron {
        expr: "0 0 31 2 *".to_owned(),
        tz: "Mars/Base".to_owned(),
    };
    let saved = fixture.store.insert_job(&strange, NOW).await.unwrap();
    assert_eq!(fixture.job("a").await, saved);
    assert_eq!(names(&fixture, JobQuery::default()).await, ["a"]);
}
