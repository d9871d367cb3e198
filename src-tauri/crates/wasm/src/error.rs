//! Failures of a call and of a compilation.
//!
//! Owns the closed set of causes with their messages. Never holds the value of a secret: texts of a guest are redacted
//! before they get here. Pitfall: a text of a guest without a bound.

use std::io;
use std::time::Duration;

/// Why a call of a guest failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuestError {
    /// The guest reported an error: its text, bounded and redacted.
    #[error("The tool reported an error: {0}")]
    Tool(String),
    /// The guest was stopped by a trap.
    #[error("The tool crashed: {0}.")]
    Trap(GuestTrap),
    /// The call took too long.
    #[error(
        "The tool was stopped after {} s. Make the tool do less in one call, or raise its time limit.",
        .0.as_secs_f32()
    )]
    TimeLimit(Duration),
    /// The call waited for others until its time limit.
    #[error(
        "The tool was not started: {calls} other calls ran for the whole {} s of its time limit. Call it again later, or make the other tools do less in one call.",
        .time.as_secs_f32()
    )]
    Queued {
        /// The calls that run at once.
        calls: usize,
        /// The time limit.
        time: Duration,
    },
    /// The arguments are too large.
    #[error("The arguments have {bytes} bytes; the limit is {limit}. Call the tool with less.")]
    ArgumentsTooLarge {
        /// The size of the arguments.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The result is too large.
    #[error("The result of the tool has {bytes} bytes; the limit is {limit}. Make it return less.")]
    OutputTooLarge {
        /// The size of the result.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The result is no JSON: the cause.
    #[error("The result of the tool is not JSON ({0}). Return a JSON text.")]
    InvalidOutput(String),
    /// The component imports something that it was not granted.
    #[error(
        "The tool imports {0}, which its permissions do not include. Add the permission to tool.toml, or remove the import."
    )]
    ImportNotGranted(String),
    /// The component has another world, or needs more than the limits at its start.
    #[error("The tool cannot be started: {0}.")]
    Unusable(String),
    /// The component was not compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The runtime failed: the cause.
    #[error("The WebAssembly engine failed: {0}. Try again; if it fails again, report it.")]
    Engine(String),
}

/// What stopped a guest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuestTrap {
    /// The recursion was too deep.
    #[error("its recursion is too deep (the call stack is exhausted)")]
    Stack,
    /// An access outside of the memory.
    #[error("it used memory that it does not have")]
    Memory,
    /// The guest gave up, as by a panic or an allocation that failed.
    #[error("it gave up (an `unreachable` instruction), as after a panic or without memory")]
    Unreachable,
    /// The guest used up its instructions.
    #[error("it used up its instructions")]
    Fuel,
    /// The guest handed too much to the host in one call.
    #[error("it handed too much data to Rouse at once")]
    HostCallSize,
    /// The guest handed invalid data to the host.
    #[error("it handed invalid data to Rouse (text that is not UTF-8, or outside of its memory)")]
    BadData,
    /// The guest called this function of WASI.
    #[error(
        "it called {0}, which no tool has. Rust does so in a panic (stderr), and for files, time, environment and random numbers (use `rouse:tool`)"
    )]
    Wasi(String),
    /// Another trap, as a division by zero.
    #[error("it executed an invalid instruction")]
    Other,
}

/// Why a component was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The component is too large.
    #[error("The component has {bytes} bytes; the limit is {limit}. Build it smaller.")]
    TooLarge {
        /// The size of the component.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The bytes are no valid component: the cause.
    #[error("The component is not valid: {0}. Build it for `wasm32-wasip2`.")]
    Invalid(String),
    /// The compilation took too long.
    #[error("The component was not compiled within {} s. Build it smaller.", .0.as_secs())]
    TimeLimit(Duration),
    /// The compiler ended without a result.
    #[error("The compiler crashed on the component. Build the component smaller.")]
    Crashed,
    /// The compiled code is too large.
    #[error("The compiled component has {bytes} bytes; the limit is {limit}. Build it smaller.")]
    OutputTooLarge {
        /// The size of the code.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A file or a process of the compiler failed: the cause.
    #[error("The component could not be compiled: {0}. Check the free disk space.")]
    Io(String),
}

impl From<io::Error> for CompileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.to_string())
    }
}
