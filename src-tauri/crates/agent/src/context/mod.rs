//! Model context: task, history, skills, queued events, and the part that fits the context window.
//!
//! Files import downwards: `offered_tools` first, `compaction` last. Never calls a model.

pub(crate) mod offered_tools;
pub(crate) mod build_tool;
pub(crate) mod prompt;
pub(crate) mod window;
pub(crate) mod queued_events;
pub(crate) mod skills;
pub(crate) mod history;
pub(crate) mod compaction;
