//! The table `call_attachments`: files that tool calls returned, kept for the person.
//!
//! Owns rows, queries and the limit of a run: a file beyond the limit has a row without bytes. `steps` writes the rows
//! with the end of their step, `tx::retention` deletes them with the run. Never decides which files may be kept: the
//! caller omits files of calls with secret values. Pitfall: reading the bytes for a list.

use rouse_core::RunId;
use rouse_core::attachment::{Attachment, MAX_RUN_ATTACHMENT_BYTES, MediaKind};

use crate::sql::{Store, StoreError, Transaction, from_columns};

/// A file of a call, without the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAttachment {
    /// The number of the call's step in the run.
    pub step: u32,
    /// The name, without folder or address.
    pub name: String,
    /// The kind.
    pub kind: MediaKind,
    /// The size in bytes.
    pub size: u64,
    /// Whether the bytes are kept: false beyond the limit of the run.
    pub is_kept: bool,
}

from_columns!(CallAttachment: step, name, kind, size, is_kept);

const INSERT: &str = "INSERT INTO call_attachments (run_id, step, position, name, kind, size, bytes)
    SELECT $1, $2, $3, $4, $5, $6, CASE WHEN $6 <= $8 -
        (SELECT coalesce(sum(size), 0) FROM call_attachments WHERE run_id = $1 AND bytes IS NOT NULL) THEN $7 END";
pub(crate) const LIST: &str = "SELECT step, name, kind, size, bytes IS NOT NULL
    FROM call_attachments WHERE run_id = $1 ORDER BY step, position";
pub(crate) const GET: &str = "SELECT kind, bytes FROM call_attachments
    WHERE run_id = $1 AND step = $2 AND position = $3 AND bytes IS NOT NULL";

impl Store {
    /// The files of all calls of a run, in the order of their steps and positions.
    pub async fn call_attachments(&self, run: &RunId) -> Result<Vec<CallAttachment>, StoreError> {
        self.fetch_all("list the files of the run", sqlx::query(LIST).bind(run.as_str())).await
    }

    /// The kind and the bytes of the file at `position` of a step, from 0; none for a file that is not kept.
    pub async fn call_attachment(
        &self,
        run: &RunId,
        step: u32,
        position: u32,
    ) -> Result<Option<(MediaKind, Vec<u8>)>, StoreError> {
        let query = sqlx::query(GET).bind(run.as_str()).bind(step).bind(position);
        self.fetch_optional("read a file of the run", query).await
    }
}

/// Adds the files of a step that ends.
pub(super) async fn add_attachments(
    tx: &mut Transaction,
    run: &RunId,
    step: u32,
    files: &[Attachment],
) -> Result<(), StoreError> {
    let signed = |size: usize| i64::try_from(size).expect("BUG: a larger file than fits");
    for (position, file) in (0_u32..).zip(files) {
        let query = sqlx::query(INSERT)
            .bind(run.as_str())
            .bind(step)
            .bind(position)
            .bind(file.name.as_str())
            .bind(file.kind.name())
            .bind(signed(file.size))
            .bind(file.data.as_deref())
            .bind(signed(MAX_RUN_ATTACHMENT_BYTES));
        tx.execute(query).await?;
    }
    Ok(())
}
