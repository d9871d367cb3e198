//! The table `approvals`: questions to a person, and their answers.
//!
//! Owns the order of things around an answer: the first one wins, whoever gives it; a run is parked together with its
//! questions and waits for its lane again together with the last of its answers; a yes for once is used up by one call
//! in the same transaction that journals the call; a grant takes the other open questions with it to which it is a yes. It
//! refuses to judge whether a call needs a yes. One could get it
//! wrong by reading that a question is open and writing the answer later: two people would both have decided.

use std::collections::BTreeSet;

use rouse_core::approval::{
    Answer, AnsweredFrom, Approval, ApprovalState, Fingerprint, Grant, Permit, Scope,
};
use rouse_core::delivery::NewDelivery;
use rouse_core::event::EventKind;
use rouse_core::run::Usage;
use rouse_core::{ApprovalId, JobId, Run, RunId, UnixMs};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteRow;

use crate::grants;
use crate::jobs;
use crate::outbox::{enqueue, forget_questions};
use crate::row::{Columns, bind_usage};
use crate::run_events::run_event;
use crate::runs::{read_run, run_columns, with_usage};
use crate::walk::{Done, Walk};
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

/// The columns of a question, as `read` takes them.
macro_rules! approval_columns {
    () => {
        "id, run_id, job_id, job_name, call_id, tool, arguments, surroundings, fingerprint, preview, why, is_highest,
         asked_at, expires_at, state, scope, reason, decided_at, answered_from, used_at"
    };
}

const INSERT: &str = concat!(
    "INSERT INTO approvals (",
    approval_columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 'pending', NULL, NULL, NULL, NULL, NULL)"
);
const PARK: &str = concat!(
    "UPDATE runs SET state = 'awaitingApproval', worked_ms = ?6, ",
    with_usage!("?2", "?3", "?4", "?5"),
    " WHERE id = ?1 AND state = 'running' RETURNING ",
    run_columns!()
);
pub(crate) const GET: &str =
    concat!("SELECT ", approval_columns!(), " FROM approvals WHERE id = ?1");
pub(crate) const PENDING: &str = concat!(
    "SELECT ",
    approval_columns!(),
    " FROM approvals WHERE state = 'pending' ORDER BY expires_at, id"
);
pub(crate) const NEWEST: &str = concat!(
    "SELECT ",
    approval_columns!(),
    " FROM approvals ORDER BY asked_at DESC, id DESC LIMIT ?1"
);
pub(crate) const OF_RUN: &str = concat!(
    "SELECT ",
    approval_columns!(),
    " FROM approvals WHERE run_id = ?1 ORDER BY asked_at, id"
);
pub(crate) const NEXT_EXPIRY: &str =
    "SELECT min(expires_at) FROM approvals WHERE state = 'pending'";
const DECIDE: &str = concat!(
    "UPDATE approvals SET state = ?2, scope = ?3, reason = ?4, decided_at = ?5, answered_from = ?6
     WHERE id = ?1 AND state = 'pending' AND expires_at > ?5 RETURNING ",
    approval_columns!()
);
/// Those of a job that are open, the oldest first.
pub(crate) const OPEN_OF_JOB: &str = concat!(
    "SELECT ",
    approval_columns!(),
    " FROM approvals INDEXED BY approvals_pending WHERE state = 'pending' AND job_id = ?1 ORDER BY asked_at, id"
);
const COVER: &str = concat!(
    "UPDATE approvals SET state = 'covered', decided_at = ?2 WHERE id = ?1 RETURNING ",
    approval_columns!()
);
pub(crate) const EXPIRE: &str = concat!(
    "UPDATE approvals SET state = 'expired', decided_at = ?1
     WHERE state = 'pending' AND expires_at <= ?1 RETURNING ",
    approval_columns!()
);
pub(crate) const WITHDRAW: &str = concat!(
    "UPDATE approvals SET state = 'withdrawn', decided_at = ?2
     WHERE run_id = ?1 AND state = 'pending' RETURNING ",
    approval_columns!()
);
pub(crate) const PUT_OFF: &str = concat!(
    "UPDATE approvals SET expires_at = ?3 + (expires_at - coalesce(?2, asked_at))
     WHERE run_id = ?1 AND state = 'pending' RETURNING ",
    approval_columns!()
);
/// Of those that were asked later than now. While what asks is held, the time for the answer begins with its end.
pub(crate) const NEARER: &str = concat!(
    "UPDATE approvals SET asked_at = ?1, expires_at = ?1 + expires_at - coalesce(
        (SELECT max(held_until) FROM outbox
         WHERE outbox.run_id = approvals.run_id AND outbox.state = 'held' AND outbox.digest IS NULL), asked_at)
     WHERE state = 'pending' AND asked_at > ?1 RETURNING ",
    approval_columns!()
);
/// Back into its lane, unless another of its questions is open.
const UNPARK: &str = concat!(
    "UPDATE runs SET state = 'queued' WHERE id = ?1 AND state = 'awaitingApproval'
        AND NOT EXISTS (SELECT 1 FROM approvals WHERE run_id = ?1 AND state = 'pending') RETURNING ",
    run_columns!()
);
const USE: &str = "UPDATE approvals SET used_at = ?2
    WHERE id = ?1 AND state = 'approved' AND (scope <> 'once' OR used_at IS NULL)";
