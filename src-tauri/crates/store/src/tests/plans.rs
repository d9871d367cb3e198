//! Every query that runs often, or over much, uses its index. A partial index is silently not used
//! by a query that words its condition differently, and then a claim is a hundred times slower.

use sqlx::{AssertSqlSafe, Row as _};

use super::*;
use crate::run_pages::Filter;
use crate::{
    RunQuery, approvals, attempts, broken, causes, claims, counted, due, events, fetches, finish,
    grants, history, incidents, jobs, memory, missed, outbox, outside, retention, runs, sessions,
    set_back, spending, steps, summaries, system_events, webhooks,
};

async fn plan(store: &Store, sql: &str) -> String {
    let sql = format!("EXPLAIN QUERY PLAN {sql}");
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&store.readers).await.unwrap();
    let lines: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
    lines.join("\n")
}

/// The plan has all these lines, and scans no table.
async fn check(store: &Store, sql: &str, lines: &[&str]) {
    let plan = plan(store, sql).await;
    for line in lines {
        assert!(plan.contains(line), "no `{line}` in the plan of\n{sql}\n\n{plan}");
    }
    for table in [
        "jobs",
        "runs",
        "run_steps",
        "messages",
        "system_events",
        "outbox",
        "events",
        "incidents",
        "approvals",
    ] {
        let scan = format!("SCAN {table}");
        let walked = plan.lines().filter(|line| *line == scan).count();
        assert_eq!(walked, 0, "a whole table is read by\n{sql}\n\n{plan}");
    }
}

/// The same, and nothing is sorted.
async fn check_ordered(store: &Store, sql: &str, lines: &[&str]) {
    check(store, sql, lines).await;
    let plan = plan(store, sql).await;
    assert!(!plan.contains("B-TREE"), "rows are sorted by\n{sql}\n\n{plan}");
}

#[tokio::test]
async fn questions_use_their_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let pending = &["approvals_pending"];
    check(store, approvals::PENDING, pending).await;
    check(store, approvals::NEXT_EXPIRY, pending).await;
    check(store, approvals::EXPIRE, pending).await;
    check(store, approvals::OPEN_OF_JOB, pending).await;
    check_ordered(store, approvals::NEWEST, &["approvals_by_time"]).await;
    check(store, approvals::OF_RUN, &["INDEX approvals_by_run (run_id=?)"]).await;
    check(store, approvals::WITHDRAW, &["INDEX approvals_by_run (run_id=?)"]).await;
    check(store, grants::OF_JOB, &["INDEX grants_by_job (job_id=?)"]).await;
}

#[tokio::test]
async fn sums_of_what_was_spent_use_their_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    check(store, spending::OF_RUN, &["INDEX spending_by_run (run_id=?)"]).await;
    check(store, spending::OF_JOB, &["COVERING INDEX spending_by_job (job_id=? AND at>?)"]).await;
    check(store, spending::OF_JOBS, &["COVERING INDEX spending_by_job (job_id=? AND at>?)"]).await;
    check(store, spending::OF_ALL, &["COVERING INDEX spending_by_time (at>?)"]).await;
    check(store, spending::AHEAD, &["COVERING INDEX spending_by_time (at>?)"]).await;
    check(store, spending::UNMET, &["COVERING INDEX spending_by_time (at>?)"]).await;
}

#[tokio::test]
async fn the_memory_uses_its_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let by_path = "INDEX sqlite_autoindex_memory_files_1 (path=?)";
    for sql in [memory::FORGET, memory::FORGET_TEXT] {
        check(store, sql, &[by_path]).await;
    }
    let by_id = "SEARCH f USING INTEGER PRIMARY KEY (rowid=?)";
    check(store, memory::SEARCH, &["SCAN memory_text VIRTUAL TABLE INDEX 0:M", by_id]).await;
}

