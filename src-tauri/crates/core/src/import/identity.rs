//! Ids for jobs without an id.
//!
//! Owns the id, a hash of the job's content, so that a second import of the same file adds nothing. Equal jobs in a
//! file are numbered. State, enabled flag, dates and key order do not count.

use std::collections::HashMap;

use serde_json::Value;
use uuid::Builder;

use crate::approval::canonical;

/// Keys that do not make a job different.
const PASSING: [&str; 4] = ["state", "enabled", "createdAtMs", "updatedAtMs"];

/// The occurrences of each content so far.
#[derive(Default)]
pub(super) struct Seen(HashMap<String, u32>);

impl Seen {
    /// The id of a content; differs between occurrences.
    pub(super) fn id_of(&mut self, text: String) -> Value {
        let nth = self.0.get(&text).map_or(1, |count| count + 1);
        let id = id(&format!("{text}\n{nth}"));
        self.0.insert(text, nth);
        id
    }

    /// The id of a job of a JSON file; none for a job with an id.
    pub(super) fn id_of_job(&mut self, job: &Value) -> Option<Value> {
        let mut content = job.as_object()?.clone();
        let is_blank = match content.remove("id") {
            None | Some(Value::Null) => true,
            Some(id) => id.as_str().is_some_and(|id| id.trim().is_empty()),
        };
        content.retain(|key, _| !PASSING.contains(&key.as_str()));
        is_blank.then(|| self.id_of(canonical(&Value::Object(content))))
    }
}

/// FNV-1a over the text, as a UUID of version 8 (custom).
fn id(text: &str) -> Value {
    let hash = text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    Builder::from_custom_bytes(hash.to_be_bytes()).into_uuid().to_string().into()
}
