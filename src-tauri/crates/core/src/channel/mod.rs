//! Channels: the ways of a message to the person, and back.
//!
//! Owns the settings of a channel, the recipients, the routes of a message, and the port that every channel implements.
//! Never sends and never reads the store. Pitfall: looking a recipient up at the time of sending; a route is resolved once,
//! when the outcome of a run commits.

mod kind;
mod message;
mod name;
mod port;
mod recipient;
mod route_problem;
mod route;
mod section;
mod shared;

pub use kind::ChannelKind;
pub use message::{ChannelMessage, MessageButton, MessageKind, REPEAT_NOTICE};
pub use name::{ChannelName, InvalidChannelName};
pub use port::{Channel, SendOutcome};
pub use recipient::Recipient;
pub use route::{ChannelDirectory, ChannelEntry, DeliverTo, Route};
pub use route_problem::{JobRouteProblem, RouteProblem};
pub use section::{ChannelDetails, ChannelSection, EmailSecurity};
pub use shared::SharedDirectory;

pub(crate) use route::channel_target_violation;
pub(crate) use section::channel_section_violations;
