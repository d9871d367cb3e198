//! The scheduler on a real store: jobs in, runs out. The clock, the timer and the work of a run are in the test's hand.

mod stage;

mod fire;
mod jobs;
mod misfire;
mod overlap;
mod ends;
mod attempts;
mod by_hand;
mod pause;
mod clock;
mod restart;
mod heartbeat;
mod trouble;
