use rouse_core::incident::{Ailment, Incident, IncidentEnd};
use rouse_core::{Outcome, RunState};

use super::*;
use crate::Finish;

/// A run of the job that ended like this.
async fn end(fixture: &Fixture, job: &str, n: i64, change: impl FnOnce(&mut Finish)) -> RunId {
    let run = slot_run(job, NOW.plus_ms(n));
    fixture.store.insert_run(&run, NOW).await.unwrap();
    let mut finish = Finish::of(run.id.clone(), Outcome::failed("no network"), NOW.plus_ms(n));
    change(&mut finish);
    fixture.store.finish_run(&finish).await.unwrap().unwrap();
    run.id
}

fn opens(class: &str) -> IncidentStep {
    IncidentStep::Opens { class: class.to_owned(), cause: "no network".to_owned() }
}

async fn open(fixture: &Fixture, job: &str) -> Vec<Incident> {
    fixture.store.open_incidents(Some(&JobId::new(job))).await.unwrap()
}

#[tokio::test]
async fn an_incident_counts_its_failures_and_ends_with_a_success() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    let first = end(&fixture, "a", 1, |finish| finish.incident = opens("network")).await;
    let id = open(&fixture, "a").await[0].id;
    let last = end(&fixture, "a", 2, |finish| finish.incident = IncidentStep::GoesOn { id }).await;
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
        finish.incident = IncidentStep::Recovers { of: Ailment::Runs, failures: 3, after_ms: 3 };
    })
    .await;
    assert_eq!(open(&fixture, "a").await, []);
    let closed: (i64, String) =
        sqlx::query_as("SELECT closed_at, closed_how FROM incidents WHERE id = ?1")
            .bind(id)
            .fetch_one(&fixture.store.readers)
            .await
            .unwrap();
    assert_eq!(closed, (NOW.plus_ms(4).0, IncidentEnd::Recovered.name().to_owned()));
    end(&fixture, "a", 5, |finish| finish.incident = opens("network")).await;
    assert_ne!(open(&fixture, "a").await[0].id, id, "the next one is another one");
}

#[tokio::test]
async fn incidents_of_one_job_are_not_those_of_another_or_of_the_heartbeat() {
    let fixture = Fixture::new().await;
    for (n, job) in [(1, "a"), (2, "b")] {
        fixture.insert_job(job, None).await;
        end(&fixture, job, n, |finish| finish.incident = opens("network")).await;
    }
    let beat = manual_run();
    fixture.store.insert_run(&beat, NOW).await.unwrap();
    let finish = Finish {
        incident: opens("timedOut"),
        ..Finish::of(beat.id.clone(), Outcome::of(RunState::TimedOut), NOW)
    };
    fixture.store.finish_run(&finish).await.unwrap().unwrap();
    let of_heartbeat = fixture.store.open_incidents(None).await.unwrap();
    assert_eq!((of_heartbeat.len(), of_heartbeat[0].last_run.clone()), (1, beat.id));
    let asked = [JobId::new("a"), JobId::new("b"), JobId::new("c")];
    let of_jobs = fixture.store.open_incidents_of(&asked).await.unwrap();
    let jobs: Vec<String> =
        of_jobs.into_iter().filter_map(|i| i.job_id).map(|id| id.to_string()).collect();
    assert_eq!(jobs, ["b", "a"]);
}

#[tokio::test]
async fn a_job_is_switched_off_with_the_run_that_was_one_too_many() {
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
    // A run by hand that goes well leaves it off, and its reason with it.
    end(&fixture, "a", 2, |finish| finish.outcome = Outcome::succeeded("ok")).await;
    assert_eq!((fixture.job("a").await.state.consecutive_failures, failing().await), (0, 1));

    let on = Job { enabled: true, ..fixture.job("a").await };
    fixture.store.update_job(&on, None, NOW.plus_ms(2)).await.unwrap();
    let incident = open(&fixture, "a").await.remove(0);
    assert!(incident.taken_up && !incident.came_back, "a run that goes well ends it");
    assert_eq!(fixture.job("a").await.state.consecutive_failures, 0);
    end(&fixture, "a", 3, |finish| finish.incident = opens("network")).await;
    let incidents = open(&fixture, "a").await;
    assert_eq!(
        incidents.iter().map(|one| (one.count, one.taken_up)).collect::<Vec<_>>(),
        [(1, false)]
    );
}

