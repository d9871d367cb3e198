//! Lists of runs: filters, search, pages.

use rouse_core::SessionKey;
use rouse_core::message::{Message, Part, ToolCallRequest};

use super::*;
use crate::RunQuery;

/// Runs of two jobs; each pair has the same creation instant.
async fn filled(count: i64) -> (Fixture, Vec<Run>) {
    let fixture = Fixture::new().await;
    let mut runs = Vec::new();
    for n in 0..count {
        let states = [RunState::Succeeded, RunState::Failed, RunState::Skipped];
        let run = Run {
            created_at: NOW.plus_ms(n / 2),
            state: states[usize::try_from(n).unwrap() % 3],
            trigger: if n % 5 == 0 { RunTrigger::Manual } else { RunTrigger::Schedule },
            summary: Some(format!("Number {n}")),
            finished_at: Some(NOW),
            ..slot_run(if n % 2 == 0 { "even" } else { "odd" }, NOW.plus_ms(n))
        };
        fixture.store.insert_run(&run, NOW).await.unwrap();
        runs.push(run);
    }
    runs.reverse();
    (fixture, runs)
}

async fn check(fixture: &Fixture, runs: &[Run], query: RunQuery, wanted: impl Fn(&Run) -> bool) {
    let wanted: Vec<Run> = runs.iter().filter(|run| wanted(run)).cloned().collect();
    let mut found = Vec::new();
    let mut query = RunQuery { limit: 4, ..query };
    loop {
        let page = fixture.store.runs(&query).await.unwrap();
        assert_eq!(page.total as usize, wanted.len(), "{query:?}");
        assert!(page.runs.len() <= 4);
        found.extend(page.runs);
        match page.next {
            Some(next) => query.before = Some(next),
            None => break,
        }
    }
    assert_eq!(found, wanted, "{query:?}");
}

#[tokio::test]
async fn run_pages_contain_every_run_once() {
    let (fixture, runs) = filled(21).await;
    check(&fixture, &runs, RunQuery::default(), |_| true).await;
    let (fixture, runs) = filled(8).await;
    check(&fixture, &runs, RunQuery::default(), |_| true).await;
    let (fixture, runs) = filled(0).await;
    check(&fixture, &runs, RunQuery::default(), |_| true).await;
}

#[tokio::test]
async fn each_run_filter_restricts_the_list() {
    let (fixture, runs) = filled(30).await;
    let all = RunQuery::default;
    let even = RunQuery { job_id: Some(JobId::new("even")), ..all() };
    check(&fixture, &runs, even.clone(), |run| run.job_id == even.job_id).await;
    let failed = RunQuery { states: vec![RunState::Failed], ..all() };
    check(&fixture, &runs, failed, |run| run.state == RunState::Failed).await;
    let states = vec![RunState::Failed, RunState::Skipped];
    let bad = RunQuery { states: states.clone(), ..all() };
    check(&fixture, &runs, bad, |run| states.contains(&run.state)).await;
    let manual = RunQuery { triggers: vec![RunTrigger::Manual], ..all() };
    check(&fixture, &runs, manual, |run| run.trigger == RunTrigger::Manual).await;
    let (from, to) = (NOW.plus_ms(3), NOW.plus_ms(9));
    let between = RunQuery { from: Some(from), to: Some(to), ..all() };
    check(&fixture, &runs, between, |run| run.created_at >= from && run.created_at < to).await;
    let together = RunQuery {
        job_id: Some(JobId::new("odd")),
        states: vec![RunState::Succeeded],
        from: Some(from),
        ..all()
    };
    check(&fixture, &runs, together, |run| {
        run.job_id == Some(JobId::new("odd"))
            && run.state == RunState::Succeeded
            && run.created_at >= from
    })
    .await;
}