#[tokio::test]
async fn jobs_use_their_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    check_ordered(store, jobs::NEXT_DUE, &["USING COVERING INDEX jobs_due"]).await;
    check_ordered(store, due::COUNT_DUE, &["USING COVERING INDEX jobs_due"]).await;
    check_ordered(
        store,
        due::DUE,
        &[
            "SEARCH jobs USING INDEX jobs_due (next_run_at>? AND next_run_at<?)",
            "SEARCH runs USING INDEX runs_open (job_id=? AND state=?)",
        ],
    )
    .await;
    let newest = "SEARCH runs USING INDEX runs_by_job (job_id=?)";
    check_ordered(store, crate::system_events::MAIN_TURN_BEGUN, &[newest]).await;
    let by_id = "INDEX sqlite_autoindex_jobs_1 (id=?)";
    let few = [
        jobs::GET,
        crate::plans::SET_NEXT,
        crate::plans::SET_DECIDED,
        claims::HOLDS,
        claims::REMEMBER,
        runs::TOUCH_JOBS,
    ];
    for sql in few.into_iter().chain(claims::MOVE.sizes().map(|(_, sql)| sql)) {
        check(store, sql, &[by_id]).await;
    }
    let pruned = "SEARCH pruned_slots USING PRIMARY KEY (job_id=? AND through_at>?)";
    for (_, sql) in runs::INSERT.sizes() {
        check_ordered(store, sql, &[pruned, "INDEX runs_slot (job_id=? AND slot_at>?)"]).await;
    }
    let newest = "SEARCH newest USING COVERING INDEX runs_by_job (job_id=?)";
    for (_, sql) in counted::COUNT.sizes() {
        let by_seq = "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)";
        let later =
            "SEARCH later USING COVERING INDEX runs_slot (job_id=? AND slot_at>? AND slot_at<?)";
        check_ordered(store, sql, &[by_seq, newest, later, pruned]).await;
    }
    for (_, sql) in counted::MARK.sizes() {
        check(store, sql, &["INDEX sqlite_autoindex_runs_1 (id=?)"]).await;
    }
    check(
        store,
        causes::WITH_LOAD,
        &[by_id, "SEARCH runs USING INDEX runs_open (job_id=? AND state=?)"],
    )
    .await;
    check(store, causes::LISTENING, &["USING INDEX jobs_listening"]).await;
    let unchecked = "SEARCH well USING INDEX sqlite_autoindex_jobs_1 (id=?)";
    check(store, jobs::COUNT, &["USING COVERING INDEX jobs_health", unchecked]).await;
    check(store, broken::SWITCHED_OFF, &["USING INDEX jobs_health (consecutive_failures>?)"]).await;
    check_ordered(store, jobs::LIST, &["SEARCH jobs USING INDEX jobs_listed (<expr>>?)"]).await;
}

#[tokio::test]
async fn runs_use_their_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    check_ordered(store, runs::IN_STATE, &["USING INDEX runs_by_state (state=?)"]).await;
    let by_id = "INDEX sqlite_autoindex_runs_1 (id=?)";
    for sql in [runs::GET, attempts::GET, runs::START, finish::END] {
        check(store, sql, &[by_id]).await;
    }
    let newer = "SEARCH newer USING INDEX runs_slot (job_id=? AND slot_at>?)";
    check(store, finish::REMEMBER, &[by_id, newer, "INDEX sqlite_autoindex_jobs_1 (id=?)"]).await;
    let (of_job, of_open) =
        ("INDEX sqlite_autoindex_jobs_1 (id=?)", "INDEX incidents_open (<expr>=?)");
    check(store, crate::incidents::TOLD_RUNS, &[by_id, of_job, of_open]).await;
    check(store, runs::CANCEL_QUEUED_OF, &["USING INDEX runs_open (job_id=? AND state=?)"]).await;
    check(store, runs::LIVE, &["USING INDEX runs_open (job_id=? AND state=?)"]).await;
    check(store, runs::OPEN_FOR_SLOT, &["USING INDEX runs_open (job_id=?)", by_id]).await;
    let of_job = "USING INDEX runs_by_job (job_id=?)";
    check(store, due::FOR_SLOTS, &[of_job, by_id]).await;
    check_ordered(store, runs::LAST_RESULT, &["USING INDEX runs_by_job (job_id=?)"]).await;
    check_ordered(store, runs::NEWEST_RESULTS, &["USING INDEX runs_by_job (job_id=?)"]).await;
    check_ordered(store, history::NEWEST, &["USING INDEX runs_by_job (job_id=?)"]).await;
    let slots = &["COVERING INDEX runs_slot (job_id=? AND slot_at<?)", "SEARCH pruned_slots"];
    check_ordered(store, history::NEWEST_SLOT, slots).await;
    check_ordered(store, runs::USAGES, &["USING INDEX runs_by_job (job_id=?)"]).await;
    check_ordered(store, runs::RECENT, &["USING INDEX runs_by_job (job_id=?)"]).await;
}

