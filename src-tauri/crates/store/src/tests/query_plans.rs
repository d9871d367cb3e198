//! Frequent and large queries use their indexes. SQLite silently ignores a partial index if the condition of a query is
//! worded differently; a claim would be a hundred times slower.

use sqlx::{AssertSqlSafe, Row as _};

use super::*;
use crate::RunQuery;
use crate::sql::{DELETE_MEMORY_TEXTS, SEARCH_MEMORY};
use crate::tables::run_list::{RunCursor, RunFilter};
use crate::tables::{
    approvals, call_attachments, causes, channel_outcomes, due_jobs, events, fetches, grants,
    incidents, job_list, job_plans, jobs, memory, outbox, reminders, run_history, runs, sessions,
    spending, steps, summaries, system_events, taint, tool_builds, unreadable_jobs, webhooks,
};
use crate::tx::{
    approve, attempts, claim as claims, clock_rollback, coalesce, finish, job_edit, missed_slots,
    retention,
};

async fn plan(store: &Store, sql: &str) -> String {
    let sql = format!("EXPLAIN QUERY PLAN {sql}");
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&store.readers).await.unwrap();
    let lines: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
    lines.join("\n")
}

/// Checks that the plan has these lines and scans no table.
async fn check(store: &Store, sql: &str, lines: &[&str]) {
    let plan = plan(store, sql).await;
    for line in lines {
        assert!(plan.contains(line), "no `{line}` in the plan of\n{sql}\n\n{plan}");
    }
    for table in [
        "jobs",
        "runs",
        "run_steps",
        "call_attachments",
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

/// Checks also that the plan sorts nothing.
async fn check_ordered(store: &Store, sql: &str, lines: &[&str]) {
    check(store, sql, lines).await;
    let plan = plan(store, sql).await;
    assert!(!plan.contains("B-TREE"), "rows are sorted by\n{sql}\n\n{plan}");
}

#[tokio::test]
async fn approval_queries_use_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let pending = &["approvals_pending"];
    check(store, approvals::PENDING, pending).await;
    check(store, approvals::NEXT_EXPIRY, pending).await;
    check(store, approvals::EXPIRE, pending).await;
    check(store, approvals::PENDING_OF_JOB, pending).await;
    let unseen = ["approvals_by_run (run_id=?)", "outbox_approvals (run_id=?)"];
    check(store, approvals::DELAY_EXPIRY_OF_UNSEEN, &unseen).await;
    check_ordered(store, approvals::NEWEST, &["approvals_by_time"]).await;
    check(store, approvals::OF_RUN, &["INDEX approvals_by_run (run_id=?)"]).await;
    check(store, approve::WITHDRAW, &["INDEX approvals_by_run (run_id=?)"]).await;
    check(store, grants::OF_JOB, &["INDEX grants_by_job (job_id=?)"]).await;
}

#[tokio::test]
async fn spending_queries_use_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    check(store, spending::OF_RUN, &["INDEX spending_by_run (run_id=?)"]).await;
    check(store, spending::OF_JOB, &["COVERING INDEX spending_by_job (job_id=? AND at>?)"]).await;
    check(store, spending::OF_JOBS, &["COVERING INDEX spending_by_job (job_id=? AND at>?)"]).await;
    check(store, spending::OF_ALL, &["COVERING INDEX spending_by_time (at>?)"]).await;
    check(store, spending::HAS_ROWS_AHEAD, &["COVERING INDEX spending_by_time (at>?)"]).await;
    check(store, spending::UNSEEN, &["COVERING INDEX spending_by_time (at>?)"]).await;
}

#[tokio::test]
async fn memory_queries_use_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let by_path = "INDEX sqlite_autoindex_memory_files_1 (path=?)";
    for sql in [memory::DELETE_FILES, DELETE_MEMORY_TEXTS] {
        check(store, sql, &[by_path]).await;
    }
    let by_id = "SEARCH f USING INTEGER PRIMARY KEY (rowid=?)";
    check(store, SEARCH_MEMORY, &["SCAN memory_text VIRTUAL TABLE INDEX 0:M", by_id]).await;
}