#[tokio::test]
async fn run_search_escapes_wildcards() {
    let fixture = Fixture::new().await;
    let fields = [
        Run { summary: Some("100% sure".to_owned()), ..manual_run() },
        Run { error: Some("snake_case".to_owned()), ..manual_run() },
        Run { reason: Some("back\\slash".to_owned()), ..manual_run() },
        Run { job_name: "Morning news".to_owned(), ..manual_run() },
        Run { summary: Some("1000 snakeXcase backslash".to_owned()), ..manual_run() },
    ];
    for run in &fields {
        fixture.store.insert_run(run, NOW).await.unwrap();
    }
    for (text, found) in [("0% s", 0), ("snake_", 1), ("k\\s", 2), ("MORNING", 3)] {
        let query = RunQuery { text: Some(text.to_owned()), ..RunQuery::default() };
        let page = fixture.store.runs(&query).await.unwrap();
        assert_eq!(page.runs, [fields[found].clone()], "{text}");
        assert_eq!(page.total, 1);
    }
}

#[tokio::test]
async fn run_search_finds_transcript_text() {
    let fixture = Fixture::new().await;
    let session = SessionKey::of_job(&JobId::new("a"));
    let runs = [manual_run(), manual_run()];
    for run in &runs {
        fixture.store.insert_run(run, NOW).await.unwrap();
    }
    let call = Part::ToolCall(ToolCallRequest {
        id: "call-17".to_owned(),
        tool: "http".to_owned(),
        arguments: json!({ "url": "https://example.org/prices" }),
    });
    let opaque = json!({ "thinking": "hidden thought" });
    let opaque = Part::Opaque { provider: "anthropic".to_owned(), block: opaque };
    let result = Message::ToolResult {
        call_id: "call-17".to_owned(),
        tool: "http".to_owned(),
        text: "Gr\u{fc}n said \"yes\"\n100% of it".to_owned(),
        is_error: false,
    };
    let messages = [Message::Assistant { parts: vec![call, opaque] }, result];
    fixture.store.append_messages(&session, Some(&runs[0].id), &messages, NOW).await.unwrap();
    let found = async |text: &str| {
        let query = RunQuery { text: Some(text.to_owned()), ..RunQuery::default() };
        let page = fixture.store.runs(&query).await.unwrap();
        assert_eq!(page.total as usize, page.runs.len());
        page.runs.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };
    for text in ["gr\u{fc}n", "said \"yes\"", "yes\"\n100% of", "example.org/PRICES"] {
        assert_eq!(found(text).await, [runs[0].id.clone()], "{text}");
    }
    for text in ["assistant", "toolResult", "call-17", "hidden thought", "100_", "anthropic"] {
        assert_eq!(found(text).await, [], "{text}");
    }
    let garble = "UPDATE messages SET message = '{gr\u{fc}n' \
        WHERE id = (SELECT max(id) FROM messages WHERE run_id = $1)";
    fixture.garble(garble, runs[0].id.as_str()).await;
    assert_eq!(found("gr\u{fc}n").await, [], "a damaged message hides no other run");
}

#[tokio::test]
async fn new_runs_do_not_shift_pages() {
    let (fixture, runs) = filled(10).await;
    let query = RunQuery { limit: 3, ..RunQuery::default() };
    let first = fixture.store.runs(&query).await.unwrap();
    let newer = Run { created_at: NOW.plus_ms(99), ..manual_run() };
    fixture.store.insert_run(&newer, NOW).await.unwrap();
    let second = fixture.store.runs(&RunQuery { before: first.next, ..query }).await.unwrap();
    assert_eq!(second.runs, runs[3..6]);
}

#[tokio::test]
async fn unreadable_run_cursor_begins_at_the_top() {
    let (fixture, runs) = filled(3).await;
    for cursor in ["", "x", "1.", "'; DROP TABLE runs"] {
        let query = RunQuery { before: Some(cursor.to_owned()), ..RunQuery::default() };
        assert_eq!(fixture.store.runs(&query).await.unwrap().runs, runs, "{cursor}");
    }
}
