//! Rows that cannot be decoded: damaged by hand, by a disk, or by a newer program.
//!
//! Owns the reports in the log, one per row and process, because lists are read again and again. An unreadable row never
//! hides the rest of a list. Pitfall: logging a job's name that was derived from an unreadable payload.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rouse_core::naming::{for_log, of_unread};
use serde_json::Value;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::row::{FromColumns, RowReader};

/// Decodes a row of a list; logs a row that cannot be decoded.
pub(crate) fn decode_or_log<'r, T: FromColumns<'r>>(action: &str, row: &'r SqliteRow) -> Option<T> {
    match RowReader::of(row).read() {
        Ok(value) => Some(value),
        Err(error) => {
            report(action, row, &error);
            None
        }
    }
}

fn report(action: &str, row: &SqliteRow, error: &sqlx::Error) {
    let text = |column: &str| row.try_get::<Option<String>, _>(column).ok().flatten();
    let id = text("id").unwrap_or_else(|| "without an id".to_owned());
    if !is_first_report(&format!("{action} {id}")) {
        return;
    }
    // Rows of runs have a `job_name`, rows of jobs a `definition`.
    let (job_name, definition) = (text("job_name"), text("definition"));
    let run_id = job_name.as_ref().map(|_| id.as_str());
    let job_id = text("job_id").or_else(|| definition.as_ref().map(|_| id.clone()));
    let name = match (job_name, &job_id) {
        (Some(name), Some(job)) => {
            // silent-ok: an unreadable payload yields a name without it.
            let payload = text("payload").unwrap_or_default();
            Some(name_beside_payload(
                &name,
                &serde_json::from_str(&payload).unwrap_or_default(),
                job,
            ))
        }
        (None, _) => definition.map(|definition| log_name(None, &definition, &id)),
        (name, None) => name,
    };
    tracing::error!(job_id, run_id, name, id, %error, "a row cannot be read and is left out (cannot {action})");
}

/// The name of a job in the log: `name`, or the name in the definition.
pub(crate) fn log_name(name: Option<&str>, definition: &str, id: &str) -> String {
    // silent-ok: an unreadable definition yields a name without it.
    let document: Value = serde_json::from_str(definition).unwrap_or_default();
    match name.or_else(|| document["name"].as_str()) {
        Some(name) => name_beside_payload(name, &document["payload"], id),
        None => of_unread(id),
    }
}

/// Withholds the name if the payload cannot be read: the name may be derived from the payload.
fn name_beside_payload(name: &str, payload: &Value, id: &str) -> String {
    if payload.is_object() { for_log(name, payload, id) } else { of_unread(id) }
}

/// Whether `subject` was not reported in this process yet.
pub(crate) fn is_first_report(subject: &str) -> bool {
    const MAX_REPORTS: usize = 1_000;
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    reported.len() < MAX_REPORTS && reported.insert(subject.to_owned())
}

#[cfg(test)]
mod tests {
    use super::log_name;

    #[test]
    fn name_derived_from_an_unreadable_payload_is_not_logged() {
        let named = |definition: &str| log_name(Some("Ask Anna"), definition, "0123456789");
        for definition in ["garbled", "{}", r#"{"payload": 5}"#] {
            assert_eq!(named(definition), "job 01234567", "{definition}");
        }
        let given = r#"{"payload": {"kind": "agentTurn", "message": "Look."}}"#;
        assert_eq!(named(given), "Ask Anna");
        let derived = r#"{"payload": {"kind": "agentTurn", "message": "ask Anna"}}"#;
        assert_eq!(named(derived), "agent job 01234567");
    }
}
