//! `[search]`: the provider that `web_search` asks.

use rouse_core::json_fields::Fields;
use rouse_tools::SearchKind;

use super::{read_key_env, read_key_secret};

/// The search provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchConfig {
    /// Which; if none, the first with a key in its usual variable.
    pub provider: Option<SearchKind>,
    /// Its address, if that is not the provider's own.
    pub url: Option<String>,
    /// The environment variable that holds its key, if that is not the usual one.
    pub key_env: Option<String>,
    /// The stored secret that is its key.
    pub key_secret: Option<String>,
}

pub(super) fn read(mut fields: Fields<'_>) -> SearchConfig {
    let choices = SearchKind::ALL.map(|kind| (kind.name(), kind));
    let provider = fields.choice("provider", &choices);
    let url = fields.text("url");
    let is_web = |url: &String| url.starts_with("http://") || url.starts_with("https://");
    if url.as_ref().is_some_and(|url| !is_web(url)) {
        fields.complain("url", "expected an address that begins with http:// or https://");
    }
    let key_secret = read_key_secret(&mut fields);
    SearchConfig { provider, url, key_env: read_key_env(&mut fields), key_secret }
}
