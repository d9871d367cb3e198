//! Calls of real components in the whole sandbox, with the compiler in a process of its own.

mod components;
mod calls;
mod fixture;
