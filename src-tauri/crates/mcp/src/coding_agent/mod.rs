//! Coding agents: the tool `delegate`, over the Agent Client Protocol.
//!
//! Owns the life of a task: a process for each task, a session in it, its updates, and its permission requests. A
//! permission request ends the call with a request to the person; the repeated call gives the answer to the same
//! session. Never answers for the person, and never repeats a task by itself.
//! Pitfall: a session that waits for a person outlives its call; `waiting_tasks` ends each of them.

mod connection;
mod session;
mod task_record;
mod permission;
mod task_state;
mod waiting_tasks;
mod agents;
mod tool;
#[cfg(test)]
mod tests;

pub use agents::{CodingAgents, CodingAgentsConfig};
