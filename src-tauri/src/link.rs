//! `rouse://` link: a page to show, or a pressed notification button.
//!
//! Owns the link format. On Windows a notification can only start Rouse with a link. Any program
//! can open a link, so pages are only shown, and a button is a random one-time token. Pitfall: ids
//! in links are not secret.

use crate::ui_route::UiRoute;

/// URL scheme.
pub(crate) const SCHEME: &str = "rouse";

/// Prefix of a button token.
const BUTTON_PREFIX: &str = "answer/";

/// Maximum token length.
const MAX_TOKEN_LENGTH: usize = 64;

/// Action of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    /// Show a page.
    Show(UiRoute),
    /// Press a notification button.
    Press(String),
}

impl Link {
    /// Parses `rouse://runs/1` or `rouse://answer/<token>`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(SCHEME)?.strip_prefix(':')?;
        match rest.trim_matches('/').strip_prefix(BUTTON_PREFIX) {
            Some(token) => is_token(token).then(|| Self::Press(token.to_owned())),
            None => UiRoute::parse(text).map(Self::Show),
        }
    }
}

/// Link to a page.
#[cfg(any(windows, test))]
pub(crate) fn page_link(route: &UiRoute) -> String {
    format!("{SCHEME}:/{route}")
}

/// Link of a button token.
#[cfg(any(windows, test))]
pub(crate) fn button_link(token: &str) -> String {
    format!("{SCHEME}://{BUTTON_PREFIX}{token}")
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_TOKEN_LENGTH
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use rouse_core::{ApprovalId, JobId};

    use super::*;
    use crate::notifier::ButtonTokens;

    #[test]
    fn page_link_round_trips() {
        for route in
            [UiRoute::home(), UiRoute::fixed("/settings"), UiRoute::job(&JobId::new("a/ü"))]
        {
            assert_eq!(Link::parse(&page_link(&route)), Some(Link::Show(route)));
        }
    }

    #[test]
    fn button_link_round_trips_in_every_spelling() {
        let buttons = ButtonTokens::default().issue(&ApprovalId::new("a"), None);
        for token in [buttons.allow, buttons.deny] {
            let pressed = Some(Link::Press(token.clone()));
            assert_eq!(Link::parse(&button_link(&token)), pressed);
            assert_eq!(Link::parse(&format!("rouse:///answer/{token}/")), pressed);
        }
    }

    #[test]
    fn invalid_button_token_is_rejected() {
        let long = format!("rouse://answer/{}", "a".repeat(MAX_TOKEN_LENGTH + 1));
        for invalid in [
            "rouse://answer/a/b",
            "rouse://answer/a?b",
            "rouse://answer/a%20b",
            "rouse://answer/../runs",
            "rouse://answer/ü",
            "rouseX://answer/a",
            "https://answer/a",
            &long,
        ] {
            assert_eq!(Link::parse(invalid), None, "{invalid}");
        }
        // Without a token, the link is a page that does not exist.
        assert!(matches!(Link::parse("rouse://answer"), Some(Link::Show(_))));
    }
}