#[tokio::test]
async fn tool_build_queries_use_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let by_hash = "INDEX sqlite_autoindex_tool_builds_1 (name=? AND hash=?)";
    for sql in [tool_builds::GET, tool_builds::STATE, tool_builds::SET_STATE] {
        check(store, sql, &[by_hash]).await;
    }
    check_ordered(store, tool_builds::OF_NAME, &["INDEX tool_builds_by_name (name=?)"]).await;
    check(store, tool_builds::REPLACE_ACCEPTED, &["INDEX tool_builds_accepted (name=?)"]).await;
}

#[tokio::test]
async fn job_queries_use_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    check_ordered(store, due_jobs::NEXT_DUE, &["USING COVERING INDEX jobs_due"]).await;
    check_ordered(store, due_jobs::COUNT_DUE, &["USING COVERING INDEX jobs_due"]).await;
    check_ordered(
        store,
        due_jobs::DUE,
        &[
            "SEARCH jobs USING INDEX jobs_due (next_run_at>? AND next_run_at<?)",
            "SEARCH runs USING INDEX runs_open (job_id=? AND state=?)",
        ],
    )
    .await;
    let newest = "SEARCH runs USING INDEX runs_by_job (job_id=?)";
    check_ordered(store, system_events::LAST_MAIN_TURN, &[newest]).await;
    let by_id = "INDEX sqlite_autoindex_jobs_1 (id=?)";
    let few = [
        jobs::GET,
        job_plans::SET_NEXT,
        job_plans::SET_DECIDED,
        claims::VALID,
        jobs::SET_LAST_STATES,
        jobs::SET_LAST_RUN_AT,
    ];
    for sql in few.into_iter().chain(claims::ADVANCE.texts().map(|(_, sql)| sql)) {
        check(store, sql, &[by_id]).await;
    }
    let pruned = "SEARCH pruned_slots USING PRIMARY KEY (job_id=? AND through_at>?)";
    for (_, sql) in runs::INSERT.texts() {
        check_ordered(store, sql, &[pruned, "INDEX runs_slot (job_id=? AND slot_at>?)"]).await;
    }
    let newest = "SEARCH newest USING COVERING INDEX runs_by_job (job_id=?)";
    for (_, sql) in coalesce::COALESCE.texts() {
        let by_seq = "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)";
        let later =
            "SEARCH later USING COVERING INDEX runs_slot (job_id=? AND slot_at>? AND slot_at<?)";
        check_ordered(store, sql, &[by_seq, newest, later, pruned]).await;
    }
    for (_, sql) in coalesce::SET_KEY.texts() {
        check(store, sql, &["INDEX sqlite_autoindex_runs_1 (id=?)"]).await;
    }
    check(
        store,
        due_jobs::WITH_LOAD,
        &[by_id, "SEARCH runs USING INDEX runs_open (job_id=? AND state=?)"],
    )
    .await;
    check(store, due_jobs::EVENT_JOBS, &["USING INDEX jobs_listening"]).await;
    let unchecked = "SEARCH healthy USING INDEX sqlite_autoindex_jobs_1 (id=?)";
    check(store, jobs::COUNT, &["USING COVERING INDEX jobs_health", unchecked]).await;
    check(store, unreadable_jobs::DISABLED, &["USING INDEX jobs_health (consecutive_failures>?)"])
        .await;
    check_ordered(store, job_list::LIST, &["SEARCH jobs USING INDEX jobs_listed (<expr>>?)"]).await;
}

