//! References inside a schema, and `allOf`, filled in.
//!
//! Owns `$ref` to a part of the same schema and the merge of parts into one schema. Never fetches a document. Bounds the
//! bytes of all filled-in parts, so that references cannot multiply a schema. Pitfall: a schema that refers to itself;
//! a reference inside of its own target is left out.

use serde_json::{Map, Value};

use super::problem::SchemaProblem;

/// The most levels of a normalised schema; deeper parts become `{}`.
pub(super) const MAX_DEPTH: usize = 32;

/// The most bytes of all filled-in parts.
const MAX_FILLED_BYTES: usize = 64 << 10;

/// The references of one schema.
pub(super) struct References<'s> {
    root: &'s Value,
    /// The references whose target is being read.
    open: Vec<String>,
    filled_bytes: usize,
}

impl<'s> References<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, open: vec!["#".to_owned()], filled_bytes: 0 }
    }

    /// The number of references whose target is being read.
    pub(super) const fn open_count(&self) -> usize {
        self.open.len()
    }

    /// Ends the targets that were begun since `count`.
    pub(super) fn close_to(&mut self, count: usize) {
        self.open.truncate(count);
    }

    /// The schema with the target of `$ref` and the members of `allOf` merged in. Own keywords win. The references stay
    /// open until `close_to`.
    pub(super) fn expand(
        &mut self,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<Map<String, Value>, SchemaProblem> {
        let mut merged = fields.clone();
        let reference = merged.shift_remove("$ref");
        let members = merged.shift_remove("allOf");
        if depth >= MAX_DEPTH {
            return Ok(merged);
        }
        if let Some(Value::String(reference)) = reference
            && let Value::Object(target) = self.begin_target(reference)?
        {
            let target = self.expand(target, depth + 1)?;
            merge_part(&mut merged, target);
        }
        for member in members.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let Value::Object(member) = member else { continue };
            let member = self.expand(member, depth + 1)?;
            merge_part(&mut merged, member);
        }
        Ok(merged)
    }

    /// The target of a reference; null inside of the target itself.
    fn begin_target(&mut self, reference: String) -> Result<&'s Value, SchemaProblem> {
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(SchemaProblem::RemoteReference(reference));
        };
        if self.open.contains(&reference) {
            return Ok(&Value::Null);
        }
        let Some(target) = self.root.pointer(pointer) else {
            return Err(SchemaProblem::MissingReference(reference));
        };
        self.filled_bytes += target.to_string().len();
        if self.filled_bytes > MAX_FILLED_BYTES {
            return Err(SchemaProblem::TooLarge);
        }
        self.open.push(reference);
        Ok(target)
    }
}

/// Adds the keywords of `part`: properties and required names of both, all alternatives, and other keywords where
/// missing.
fn merge_part(merged: &mut Map<String, Value>, part: Map<String, Value>) {
    for (key, value) in part {
        let Some(known) = merged.get_mut(&key) else {
            merged.insert(key, value);
            continue;
        };
        match (known, value) {
            (Value::Object(known), Value::Object(added)) if key == "properties" => {
                for (name, schema) in added {
                    known.entry(name).or_insert(schema);
                }
            }
            (Value::Array(known), Value::Array(added))
                if matches!(key.as_str(), "required" | "anyOf" | "oneOf") =>
            {
                known.extend(added);
            }
            _ => {}
        }
    }
}
