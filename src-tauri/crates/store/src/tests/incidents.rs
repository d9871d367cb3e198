//! Incidents: open, recurring, closed.

use rouse_core::incident::{Incident, IncidentEnd, IncidentKind};
use rouse_core::{Outcome, RunState};

use super::*;
use crate::RunEnd;

/// Ends a run of the job.
async fn end(fixture: &Fixture, job: &str, n: i64, change: impl FnOnce(&mut RunEnd)) -> RunId {
    let run = slot_run(job, NOW.plus_ms(n));
    fixture.store.insert_run(&run, NOW).await.unwrap();
    let mut finish = RunEnd::of(run.id.clone(), Outcome::failed("no network"), NOW.plus_ms(n));
    change(&mut finish);
    fixture.store.finish_run(&finish).await.unwrap().unwrap();
    run.id
}

fn opens(class: &str) -> IncidentStep {
    IncidentStep::Opened { class: class.to_owned(), cause: "no network".to_owned() }
}

async fn open(fixture: &Fixture, job: &str) -> Vec<Incident> {
    fixture.store.open_incidents(Some(&JobId::new(job))).await.unwrap()
}

#[tokio::test]
async fn incident_counts_failures_and_closes_on_success() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    let first = end(&fixture, "a", 1, |finish| finish.incident = opens("network")).await;
    let id = open(&fixture, "a").await[0].id;
    let last =
        end(&fixture, "a", 2, |finish| finish.incident = IncidentStep::Recurred { id }).await;
    let wanted = Incident {
        id,
        job_id: Some(JobId::new("a")),
        class: "network".to_owned(),
        cause: "no network".to_owned(),
        opened_at: NOW.plus_ms(1),
        closed: None,
        came_back: false,
        taken_up: false,
        count: 2,
        first_run: first,
        last_run: last,
        last_at: NOW.plus_ms(2),
        paused_because: None,
    };
    assert_eq!(open(&fixture, "a").await, [wanted]);
    end(&fixture, "a", 3, |finish| finish.incident = opens("key")).await;
    let classes: Vec<String> =
        open(&fixture, "a").await.into_iter().map(|incident| incident.class).collect();
    assert_eq!(classes, ["key", "network"], "the newest failure first");

    end(&fixture, "a", 4, |finish| {
        finish.outcome = Outcome::succeeded("ok");
        finish.incident =
            IncidentStep::Resolved { of: IncidentKind::Runs, failures: 3, after_ms: 3 };
    })
    .await;
    assert_eq!(open(&fixture, "a").await, []);
    let closed: (i64, String) =
        sqlx::query_as("SELECT closed_at, closed_how FROM incidents WHERE id = $1")
            .bind(id)
            .fetch_one(&fixture.store.readers)
            .await
            .unwrap();
    assert_eq!(closed, (NOW.plus_ms(4).0, IncidentEnd::Recovered.name().to_owned()));
    end(&fixture, "a", 5, |finish| finish.incident = opens("network")).await;
    assert_ne!(open(&fixture, "a").await[0].id, id, "a later failure opens a new incident");
}

#[tokio::test]
async fn incidents_are_separate_per_job_and_heartbeat() {
    let fixture = Fixture::new().await;
    for (n, job) in [(1, "a"), (2, "b")] {
        fixture.insert_job(job, None).await;
        end(&fixture, job, n, |finish| finish.incident = opens("network")).await;
    }
    let heartbeat = manual_run();
    fixture.store.insert_run(&heartbeat, NOW).await.unwrap();
    let finish = RunEnd {
        incident: opens("timedOut"),
        ..RunEnd::of(heartbeat.id.clone(), Outcome::of(RunState::TimedOut), NOW)
    };
    fixture.store.finish_run(&finish).await.unwrap().unwrap();
    let of_heartbeat = fixture.store.open_incidents(None).await.unwrap();
    assert_eq!((of_heartbeat.len(), of_heartbeat[0].last_run.clone()), (1, heartbeat.id));
    let asked = [JobId::new("a"), JobId::new("b"), JobId::new("c")];
    let of_jobs = fixture.store.open_incidents_of(&asked).await.unwrap();
    let jobs: Vec<String> =
        of_jobs.into_iter().filter_map(|i| i.job_id).map(|id| id.to_string()).collect();
    assert_eq!(jobs, ["b", "a"]);
}

