//! Row decoding and value encoding.
//!
//! Owns the conversion between columns and the types of `core`. Columns are read by position, in the order of the SELECT
//! list: a lookup by name (sqlx's `FromRow` derive) costs a hash per value, for a hundred thousand values per list.
//! Pitfall: adding a column to a SELECT list but not to the type that reads it; keep the two side by side.

use rouse_core::approval::{
    ApprovalScope, ApprovalStateKind, DecisionSurface, Fingerprint, GrantScope, Surroundings,
};
use rouse_core::attachment::MediaKind;
use rouse_core::channel::{ChannelName, MessageKind, Route};
use rouse_core::delivery::DeliveryState;
use rouse_core::event::EventKind;
use rouse_core::extension::{
    ExtensionName, ToolBuildState, ToolLanguage, ToolSourceFile, ToolTestResult,
};
use rouse_core::incident::IncidentEnd;
use rouse_core::input_request::InputExchange;
use rouse_core::run::{StepKind, StepStatus, Usage, WaitsFor};
use rouse_core::time::QuietPolicy;
use rouse_core::{
    ApprovalId, DeliveryId, GrantId, JobId, RunId, RunState, RunTrigger, SessionKey, UnixMs,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{Decode, Row as _, Type};

use super::batch::Query;

/// Reads the columns of a row one after the other.
pub(crate) struct RowReader<'r> {
    row: &'r SqliteRow,
    next: usize,
}

impl<'r> RowReader<'r> {
    pub(super) const fn of(row: &'r SqliteRow) -> Self {
        Self { row, next: 0 }
    }

    /// Reads a value from the next columns.
    pub(crate) fn read<T: FromColumns<'r>>(&mut self) -> sqlx::Result<T> {
        T::from_columns(self)
    }
}

/// A value of one or more consecutive columns.
pub(crate) trait FromColumns<'r>: Sized {
    fn from_columns(row: &mut RowReader<'r>) -> sqlx::Result<Self>;
}

/// A value of one column.
pub(crate) trait FromColumn<'r>: Sized {
    type Stored: Decode<'r, Sqlite> + Type<Sqlite>;

    fn from_stored(stored: Self::Stored) -> sqlx::Result<Self>;
}

impl<'r, T: FromColumn<'r>> FromColumns<'r> for T {
    fn from_columns(row: &mut RowReader<'r>) -> sqlx::Result<Self> {
        row.next += 1;
        Self::from_stored(row.row.try_get(row.next - 1)?)
    }
}

impl<'r> FromColumns<'r> for Route {
    fn from_columns(row: &mut RowReader<'r>) -> sqlx::Result<Self> {
        Ok(Self { channel: row.read()?, to: row.read()?, thread: row.read()? })
    }
}

impl FromColumns<'_> for () {
    fn from_columns(_: &mut RowReader<'_>) -> sqlx::Result<Self> {
        Ok(())
    }
}

impl<'r, A: FromColumns<'r>, B: FromColumns<'r>> FromColumns<'r> for (A, B) {
    fn from_columns(row: &mut RowReader<'r>) -> sqlx::Result<Self> {
        Ok((row.read()?, row.read()?))
    }
}

impl<'r, A: FromColumns<'r>, B: FromColumns<'r>, C: FromColumns<'r>> FromColumns<'r> for (A, B, C) {
    fn from_columns(row: &mut RowReader<'r>) -> sqlx::Result<Self> {
        Ok((row.read()?, row.read()?, row.read()?))
    }
}

/// Implements `FromColumns` for a struct whose fields are read in this order.
macro_rules! from_columns {
    ($type:ident: $($field:ident),+) => {
        impl $crate::sql::FromColumns<'_> for $type {
            fn from_columns(row: &mut $crate::sql::RowReader<'_>) -> sqlx::Result<Self> {
                Ok(Self { $($field: row.read()?),+ })
            }
        }
    };
}
pub(crate) use from_columns;

