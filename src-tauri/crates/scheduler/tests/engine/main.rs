//! The scheduler on a real store: jobs in, runs out. The clock, the timer and the work of a run are in the test's hand.

mod asked;
mod asking;
mod stage;

mod ahead;
mod attempts;
mod by_hand;
mod chat;
mod edited;
mod clock;
mod zones;
mod places;
mod ends;
mod events;
mod fire;
mod heartbeat;
mod jobs;
mod misfire;
mod overlap;
mod parked;
mod pause;
mod prepared;
mod quiet;
mod made_up;
mod restart;
mod restored;
mod set_back;
mod trouble;
mod waits;
mod ledger;