/// A run that waits for a person, with its questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Park {
    /// The run.
    pub run_id: RunId,
    /// What it asks.
    pub questions: Vec<Approval>,
    /// What it has cost so far.
    pub usage: Usage,
    /// How long its attempt was at work so far.
    pub worked_ms: i64,
    /// Rows for the outbox.
    pub deliveries: Vec<NewDelivery>,
    /// When.
    pub now: UnixMs,
}

/// What an answer did.
#[derive(Debug, Clone, PartialEq)]
pub enum Decided {
    /// It counts. The run goes on when it was the last of its questions.
    Counts {
        /// The question as it stands now.
        approval: Box<Approval>,
        /// The runs that wait in their lanes again: its own, and others whose questions a grant has answered.
        goes_on: Vec<Run>,
    },
    /// Somebody was faster, it has expired, or its run is over: the question as it stood.
    TooLate(Box<Approval>),
}

impl Store {
    /// Parks a run that is at work: its questions, its new state and what is told are one transaction. None when it is
    /// not at work any more; then nothing was asked.
    ///
    /// # Errors
    /// `NotFound` when its job is gone: nobody is asked, and it is still at work. `Write`.
    pub async fn park_run(&self, park: &Park) -> Result<Option<Run>, StoreError> {
        let mut write = self.write("save the question", Durability::Full, park.now).await?;
        let query = bind_usage(sqlx::query(PARK).bind(park.run_id.as_str()), park.usage)
            .bind(park.worked_ms);
        let Some(run) = write.one(query, read_run).await? else {
            write.undo().await?;
            return Ok(None);
        };
        if let Some(job) = &run.job_id
            && !jobs::is_there(&mut write, job).await?
        {
            write.undo().await?;
            return Err(not_found("job", job.as_str()));
        }
        for question in &park.questions {
            insert(&mut write, question).await?;
            write.event(EventKind::Approval, event(question));
        }
        for delivery in &park.deliveries {
            enqueue(&mut write, Some(&run.id), delivery).await?;
        }
        write.event(EventKind::Run, run_event(&run));
        write.commit().await?;
        Ok(Some(run))
    }

    /// Takes an answer; the first one counts. With a grant it is made in the same transaction, and the other questions of
    /// the job that it answers are over.
    ///
    /// # Errors
    /// `NotFound`, also for a grant whose job is gone; `Write`.
    pub async fn decide(
        &self,
        id: &ApprovalId,
        answer: &Answer,
        from: AnsweredFrom,
        now: UnixMs,
    ) -> Result<Decided, StoreError> {
        let mut write = self.write("save the answer", Durability::Full, now).await?;
        let (state, scope, reason) = words_of(answer);
        let query = sqlx::query(DECIDE)
            .bind(id.as_str())
            .bind(state)
            .bind(scope)
            .bind(reason)
            .bind(now.0)
            .bind(from.name());
        let Some(approval) = write.one(query, read).await? else {
            write.undo().await?;
            let approval = self.approval(id).await?;
            return approval
                .map(|approval| Decided::TooLate(Box::new(approval)))
                .ok_or_else(|| not_found("question", id.as_str()));
        };
        write.event(EventKind::Approval, event(&approval));
        let mut runs = BTreeSet::from([approval.run_id.clone()]);
        if let (Answer::Always(grant), Some(job_id)) = (answer, &approval.job_id) {
            if !jobs::is_there(&mut write, job_id).await? {
                write.undo().await?;
                return Err(not_found("job", job_id.as_str()));
            }
            let grant = grants::insert(&mut write, grant, job_id, &approval.tool).await?;
            runs.extend(cover(&mut write, &grant).await?);
        }
        let mut goes_on = Vec::new();
        for run in &runs {
            forget_questions(&mut write, run).await?;
            goes_on.extend(unpark(&mut write, run).await?);
        }
        write.commit().await?;
        Ok(Decided::Counts { approval: Box::new(approval), goes_on })
    }