#[tokio::test]
async fn causes_and_webhooks_use_their_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    check(store, causes::OF_RUN, &["USING INDEX sqlite_autoindex_causes_1 (run_id=?)"]).await;
    check(store, causes::KNOWN, &["USING COVERING INDEX causes_once (job_id=? AND id=?)"]).await;
    check(store, webhooks::SECRET, &["USING INDEX sqlite_autoindex_webhooks_1 (job_id=?)"]).await;
    let calls = "USING INDEX sqlite_autoindex_webhook_calls_1 (job_id=? AND key=?)";
    check(store, webhooks::CALL, &[calls]).await;
    check(store, webhooks::FORGET, &["INDEX webhook_calls_by_time (at<?)"]).await;
}

#[tokio::test]
async fn pages_of_runs_use_their_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let all = RunQuery::default;
    let job = || RunQuery { job_id: Some(JobId::new("a")), ..all() };
    let failed = || RunQuery { states: vec![RunState::Failed], ..all() };
    let both = vec![RunState::Failed, RunState::TimedOut];
    let pages = [
        (all(), "SCAN runs USING COVERING INDEX runs_by_time"),
        (RunQuery { from: Some(NOW), ..all() }, "runs_by_time (created_at>?)"),
        (
            RunQuery { from: Some(NOW), to: Some(NOW), ..all() },
            "runs_by_time (created_at>? AND created_at<?)",
        ),
        (job(), "COVERING INDEX runs_by_job (job_id=?)"),
        (RunQuery { from: Some(NOW), ..job() }, "runs_by_job (job_id=? AND created_at>?)"),
        (failed(), "COVERING INDEX runs_by_state (state=?)"),
        (RunQuery { to: Some(NOW), ..failed() }, "runs_by_state (state=? AND created_at<?)"),
        (RunQuery { states: both, ..all() }, "COVERING INDEX runs_by_state (state=?)"),
    ];
    for (query, index) in pages {
        let first = Filter::of(&query);
        check(store, &first.count_sql(), &[index]).await;
        check(
            store,
            &first.page_sql(),
            &[index, "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)"],
        )
        .await;
    }
    let next = |query| Filter::of(&query).with_cursor(crate::run_pages::Place::parse("1.1"));
    for (query, index) in [
        (all(), "runs_by_time (created_at<?)"),
        (job(), "runs_by_job (job_id=? AND created_at<?)"),
        (failed(), "runs_by_state (state=? AND created_at<?)"),
    ] {
        check(store, &next(query).page_sql(), &[index]).await;
    }
}