#[tokio::test]
async fn editing_a_failing_job_leaves_its_incident_and_removing_it_does_not() {
    let fixture = Fixture::new().await;
    let job = fixture.insert_job("a", None).await;
    end(&fixture, "a", 1, |finish| finish.incident = opens("network")).await;
    let renamed = Job { name: "Other".to_owned(), ..job };
    fixture.store.update_job(&renamed, None, NOW).await.unwrap();
    assert_eq!(open(&fixture, "a").await.len(), 1);
    // One of a job whose last run went well: its condition could not be checked, or it comes and goes.
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
async fn an_incident_that_comes_back_has_paused_nothing_yet() {
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
    let recovers = IncidentStep::Recovers { of: Ailment::Runs, failures: 1, after_ms: 1 };
    end(&fixture, "a", 2, |finish| finish.incident = recovers).await;
    let back = IncidentStep::ComesBack { id, failures: 2, after_ms: 3 };
    end(&fixture, "a", 3, |finish| finish.incident = back).await;
    assert_eq!(open(&fixture, "a").await[0].paused_because, None, "its job is on");
}

#[tokio::test]
async fn an_incident_that_comes_back_is_open_again_and_keeps_its_count() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    end(&fixture, "a", 1, |finish| finish.incident = opens("network")).await;
    let id = open(&fixture, "a").await[0].id;
    let (of, job) = (Ailment::Runs, JobId::new("a"));
    let recovers = IncidentStep::Recovers { of, failures: 1, after_ms: 1 };
    end(&fixture, "a", 2, |finish| finish.incident = recovers.clone()).await;
    let since = |ms| fixture.store.recovered_incidents(Some(&job), NOW.plus_ms(ms));
    assert_eq!(since(3).await.unwrap(), []);
    let over = since(2).await.unwrap();
    assert_eq!((over.len(), over[0].id, over[0].came_back), (1, id, false));
    assert_eq!(fixture.store.recovered_incidents(None, NOW).await.unwrap(), []);
    assert_eq!(fixture.store.jobs_with_incidents().await.unwrap(), []);

    let back = IncidentStep::ComesBack { id, failures: 2, after_ms: 3 };
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
async fn a_job_whose_condition_cannot_be_checked_is_counted_among_those_that_fail() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    fixture.insert_job("b", None).await;
    end(&fixture, "b", 1, |finish| finish.incident = opens("network")).await;
    let failing = async || fixture.store.job_counts().await.unwrap().failing;
    assert_eq!(failing().await, 1);
    let unchecked = |finish: &mut Finish, incident: IncidentStep| {
        finish.outcome = Outcome::succeeded("17");
        finish.incident = incident;
    };
    end(&fixture, "a", 2, |finish| unchecked(finish, opens("condition"))).await;
    assert_eq!(failing().await, 2);
    end(&fixture, "b", 3, |finish| finish.incident = opens("condition")).await;
    assert_eq!(failing().await, 2, "each job once");
    let over = IncidentStep::Recovers { of: Ailment::Condition, failures: 1, after_ms: 1 };
    end(&fixture, "a", 4, |finish| unchecked(finish, over)).await;
    assert_eq!(failing().await, 1);
}

#[tokio::test]
async fn a_run_that_is_told_knows_whether_its_job_is_still_paused() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    fixture.insert_job("b", None).await;
    let paused = end(&fixture, "a", 1, |finish| {
        finish.incident = opens("network");
        finish.pause_job = Some("Paused because one run asked too often".to_owned());
    })
    .await;
    let well = end(&fixture, "b", 1, |finish| finish.outcome = Outcome::succeeded("ok")).await;
    let off = Job { enabled: false, ..fixture.job("b").await };
    fixture.store.update_job(&off, None, NOW).await.unwrap();
    let told = async || {
        let told = fixture.store.told_runs(&[paused.clone(), well.clone()]).await.unwrap();
        [&paused, &well]
            .map(|run| (told[run].job_name.clone(), told[run].state, told[run].is_paused))
    };
    let (a, b) = ("Job a".to_owned(), "Job b".to_owned());
    let wanted = [(a.clone(), RunState::Failed, true), (b.clone(), RunState::Succeeded, false)];
    assert_eq!(told().await, wanted, "a person has switched the other one off");
    let on = Job { enabled: true, ..fixture.job("a").await };
    fixture.store.update_job(&on, None, NOW).await.unwrap();
    assert_eq!(told().await, [(a, RunState::Failed, false), (b, RunState::Succeeded, false)]);
}
