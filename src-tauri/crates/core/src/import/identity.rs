//! Ids of jobs that come without one.
//!
//! A job gets its id from what it says, so that importing a file twice adds nothing. Of two that say the same the second
//! counts as another. One could get this wrong by what changes without the job becoming another: its state, whether it is
//! on, its dates and the order of its keys are no part of it.

use std::collections::HashMap;

use serde_json::Value;
use uuid::Builder;

use crate::approval::canonical;

/// What a job can differ in and still be the same.
const PASSING: [&str; 4] = ["state", "enabled", "createdAtMs", "updatedAtMs"];

/// How often each text was there so far.
#[derive(Default)]
pub(super) struct Seen(HashMap<String, u32>);

impl Seen {
    /// The id of what says `text`: the same text gets the same one, and the next one the next time.
    pub(super) fn id_of(&mut self, text: String) -> Value {
        let nth = self.0.get(&text).map_or(1, |count| count + 1);
        let id = id(&format!("{text}\n{nth}"));
        self.0.insert(text, nth);
        id
    }

    /// The id of a job of a JSON file; none for one that has its own.
    pub(super) fn id_of_job(&mut self, job: &Value) -> Option<Value> {
        let mut said = job.as_object()?.clone();
        let is_blank = match said.remove("id") {
            None | Some(Value::Null) => true,
            Some(id) => id.as_str().is_some_and(|id| id.trim().is_empty()),
        };
        said.retain(|key, _| !PASSING.contains(&key.as_str()));
        is_blank.then(|| self.id_of(canonical(&Value::Object(said))))
    }
}

/// FNV-1a over the text, as a UUID of the kind that is everybody's own.
fn id(text: &str) -> Value {
    let hash = text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    Builder::from_custom_bytes(hash.to_be_bytes()).into_uuid().to_string().into()
}
