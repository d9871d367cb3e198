//! Earlier fetches of a job.

use rouse_core::Outcome;
use rouse_core::fetch_history::FetchHistory as _;

use super::finish::end_of;
use super::steps::step;
use super::*;
use crate::{NewStep, StepEnd, StepKind, StepStatus};

const URL: &str = "https://example.org/news";

async fn fetched(fixture: &Fixture, run: &RunId, (url, hash): (&str, &str), at: UnixMs) {
    let input = json!({ "url": url });
    let call =
        NewStep { name: "web_fetch".to_owned(), input, ..step(run, StepKind::ToolCall, true) };
    let seq = fixture.store.begin_step(&call, at).await.unwrap();
    let end = StepEnd {
        status: StepStatus::Finished,
        output: Some(json!({ "contentHash": hash, "content": "…" })),
        is_error: false,
        usage: Usage::default(),
        duration_ms: Some(1),
    };
    fixture.store.end_step(run, seq, &end, at).await.unwrap();
}

/// Three running runs of the job `a`.
async fn three_runs(fixture: &Fixture) -> [RunId; 3] {
    fixture.insert_job("a", Some(NOW)).await;
    let runs = [0, 1, 2].map(|ms| slot_run("a", NOW.plus_ms(ms)));
    let ids = runs.clone().map(|run| run.id);
    fixture.store.claim(&[claim("a", NOW, None, runs.to_vec())], NOW).await.unwrap();
    fixture.store.start_runs(&ids, NOW.plus_ms(5)).await.unwrap();
    ids
}

#[tokio::test]
async fn last_fetch_is_from_another_successful_run() {
    let fixture = Fixture::new().await;
    let job = JobId::new("a");
    let last = async |current: &RunId, url: &str| {
        let last = fixture.store.last(&job, current, url).await.expect("readable");
        last.map(|past| (past.content_hash, past.at))
    };
    let [first, second, third] = three_runs(&fixture).await;
    fetched(&fixture, &first, (URL, "one"), NOW).await;
    assert_eq!(last(&first, URL).await, None, "a run is not compared with itself");
    let done = end_of(&first, Outcome::succeeded("Done."));
    fixture.store.finish_run(&done).await.unwrap().unwrap();

    assert_eq!(last(&second, URL).await, Some(("one".to_owned(), NOW)));
    assert_eq!(last(&second, "https://example.org/").await, None);
    fetched(&fixture, &second, (URL, "two"), NOW.plus_ms(5)).await;
    let failed = end_of(&second, Outcome::failed("No."));
    fixture.store.finish_run(&failed).await.unwrap().unwrap();

    assert_eq!(last(&third, URL).await, Some(("one".to_owned(), NOW)), "the second run failed");
}