#[tokio::test]
async fn run_queries_use_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    check_ordered(store, runs::IN_STATE, &["USING INDEX runs_by_state (state=?)"]).await;
    let by_id = "INDEX sqlite_autoindex_runs_1 (id=?)";
    for sql in [runs::GET, attempts::GET_BACKOFF, attempts::START, finish::END] {
        check(store, sql, &[by_id]).await;
    }
    let newer = "SEARCH newer USING INDEX runs_slot (job_id=? AND slot_at>?)";
    check(store, finish::UPDATE_JOB, &[by_id, newer, "INDEX sqlite_autoindex_jobs_1 (id=?)"]).await;
    let (of_job, of_open) =
        ("INDEX sqlite_autoindex_jobs_1 (id=?)", "INDEX incidents_open (<expr>=?)");
    check(store, incidents::ANNOUNCED_RUNS, &[by_id, of_job, of_open]).await;
    check(store, job_edit::CANCEL_WAITING, &["USING INDEX runs_open (job_id=? AND state=?)"]).await;
    check(store, runs::LIVE, &["USING INDEX runs_open (job_id=? AND state=?)"]).await;
    check(store, runs::OPEN_FOR_SLOT, &["USING INDEX runs_open (job_id=?)", by_id]).await;
    let of_job = "USING INDEX runs_by_job (job_id=?)";
    check(store, due_jobs::SLOT_LOAD, &[of_job, by_id]).await;
    check_ordered(store, run_history::LAST_RESULT, &["USING INDEX runs_by_job (job_id=?)"]).await;
    check_ordered(store, run_history::NEWEST_RESULTS, &["USING INDEX runs_by_job (job_id=?)"])
        .await;
    check_ordered(store, run_history::NEWEST_ENDED, &["USING INDEX runs_by_job (job_id=?)"]).await;
    let slots = &["COVERING INDEX runs_slot (job_id=? AND slot_at<?)", "SEARCH pruned_slots"];
    check_ordered(store, run_history::LATEST_SLOT, slots).await;
    check_ordered(store, run_history::RECENT_USAGE, &["USING INDEX runs_by_job (job_id=?)"]).await;
    check_ordered(store, run_history::RECENT_STATES, &["USING INDEX runs_by_job (job_id=?)"]).await;
}

#[tokio::test]
async fn cause_and_webhook_queries_use_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    check(store, causes::OF_RUN, &["USING INDEX sqlite_autoindex_causes_1 (run_id=?)"]).await;
    check(store, causes::KNOWN, &["USING COVERING INDEX causes_once (job_id=? AND id=?)"]).await;
    check(store, webhooks::SECRET, &["USING INDEX sqlite_autoindex_webhooks_1 (job_id=?)"]).await;
    let calls = "USING INDEX sqlite_autoindex_webhook_calls_1 (job_id=? AND key=?)";
    check(store, webhooks::CALL, &[calls]).await;
    check(store, webhooks::DELETE_EXPIRED_CALLS, &["INDEX webhook_calls_by_time (at<?)"]).await;
}

#[tokio::test]
async fn run_list_queries_use_indexes() {
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
        let first = RunFilter::of(&query);
        check(store, &first.count_sql(), &[index]).await;
        check(
            store,
            &first.page_sql(),
            &[index, "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)"],
        )
        .await;
    }
    let next = |query| RunFilter::of(&query).before(RunCursor::parse("1.1"));
    for (query, index) in [
        (all(), "runs_by_time (created_at<?)"),
        (job(), "runs_by_job (job_id=? AND created_at<?)"),
        (failed(), "runs_by_state (state=? AND created_at<?)"),
    ] {
        check(store, &next(query).page_sql(), &[index]).await;
    }
}

