//! The folders that a job grants: `policies.folders`.
//!
//! Owns the bound on their number and the refusal of a grant that another one already covers: of two nested grants a
//! command with the outer one could exchange the inner folder.

use crate::job::FolderGrant;
use crate::json_fields::Fields;

/// A longer list is one that nobody reads.
const MOST: usize = 20;

pub(super) fn read(fields: &mut Fields<'_>, key: &str) -> Vec<FolderGrant> {
    let mut grants: Vec<FolderGrant> = Vec::new();
    for (at, text) in fields.texts(key).unwrap_or_default().into_iter().enumerate() {
        match text.parse::<FolderGrant>() {
            Ok(grant) if grants.contains(&grant) => {}
            Ok(grant) => grants.push(grant),
            Err(problem) => fields.complain(&format!("{key}[{at}]"), problem),
        }
    }
    let nested = grants.iter().find_map(|inner| {
        let outer = grants.iter().find(|outer| *outer != inner && outer.covers(inner))?;
        Some(format!("{} is already covered by {outer}; remove it", inner.path))
    });
    if let Some(nested) = nested {
        fields.complain(key, nested);
    }
    if grants.len() > MOST {
        fields.complain(key, format!("expected at most {MOST} folders, found {}", grants.len()));
    }
    grants
}
