//! Grants.

use rouse_gateway::wire::GrantView;

use super::text::escape;

/// One line per valid grant: tool and scope.
pub(crate) fn grant_lines(grants: &[GrantView]) -> Vec<String> {
    let valid = grants.iter().filter(|grant| grant.is_valid);
    valid.map(|grant| escape(&format!("{}: {}", grant.tool, grant.covers.describe()))).collect()
}
