//! The stored secrets whose values a call writes down here.
//!
//! Owns how they are told from the call as it is kept: by its handles, where values stand in their place. A handle that a
//! model has written itself stays one and names none. One could get it wrong by asking the arguments alone: they look the
//! same for both.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Surroundings;
use crate::hidden::handles;

/// The names of the stored secrets whose values a call with these arguments writes, in order and each once.
#[must_use]
pub fn values_in(arguments: &Value, surroundings: &Surroundings) -> Vec<String> {
    if !surroundings.holds_values {
        return Vec::new();
    }
    let kept = arguments.to_string();
    let names: BTreeSet<&str> = handles(&kept).map(|handle| handle.name).collect();
    names.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_handles_that_stand_for_values_name_what_is_written() {
        let kept = json!({ "path": ".env", "content": ["{{secret:pin}} {{secret:mail}}", "{{secret:pin}}"] });
        let of = |holds_values| {
            values_in(&kept, &Surroundings { holds_values, ..Surroundings::default() })
        };
        assert_eq!((of(true), of(false)), (vec!["mail".to_owned(), "pin".to_owned()], vec![]));
    }
}
