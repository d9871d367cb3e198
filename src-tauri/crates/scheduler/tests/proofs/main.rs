//! Nothing is lost, nothing comes twice: proofs by simulation, faulty disks, kills, many processes and noise.
//!
//! Each proof has a short form, which is a test, and a long one behind `cargo xtask torture|fuzz|soak` that differs in
//! nothing but its count. They judge by an oracle that shares no code with what it judges. They print what brings a
//! failure back: a seed, or the number of the step that was cut off.
#![expect(clippy::print_stdout, reason = "whoever runs the long form reads how far it went")]

mod rules;
mod disk;
mod world;