#[tokio::test]
async fn queue_and_journal_queries_use_indexes() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let due = "USING INDEX outbox_due (channel=? AND next_attempt_at<?)";
    check_ordered(store, outbox::DUE, &[due]).await;
    let of_channel = "USING COVERING INDEX outbox_due (channel=?";
    check(store, outbox::DUE_CHANNELS, &["USING COVERING INDEX outbox_due", of_channel]).await;
    check(store, outbox::DELAY_CHANNEL, &[due]).await;
    check(store, outbox::RECOVER_SENDING, &["USING INDEX outbox_sending"]).await;
    check(store, outbox::HELD, &["USING INDEX outbox_held"]).await;
    let newest = "INDEX outbox_outcomes (channel=? AND state=? AND settled_at>?)";
    check(store, channel_outcomes::CHANNEL_OUTCOMES, &[newest]).await;
    check(store, clock_rollback::SHIFT_RUNS, &["INDEX runs_by_time (created_at>?)"]).await;
    check(store, clock_rollback::SHIFT_PENDING, &["USING INDEX outbox_due"]).await;
    check(store, clock_rollback::SHIFT_HELD, &["USING INDEX outbox_held (created_at>?)"]).await;
    let by_digest = "USING INDEX outbox_by_digest (digest=?)";
    check(store, outbox::SETTLE_DIGESTED, &[by_digest]).await;
    check(store, outbox::ADD_TO_DIGEST, &["INDEX sqlite_autoindex_outbox_1 (id=?)"]).await;
    let open = "USING INDEX incidents_open (<expr>=?)";
    for sql in [
        incidents::OPEN_OF_JOB,
        incidents::OPEN_OF_JOBS,
        incidents::CLOSE,
        incidents::SET_PAUSE_REASON,
    ] {
        check(store, sql, &[open]).await;
    }
    check(store, incidents::JOBS_WITH_OPEN, &["USING INDEX incidents_open"]).await;
    check(store, outbox::OF_RUN, &["USING INDEX outbox_by_run (run_id=?)"]).await;
    check(store, missed_slots::RECENTLY_MISSED, &["INDEX runs_by_job (job_id=?)"]).await;
    let of_jobs = ["INDEX runs_by_job (job_id=?)", "INDEX outbox_by_run (run_id=?)"];
    check(store, missed_slots::RECENTLY_INTERRUPTED, &of_jobs).await;
    let counted = ["SCAN runs USING COVERING INDEX", "INDEX runs_by_state (state=?)"];
    check(store, retention::JOBS_OVER_LIMIT, &counted).await;
    for sql in [retention::OLDEST_IDLE_OF_JOB, retention::OLDEST_OF_JOB] {
        check(store, sql, &["INDEX runs_by_job (job_id=?)"]).await;
    }
    let settled = "SEARCH outbox USING INDEX outbox_without_run (created_at<?)";
    check(store, retention::OLD_DELIVERIES, &[settled]).await;
    check_ordered(store, system_events::PENDING, &["USING INDEX system_events_pending"]).await;
    check_ordered(store, system_events::COUNT_PENDING, &["system_events_pending"]).await;
    let reminders = ["USING INDEX system_events_pending", "INDEX runs_by_job (job_id=?"];
    check(store, reminders::QUEUED, &reminders).await;
    let shown = ["SEARCH line USING INTEGER PRIMARY KEY (rowid=?)", "INDEX runs_by_job (job_id=?"];
    check(store, reminders::SHOWN_TO_RUN, &shown).await;
    check(store, system_events::COUNT_QUEUED, &["USING INDEX system_events_pending"]).await;
    let after = "SEARCH events USING INTEGER PRIMARY KEY (rowid>?)";
    check_ordered(store, events::AFTER, &[after]).await;
    check_ordered(store, sessions::NEWEST, &["USING INDEX messages_by_session (session=?)"]).await;
    let before = "USING INDEX messages_by_session (session=? AND rowid<?)";
    check_ordered(store, sessions::BEFORE, &[before]).await;
    check(
        store,
        sessions::BEGUN_RUN,
        &["INDEX runs_open (job_id=?", "USING COVERING INDEX sqlite"],
    )
    .await;
    let after = "USING INDEX messages_by_session (session=? AND rowid>?)";
    for query in [summaries::NEWEST_SUMMARY, summaries::MESSAGES_AFTER] {
        check_ordered(store, query, &[after]).await;
    }
    let counted = "USING COVERING INDEX messages_by_session (session=? AND rowid>?)";
    check(store, summaries::COUNT_AFTER, &[counted]).await;
    let journal = "sqlite_autoindex_run_steps_1 (run_id=?)";
    for query in [taint::ANY_RUN_IS_TAINTED, summaries::HAS_UNFINISHED] {
        check(store, query, &[journal]).await;
    }
    check(store, fetches::LAST_FETCH, &[journal, "USING INDEX runs_by_job (job_id=?)"]).await;
    let of_day = &["INDEX sqlite_autoindex_runs_1 (id>?)", "INDEX runs_open"];
    check(store, steps::TOOL_CALLS_SINCE, of_day).await;
    check_ordered(store, steps::LIST, &["USING INDEX sqlite_autoindex_run_steps_1 (run_id=?)"])
        .await;
    let files = "USING INDEX sqlite_autoindex_call_attachments_1 (run_id=?";
    for query in [call_attachments::LIST, call_attachments::GET] {
        check_ordered(store, query, &[files]).await;
    }
}
