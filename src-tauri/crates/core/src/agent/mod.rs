//! The agent's turn as a pure state machine, and the ports: model, memory, skills, routines.
//!
//! Owns messages, the context window and the rules that end a turn. Never calls a model or a tool.

pub mod message;
pub mod attachment;
pub mod fence;
pub mod model;
pub mod turn;

pub mod memory;
pub mod skills;
pub mod routines;
pub mod fetch_history;