    /// Ends the questions that nobody answered in time; answers the runs that go on, to be told so.
    ///
    /// # Errors
    /// `Write`.
    pub async fn expire_approvals(&self, now: UnixMs) -> Result<Vec<Run>, StoreError> {
        let mut write = self.write("end the questions", Durability::Full, now).await?;
        let expired = write.list(sqlx::query(EXPIRE).bind(now.0), read).await?;
        let mut goes_on = Vec::new();
        for approval in &expired {
            write.event(EventKind::Approval, event(approval));
            forget_questions(&mut write, &approval.run_id).await?;
            goes_on.extend(unpark(&mut write, &approval.run_id).await?);
        }
        if expired.is_empty() {
            write.undo().await?;
        } else {
            write.commit().await?;
        }
        Ok(goes_on)
    }

    /// When the first open question expires.
    ///
    /// # Errors
    /// `Read`.
    pub async fn next_expiry(&self) -> Result<Option<UnixMs>, StoreError> {
        let query = sqlx::query(NEXT_EXPIRY);
        let next =
            self.one("read the questions", query, |row| Columns::of(row).some_instant()).await?;
        Ok(next.flatten())
    }

    /// One question.
    ///
    /// # Errors
    /// `Read`.
    pub async fn approval(&self, id: &ApprovalId) -> Result<Option<Approval>, StoreError> {
        self.one("read the question", sqlx::query(GET).bind(id.as_str()), read).await
    }

    /// The open questions, the first to expire first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn pending_approvals(&self) -> Result<Vec<Approval>, StoreError> {
        self.list("read the questions", sqlx::query(PENDING), read).await
    }

    /// The newest questions, whatever became of them.
    ///
    /// # Errors
    /// `Read`.
    pub async fn newest_approvals(&self, limit: u32) -> Result<Vec<Approval>, StoreError> {
        self.list("read the questions", sqlx::query(NEWEST).bind(limit), read).await
    }

    /// The questions of a run, in their order.
    ///
    /// # Errors
    /// `Read`.
    pub async fn approvals_of(&self, run: &RunId) -> Result<Vec<Approval>, StoreError> {
        self.list("read the questions", sqlx::query(OF_RUN).bind(run.as_str()), read).await
    }
}

/// Uses up what allows a call, as part of the write that journals it; false when it allows nothing any more.
pub(crate) async fn use_up(write: &mut Write, permit: &Permit) -> Result<bool, StoreError> {
    let query = match permit {
        Permit::Answer(id) => sqlx::query(USE).bind(id.as_str()).bind(write.now().0),
        Permit::Grant(id) => return grants::use_up(write, id).await,
    };
    Ok(write.run(query).await?.rows_affected() > 0)
}

/// Ends the open questions of a run that is over, as part of a write.
pub(crate) async fn withdraw(write: &mut Write, run: &RunId) -> Result<(), StoreError> {
    let mut walk = Walk::default();
    add_withdraw(&mut walk, run, write.now());
    let done = write.go(walk).await?;
    follow_withdraw(write, run, &done[0]).await
}

/// Adds what ends the open questions of a run.
pub(crate) fn add_withdraw(walk: &mut Walk, run: &RunId, now: UnixMs) {
    walk.add(WITHDRAW, |values| values.bind(run.as_str()).bind(now.0));
}

/// Tells of the questions that have ended so.
pub(crate) async fn follow_withdraw(
    write: &mut Write,
    run: &RunId,
    done: &Done,
) -> Result<(), StoreError> {
    let withdrawn = write.read(done, read)?;
    for approval in &withdrawn {
        write.event(EventKind::Approval, event(approval));
    }
    if !withdrawn.is_empty() {
        forget_questions(write, run).await?;
    }
    Ok(())
}

/// Lets the time for the answers of a run begin when its question can be told: when the quiet hours end for which it is
/// held, or when it is let go before that, as part of a write. `before` is when that was to be by what was known then; none
/// when it was held for the first time.
pub(crate) async fn put_off(
    write: &mut Write,
    run: &RunId,
    before: Option<UnixMs>,
    until: UnixMs,
) -> Result<(), StoreError> {
    let query = sqlx::query(PUT_OFF).bind(run.as_str()).bind(before.map(|at| at.0)).bind(until.0);
    for approval in write.list(query, read).await? {
        write.event(EventKind::Approval, event(&approval));
    }
    Ok(())
}

/// Gives questions that a clock has asked which was ahead the time that they had, from now on, as part of a write; answers
/// whether there was one.
pub(crate) async fn take_questions_nearer(write: &mut Write) -> Result<bool, StoreError> {
    let nearer = write.list(sqlx::query(NEARER).bind(write.now().0), read).await?;
    for approval in &nearer {
        write.event(EventKind::Approval, event(approval));
    }
    Ok(!nearer.is_empty())
}

