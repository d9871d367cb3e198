//! The price of a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

const EXPECTED: &str = "dollars per million tokens";
const MAX_PRICE: f64 = 100_000.0;

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Input tokens.
    #[schemars(range(min = 0.0, max = MAX_PRICE), extend("expected" = EXPECTED))]
    pub input: f64,
    /// Input tokens from the provider's cache [default: the price of `input`].
    #[schemars(range(min = 0.0, max = MAX_PRICE), extend("expected" = EXPECTED))]
    pub cached: Option<f64>,
    /// Output tokens.
    #[schemars(range(min = 0.0, max = MAX_PRICE), extend("expected" = EXPECTED))]
    pub output: f64,
}
