//! The registry of tools: the built-in tools, and the accepted tools of servers.
//!
//! Owns the current set, which is replaced as a whole when the tools of servers change. Never changes the set of a run.
//! Pitfall: a built-in tool that is not admitted ends the start; a server's tool never does.

mod registered_tool;
mod tool_set;

use std::sync::{Arc, PoisonError, RwLock};

use rouse_core::tool::Tool;

pub use registered_tool::AdmissionError;
pub use tool_set::{RefusedTool, ToolCallError, ToolSet, is_callable_alone};

/// The current tools.
pub struct ToolRegistry {
    builtin: ToolSet,
    current: RwLock<Arc<ToolSet>>,
}

impl ToolRegistry {
    /// A registry of the built-in tools.
    ///
    /// # Errors
    /// A tool is not admitted.
    pub fn new(builtin: Vec<Arc<dyn Tool>>) -> Result<Self, AdmissionError> {
        let mut set = ToolSet::default();
        builtin.into_iter().try_for_each(|tool| set.admit(tool))?;
        Ok(Self { current: RwLock::new(Arc::new(set.clone())), builtin: set })
    }

    /// The current set.
    #[must_use]
    pub fn current(&self) -> Arc<ToolSet> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the tools of servers. Runs keep the set that they began with.
    pub fn replace_server_tools(&self, tools: Vec<Arc<dyn Tool>>) {
        let set = Arc::new(self.builtin.with_tools(tools));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = set;
    }
}
