//! Test doubles at the ports of `rouse-core`: clock, models, model servers, Telegram, disk faults and recorders.
//!
//! A dev-dependency only. Never replaces what can be real: the store is SQLite, and the servers listen on sockets.

mod clock;
pub mod dice;
mod recorder;
pub mod faulty_disk;
pub mod scripted_model;
pub mod fake_model;
pub mod fake_telegram;
mod test_bus;
pub mod vendor;

pub use clock::{ManualClock, ManualTimer};
pub use dice::Dice;
pub use faulty_disk::FaultyDisk;
pub use recorder::Recorder;
pub use scripted_model::ScriptedModel;
pub use test_bus::TestBus;
