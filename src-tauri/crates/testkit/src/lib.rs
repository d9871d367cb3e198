//! Test doubles of Rouse: a clock in the test's hand, a model with a script, recorders.
//!
//! A dev-dependency and nothing else: no room may rest on it outside tests. The doubles stand at the ports that
//! `rouse-core` declares, so that a whole host can run on them with a real database. They refuse to imitate what can be
//! real: there is no fake store and no fake socket here; the model server listens on a real one.

mod clock;
pub mod dice;
mod recorder;
pub mod faulty_disk;
pub mod scripted_model;
pub mod fake_model;
pub mod vendor;

pub use clock::{ManualClock, ManualTimer};
pub use dice::Dice;
pub use faulty_disk::FaultyDisk;
pub use recorder::Recorder;
pub use scripted_model::ScriptedModel;
