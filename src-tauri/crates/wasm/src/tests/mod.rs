//! Calls of real components in the whole sandbox, with the compiler in a process of its own.

mod components;
mod fixture;
mod calls;
mod permits;
mod attacks;
mod http;
mod files;
mod compiled;
mod check;
mod scripts;
mod tools;
