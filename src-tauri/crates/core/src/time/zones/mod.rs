//! Time zones: rules, wall clocks, and databases.
//!
//! Owns the choice between built-in tables and the zone files of the system, and the mapping of wall clock times to
//! instants. Never reads a file: `ZoneFiles` is the port.

mod table;
mod chrono_table;
mod zone;
pub(crate) mod wall_clock;
mod chrono_zone;
mod tzif;
mod stored_rules;
mod database;

pub use chrono_zone::ZoneOffset;
pub use database::{ZoneFiles, ZoneSource, ZoneVersion, Zones, no_zone};
pub use wall_clock::{Transition, TransitionKind, transitions_in};
pub use zone::Zone;
