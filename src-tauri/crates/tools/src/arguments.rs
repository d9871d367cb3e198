//! Reading a call's arguments into a tool's own type.
//!
//! The gate has already held them against the schema. This reads them a second time, as strictly, so that a tool never
//! works on a guess when the two disagree: every argument type denies unknown fields.

use rouse_core::policy::ApprovedCall;
use serde::de::DeserializeOwned;

/// The arguments of `call`, or what to answer instead, in words.
pub(crate) fn read<T: DeserializeOwned>(call: &ApprovedCall) -> Result<T, String> {
    T::deserialize(call.arguments()).map_err(|error| format!("The arguments do not fit: {error}."))
}