#[tokio::test]
async fn run_end_pauses_its_job_with_the_incident() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW.plus_ms(9))).await;
    let reason = "Paused after 1 failure";
    end(&fixture, "a", 1, |finish| {
        finish.incident = opens("network");
        finish.pause_job = Some(reason.to_owned());
    })
    .await;
    let job = fixture.job("a").await;
    assert_eq!((job.enabled, job.state.next_run_at), (false, None));
    assert_eq!(open(&fixture, "a").await[0].paused_because.as_deref(), Some(reason));

    let failing = async || fixture.store.job_counts().await.unwrap().failing;
    assert_eq!(failing().await, 1);
    // A successful manual run leaves the job disabled, with the reason.
    end(&fixture, "a", 2, |finish| finish.outcome = Outcome::succeeded("ok")).await;
    assert_eq!((fixture.job("a").await.state.consecutive_failures, failing().await), (0, 1));

    let on = Job { enabled: true, ..fixture.job("a").await };
    fixture.store.update_job(&on, None, NOW.plus_ms(2)).await.unwrap();
    let incident = open(&fixture, "a").await.remove(0);
    assert!(incident.taken_up && !incident.came_back, "a successful run closes the incident");
    assert_eq!(fixture.job("a").await.state.consecutive_failures, 0);
    end(&fixture, "a", 3, |finish| finish.incident = opens("network")).await;
    let incidents = open(&fixture, "a").await;
    assert_eq!(
        incidents.iter().map(|one| (one.count, one.taken_up)).collect::<Vec<_>>(),
        [(1, false)]
    );
}

#[tokio::test]
async fn edit_keeps_incident_removal_closes_incident() {
    let fixture = Fixture::new().await;
    let job = fixture.insert_job("a", None).await;
    end(&fixture, "a", 1, |finish| finish.incident = opens("network")).await;
    let renamed = Job { name: "Other".to_owned(), ..job };
    fixture.store.update_job(&renamed, None, NOW).await.unwrap();
    assert_eq!(open(&fixture, "a").await.len(), 1);
    // An incident of a job with a successful last run: an unchecked condition, or a recurring incident.
    end(&fixture, "a", 2, |finish| finish.outcome = Outcome::succeeded("ok")).await;
    assert_eq!(fixture.job("a").await.state.consecutive_failures, 0);
    let again = Job { name: "Another".to_owned(), ..fixture.job("a").await };
    fixture.store.update_job(&again, None, NOW).await.unwrap();
    assert_eq!(open(&fixture, "a").await.len(), 1);
    let off = Job { enabled: false, ..fixture.job("a").await };
    fixture.store.update_job(&off, None, NOW).await.unwrap();
    assert_eq!(open(&fixture, "a").await.len(), 1);
    fixture.store.remove_job(&JobId::new("a"), NOW).await.unwrap();
    assert_eq!(open(&fixture, "a").await, []);
}

#[tokio::test]
async fn recurring_incident_has_no_pause_reason() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    end(&fixture, "a", 1, |finish| {
        finish.incident = opens("network");
        finish.pause_job = Some("Paused after a failure".to_owned());
    })
    .await;
    let id = open(&fixture, "a").await[0].id;
    let on = Job { enabled: true, ..fixture.job("a").await };
    fixture.store.update_job(&on, None, NOW).await.unwrap();
    let recovers = IncidentStep::Resolved { of: IncidentKind::Runs, failures: 1, after_ms: 1 };
    end(&fixture, "a", 2, |finish| finish.incident = recovers).await;
    let back = IncidentStep::Reopened { id, failures: 2, after_ms: 3 };
    end(&fixture, "a", 3, |finish| finish.incident = back).await;
    assert_eq!(open(&fixture, "a").await[0].paused_because, None, "the job is enabled");
}

