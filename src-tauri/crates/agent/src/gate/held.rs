//! Calls that are kept in memory alone, because no file may hold them as they are.
//!
//! Owns the arguments of calls that hold a stored secret in a way that no handle can stand for, while they wait for a
//! person, each under a name that says nothing of them. A question, a grant and the journal know the name and show marks.
//! Nothing of it outlives the process: a call whose arguments are gone is not made. One could get it wrong by naming them
//! by a hash: whoever reads the database could try words until one fits.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use uuid::Uuid;

/// Calls that are kept at the same time; the oldest ones go first.
const MOST: usize = 64;

/// The calls that are kept.
#[derive(Default)]
pub(super) struct HeldCalls {
    newest_last: Mutex<VecDeque<HeldCall>>,
}

struct HeldCall {
    name: String,
    tool: String,
    arguments: Value,
}

impl HeldCalls {
    /// Keeps this call; answers its name, which is the same for the same call.
    pub(super) fn keep(&self, tool: &str, arguments: &Value) -> String {
        let mut calls = self.newest_last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |call: &HeldCall| call.tool == tool && call.arguments == *arguments;
        let known = calls.iter().position(is_it).and_then(|at| calls.remove(at));
        let call = known.unwrap_or_else(|| HeldCall {
            name: Uuid::new_v4().to_string(),
            tool: tool.to_owned(),
            arguments: arguments.clone(),
        });
        let name = call.name.clone();
        calls.push_back(call);
        if calls.len() > MOST {
            calls.pop_front();
        }
        name
    }

    /// The arguments of the call with this name; none when they are not there any more.
    pub(super) fn arguments(&self, name: &str) -> Option<Value> {
        let calls = self.newest_last.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().find(|call| call.name == name).map(|call| call.arguments.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_call_has_one_name_and_the_newest_are_kept() {
        let held = HeldCalls::default();
        let first = held.keep("write_file", &json!(0));
        assert_eq!(held.keep("write_file", &json!(0)), first);
        assert_ne!(held.keep("memory_write", &json!(0)), first);
        for number in 1..MOST {
            held.keep("write_file", &json!(number));
        }
        assert_eq!(held.arguments(&first), None);
        assert!(held.arguments(&held.keep("write_file", &json!(1))).is_some());
    }
}
