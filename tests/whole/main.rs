//! The whole host in one process: real store, scheduler, agent, gateway and server, a clock in the test's hand and a
//! model with a script. Everything is asked and seen through the gateway, as a client does.

mod house;

mod firing;
mod misfire;
mod notification_texts;
mod stopping;
mod agent_runs;
mod bad_answers;
mod budgets;
mod announcements;
mod main_session;
mod chat;
mod waiting;
mod warnings;
mod trials;
mod memory;
mod settings;
mod delivery;
mod hooks;
mod asked_calls;
mod told;
mod attached;
mod concurrency;
mod retention;
mod round_trip;
mod transfer;
mod kept_keys;
mod provider_keys;
mod door;
mod bad_words;
#[cfg(unix)]
mod approved;
mod corpus;
mod skills;
mod own_words;