/// Four columns: input, cached and output tokens, and cost.
impl FromColumns<'_> for Usage {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            input_tokens: row.read()?,
            cached_input_tokens: row.read()?,
            output_tokens: row.read()?,
            cost_micro_usd: row.read()?,
            ..Self::NONE
        })
    }
}

impl<'r, T: FromColumn<'r>> FromColumn<'r> for Option<T> {
    type Stored = Option<T::Stored>;

    fn from_stored(stored: Self::Stored) -> sqlx::Result<Self> {
        stored.map(T::from_stored).transpose()
    }
}

/// Implements `FromColumn` for types stored as `$stored`.
macro_rules! stored_as {
    ($stored:ty: $($type:ty),+; $convert:expr) => {$(
        impl<'r> FromColumn<'r> for $type {
            type Stored = $stored;

            fn from_stored(stored: Self::Stored) -> sqlx::Result<Self> {
                let convert: fn($stored) -> sqlx::Result<Self> = $convert;
                convert(stored)
            }
        }
    )+};
}

stored_as!(i64: i64; Ok);
stored_as!(bool: bool; Ok);
stored_as!(String: String; Ok);
stored_as!(Vec<u8>: Vec<u8>; Ok);
stored_as!(&'r str: &'r str; Ok);
stored_as!(i64: UnixMs; |at| Ok(UnixMs(at)));
// A negative count can only come from a damaged row and reads as zero.
stored_as!(i64: u32; |count| Ok(u32::try_from(count.max(0)).unwrap_or(u32::MAX)));
stored_as!(i64: u64; |amount| Ok(u64::try_from(amount).unwrap_or(0)));
stored_as!(String: ApprovalId, ChannelName, DeliveryId, Fingerprint, GrantId, JobId, RunId, SessionKey; |id| Ok(Self::new(id)));
stored_as!(&'r str: ApprovalScope, ApprovalStateKind, DecisionSurface, DeliveryState, EventKind, ExtensionName, IncidentEnd, MediaKind, MessageKind, RunState, RunTrigger, StepKind, StepStatus, ToolBuildState, ToolLanguage, WaitsFor; |name| {
    name.parse().map_err(|_| unknown_name(name))
});
stored_as!(&'r str: GrantScope, InputExchange, Surroundings, Value, Vec<String>, Vec<ToolSourceFile>, Vec<ToolTestResult>; parse_json);

impl<'r> FromColumn<'r> for QuietPolicy {
    type Stored = Option<&'r str>;

    /// An invalid policy reads as the default: the delivery must not be lost.
    fn from_stored(stored: Self::Stored) -> sqlx::Result<Self> {
        let policy: Option<Value> = stored.map(parse_json).transpose()?;
        Ok(policy.and_then(|policy| serde_json::from_value(policy).ok()).unwrap_or_default())
    }
}

/// The error of a name outside of the closed set.
pub(crate) fn unknown_name(name: &str) -> sqlx::Error {
    sqlx::Error::Decode(format!("unknown name `{name}`").into())
}

pub(crate) fn parse_json<T: DeserializeOwned>(text: &str) -> sqlx::Result<T> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(error.into()))
}

/// Binds the four columns that `Usage` reads.
pub(crate) fn bind_usage(query: Query, usage: Usage) -> Query {
    query
        .bind(to_signed(usage.input_tokens))
        .bind(to_signed(usage.cached_input_tokens))
        .bind(to_signed(usage.output_tokens))
        .bind(usage.cost_micro_usd.map(to_signed))
}

/// SQLite has signed numbers only; no token count comes near their end.
pub(crate) fn to_signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A JSON array of texts for `json_each`: one statement for any number of them.
pub(crate) fn json_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    Value::Array(texts.into_iter().map(Value::from).collect()).to_string()
}

/// Decodes a row from the first column on.
pub(crate) fn decode_row<'r, T: FromColumns<'r>>(row: &'r SqliteRow) -> sqlx::Result<T> {
    RowReader::of(row).read()
}
