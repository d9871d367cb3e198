//! The built-in tools, a module each, named like the tool.

pub(crate) mod echo;
pub(crate) mod json;
pub(crate) mod time;

pub(crate) mod http;
pub(crate) mod web_fetch;
pub(crate) mod web_search;

pub(crate) mod create_workspace;
pub(crate) mod edit_file;
pub(crate) mod list_dir;
pub(crate) mod read_file;
pub(crate) mod search_files;
pub(crate) mod write_file;

pub(crate) mod memory;
pub(crate) mod routines;
pub(crate) mod skill_load;
pub(crate) mod skill_read;

pub(crate) mod run_command;

pub(crate) mod builder;
pub(crate) mod complete_run;
pub(crate) mod notify;
pub(crate) mod tool_search;
