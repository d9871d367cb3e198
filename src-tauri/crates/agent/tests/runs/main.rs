//! Runs from their start to their outcome: the gate, the driver, and what both leave in the store.
//!
//! Real SQLite, a model with a script, a clock in the test's hand, tools that are made for the test.

mod finding;
mod gate;
mod house;
mod main_turns;
mod tool_calls;
mod turns;
mod budgets;
mod long_answers;
mod fallbacks;
mod sandbox;
mod shaped;
mod per_call;
mod refusals;
mod asks;
mod guarded;
mod stored;
mod held;
mod live;
mod breaks;
mod beside;
mod bounded;
mod causes;
mod chat;
mod ids;
mod compaction;