#[tokio::test]
async fn recurring_incident_reopens_with_its_count() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    end(&fixture, "a", 1, |finish| finish.incident = opens("network")).await;
    let id = open(&fixture, "a").await[0].id;
    let (of, job) = (IncidentKind::Runs, JobId::new("a"));
    let recovers = IncidentStep::Resolved { of, failures: 1, after_ms: 1 };
    end(&fixture, "a", 2, |finish| finish.incident = recovers.clone()).await;
    let since = |ms| fixture.store.recovered_incidents(Some(&job), NOW.plus_ms(ms));
    assert_eq!(since(3).await.unwrap(), []);
    let over = since(2).await.unwrap();
    assert_eq!((over.len(), over[0].id, over[0].came_back), (1, id, false));
    assert_eq!(fixture.store.recovered_incidents(None, NOW).await.unwrap(), []);
    assert_eq!(fixture.store.jobs_with_incidents().await.unwrap(), []);

    let back = IncidentStep::Reopened { id, failures: 2, after_ms: 3 };
    let last = end(&fixture, "a", 4, |finish| finish.incident = back).await;
    let again = open(&fixture, "a").await;
    assert_eq!((again[0].id, again[0].count, again[0].came_back), (id, 2, true));
    assert_eq!((again[0].opened_at, &again[0].last_run), (NOW.plus_ms(1), &last));
    assert_eq!(since(0).await.unwrap(), []);
    assert_eq!(fixture.store.jobs_with_incidents().await.unwrap(), std::slice::from_ref(&job));
    end(&fixture, "a", 5, |finish| finish.incident = recovers).await;
    assert_eq!((open(&fixture, "a").await, since(5).await.unwrap().len()), (vec![], 1));
}

#[tokio::test]
async fn unchecked_condition_counts_as_failing() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    fixture.insert_job("b", None).await;
    end(&fixture, "b", 1, |finish| finish.incident = opens("network")).await;
    let failing = async || fixture.store.job_counts().await.unwrap().failing;
    assert_eq!(failing().await, 1);
    let unchecked = |finish: &mut RunEnd, incident: IncidentStep| {
        finish.outcome = Outcome::succeeded("17");
        finish.incident = incident;
    };
    end(&fixture, "a", 2, |finish| unchecked(finish, opens("condition"))).await;
    assert_eq!(failing().await, 2);
    end(&fixture, "b", 3, |finish| finish.incident = opens("condition")).await;
    assert_eq!(failing().await, 2, "each job once");
    let over = IncidentStep::Resolved { of: IncidentKind::Condition, failures: 1, after_ms: 1 };
    end(&fixture, "a", 4, |finish| unchecked(finish, over)).await;
    assert_eq!(failing().await, 1);
}

#[tokio::test]
async fn announced_run_shows_whether_its_job_is_paused() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    fixture.insert_job("b", None).await;
    let paused = end(&fixture, "a", 1, |finish| {
        finish.incident = opens("network");
        finish.pause_job = Some("Paused because a run requested too many approvals".to_owned());
    })
    .await;
    let well = end(&fixture, "b", 1, |finish| finish.outcome = Outcome::succeeded("ok")).await;
    let off = Job { enabled: false, ..fixture.job("b").await };
    fixture.store.update_job(&off, None, NOW).await.unwrap();
    let announced = async || {
        let runs = fixture.store.announced_runs(&[paused.clone(), well.clone()]).await.unwrap();
        [&paused, &well]
            .map(|run| (runs[run].job_name.clone(), runs[run].state, runs[run].is_paused))
    };
    let (a, b) = ("Job a".to_owned(), "Job b".to_owned());
    let wanted = [(a.clone(), RunState::Failed, true), (b.clone(), RunState::Succeeded, false)];
    assert_eq!(announced().await, wanted, "a person has disabled the other job");
    let on = Job { enabled: true, ..fixture.job("a").await };
    fixture.store.update_job(&on, None, NOW).await.unwrap();
    assert_eq!(announced().await, [(a, RunState::Failed, false), (b, RunState::Succeeded, false)]);
}