#[tokio::test]
async fn the_queues_and_the_journal_use_their_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    check_ordered(store, outbox::DUE, &["USING INDEX outbox_pending (next_attempt_at<?)"]).await;
    check_ordered(store, outbox::NEXT, &["USING COVERING INDEX outbox_pending"]).await;
    check(store, outbox::HELD, &["USING INDEX outbox_held"]).await;
    check(store, set_back::RUNS, &["INDEX runs_by_time (created_at>?)"]).await;
    check(store, set_back::PENDING, &["USING INDEX outbox_pending (next_attempt_at>?)"]).await;
    check(store, set_back::HELD, &["USING INDEX outbox_held (created_at>?)"]).await;
    let by_digest = "USING INDEX outbox_by_digest (digest=?)";
    check(store, outbox::SETTLE_DIGESTED, &[by_digest]).await;
    check(store, outbox::INTO_DIGEST, &["INDEX sqlite_autoindex_outbox_1 (id=?)"]).await;
    let open = "USING INDEX incidents_open (<expr>=?)";
    for sql in [incidents::OPEN_OF, incidents::OPEN_OF_MANY, incidents::END, incidents::BLAME] {
        check(store, sql, &[open]).await;
    }
    check(store, incidents::WITH_OPEN, &["USING INDEX incidents_open"]).await;
    check(store, outbox::OF_RUN, &["USING INDEX outbox_by_run (run_id=?)"]).await;
    check(store, missed::LATELY, &["INDEX runs_by_job (job_id=?)"]).await;
    let of_jobs = ["INDEX runs_by_job (job_id=?)", "INDEX outbox_by_run (run_id=?)"];
    check(store, missed::LATELY_CUT_OFF, &of_jobs).await;
    let counted = ["SCAN runs USING COVERING INDEX", "INDEX runs_by_state (state=?)"];
    check(store, retention::CROWDED, &counted).await;
    for sql in [retention::OLDEST_QUIET_OF, retention::OLDEST_OF] {
        check(store, sql, &["INDEX runs_by_job (job_id=?)"]).await;
    }
    let settled = "SEARCH outbox USING INDEX outbox_without_run (created_at<?)";
    check(store, retention::OLD_DELIVERIES, &[settled]).await;
    check_ordered(store, system_events::PENDING, &["USING INDEX system_events_pending"]).await;
    check_ordered(store, system_events::COUNT_PENDING, &["system_events_pending"]).await;
    let untold = ["USING INDEX system_events_pending", "INDEX runs_by_job (job_id=?"];
    check(store, system_events::UNTOLD, &untold).await;
    let shown = ["SEARCH line USING INTEGER PRIMARY KEY (rowid=?)", "INDEX runs_by_job (job_id=?"];
    check(store, system_events::UNTOLD_BY, &shown).await;
    check(store, system_events::COUNT, &["USING INDEX system_events_pending"]).await;
    let after = "SEARCH events USING INTEGER PRIMARY KEY (rowid>?)";
    check_ordered(store, events::AFTER, &[after]).await;
    check_ordered(store, sessions::NEWEST, &["USING INDEX messages_by_session (session=?)"]).await;
    let before = "USING INDEX messages_by_session (session=? AND rowid<?)";
    check_ordered(store, sessions::BEFORE, &[before]).await;
    check(store, sessions::BEGUN, &["INDEX runs_open (job_id=?", "USING COVERING INDEX sqlite"])
        .await;
    let after = "USING INDEX messages_by_session (session=? AND rowid>?)";
    for query in [summaries::NEWEST_SUMMARY, summaries::AFTER] {
        check_ordered(store, query, &[after]).await;
    }
    let counted = "USING COVERING INDEX messages_by_session (session=? AND rowid>?)";
    check(store, summaries::COUNT_AFTER, &[counted]).await;
    let journal = "sqlite_autoindex_run_steps_1 (run_id=?)";
    for query in [outside::ANY_HAS_CALLED, summaries::IN_VAIN] {
        check(store, query, &[journal]).await;
    }
    check(store, fetches::LAST, &[journal, "USING INDEX runs_by_job (job_id=?)"]).await;
    let of_day = &["INDEX sqlite_autoindex_runs_1 (id>?)", "INDEX runs_open"];
    check(store, steps::CALLED_SINCE, of_day).await;
    check_ordered(store, steps::LIST, &["USING INDEX sqlite_autoindex_run_steps_1 (run_id=?)"])
        .await;
}