/// Ends the open questions that a new grant answers, no more of them than it is good for; answers their runs.
async fn cover(write: &mut Write, grant: &Grant) -> Result<Vec<RunId>, StoreError> {
    let open = write.list(sqlx::query(OPEN_OF_JOB).bind(grant.job_id.as_str()), read).await?;
    let most = grant.uses_left.map_or(usize::MAX, |uses| uses as usize);
    let mut runs = Vec::new();
    for asked in open.into_iter().filter(|asked| grant.answers(asked)).take(most) {
        let query = sqlx::query(COVER).bind(asked.id.as_str()).bind(write.now().0);
        let covered = write.list(query, read).await?;
        for approval in &covered {
            write.event(EventKind::Approval, event(approval));
        }
        runs.push(asked.run_id);
    }
    Ok(runs)
}

async fn unpark(write: &mut Write, run: &RunId) -> Result<Option<Run>, StoreError> {
    let run = write.one(sqlx::query(UNPARK).bind(run.as_str()), read_run).await?;
    if let Some(run) = &run {
        write.event(EventKind::Run, run_event(run));
    }
    Ok(run)
}

async fn insert(write: &mut Write, question: &Approval) -> Result<(), StoreError> {
    let surroundings = json!(question.surroundings).to_string();
    let query = sqlx::query(INSERT)
        .bind(question.id.as_str())
        .bind(question.run_id.as_str())
        .bind(question.job_id.as_ref().map(JobId::as_str))
        .bind(question.job_name.as_str())
        .bind(question.call_id.as_str())
        .bind(question.tool.as_str())
        .bind(question.arguments.to_string())
        .bind(surroundings)
        .bind(question.fingerprint.as_str())
        .bind(question.preview.as_str())
        .bind(question.why.as_str())
        .bind(question.is_highest)
        .bind(question.asked_at.0)
        .bind(question.expires_at.0);
    write.run(query).await?;
    Ok(())
}

fn words_of(answer: &Answer) -> (&'static str, Option<&'static str>, Option<&str>) {
    match answer {
        Answer::Once => ("approved", Some(scope_name(Scope::Once)), None),
        Answer::Run => ("approved", Some(scope_name(Scope::Run)), None),
        Answer::Always(_) => ("approved", Some(scope_name(Scope::Always)), None),
        Answer::Deny { reason } => ("denied", None, reason.as_deref()),
    }
}

const fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Once => "once",
        Scope::Run => "run",
        Scope::Always => "always",
    }
}

fn scope_of(name: &str) -> Option<Scope> {
    [Scope::Once, Scope::Run, Scope::Always].into_iter().find(|scope| scope_name(*scope) == name)
}

/// The data of an `approval` event.
fn event(approval: &Approval) -> Value {
    let mut data = json!({
        "approvalId": approval.id.as_str(),
        "runId": approval.run_id.as_str(),
        "state": approval.state.name(),
    });
    if let Some(job_id) = &approval.job_id {
        data["jobId"] = job_id.as_str().into();
    }
    data
}

fn read(row: &SqliteRow) -> sqlx::Result<Approval> {
    let mut columns = Columns::of(row);
    Ok(Approval {
        id: columns.id(ApprovalId::new)?,
        run_id: columns.id(RunId::new)?,
        job_id: columns.some_id(JobId::new)?,
        job_name: columns.get()?,
        call_id: columns.get()?,
        tool: columns.get()?,
        arguments: columns.json()?,
        surroundings: decoded(columns.json()?)?,
        fingerprint: columns.id(Fingerprint::new)?,
        preview: columns.get()?,
        why: columns.get()?,
        is_highest: columns.get()?,
        asked_at: columns.instant()?,
        expires_at: columns.instant()?,
        state: read_state(&mut columns)?,
        answered_from: columns.some_word(AnsweredFrom::from_name)?,
        used_at: columns.some_instant()?,
    })
}

fn read_state(columns: &mut Columns<'_>) -> sqlx::Result<ApprovalState> {
    let name: String = columns.get()?;
    let scope = columns.some_word(scope_of)?;
    let reason = columns.get()?;
    let decided_at = columns.some_instant()?;
    let known = || match (name.as_str(), scope, decided_at) {
        ("pending", _, _) => Some(ApprovalState::Pending),
        ("approved", Some(scope), Some(at)) => Some(ApprovalState::Approved { scope, at }),
        ("denied", _, Some(at)) => Some(ApprovalState::Denied { reason, at }),
        ("expired", _, Some(at)) => Some(ApprovalState::Expired { at }),
        ("withdrawn", _, Some(at)) => Some(ApprovalState::Withdrawn { at }),
        ("covered", _, Some(at)) => Some(ApprovalState::Covered { at }),
        _ => None,
    };
    known().ok_or_else(|| sqlx::Error::Decode("a question in an unknown state".into()))
}

pub(crate) fn decoded<T: serde::de::DeserializeOwned>(value: Value) -> sqlx::Result<T> {
    serde_json::from_value(value).map_err(|error| sqlx::Error::Decode(error.into()))
}

fn not_found(what: &'static str, id: &str) -> StoreError {
    StoreError::NotFound { what, id: id.to_owned() }
}
