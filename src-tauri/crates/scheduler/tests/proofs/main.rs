//! Proofs that no slot is lost or doubled: by simulation, faulty disks, kills, many processes and noise.
//!
//! Each proof has a short form, which is a test, and a long form behind `cargo xtask torture|fuzz|soak` with a larger
//! count. The oracles share no code with their subject. A failure prints the way to repeat: a seed, or the number of
//! the cut step.
#![expect(clippy::print_stdout, reason = "the long form prints its progress")]

mod rules;
mod disk;
mod world;
