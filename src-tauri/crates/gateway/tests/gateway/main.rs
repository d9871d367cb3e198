//! The gateway over a real store, a real scheduler and real sockets, with a clock in the test's hand: what needs time to
//! pass, events to pile up, or a handler to break.

mod house;

mod sign_in;
mod stream;
mod answers;
mod hooks;
mod offered;
mod types;
