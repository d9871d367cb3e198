//! Tokens of notification buttons.
//!
//! Buttons return through a bus or link that any program can use. So a token is random, known only
//! to the system that shows the notification, and valid for one press, which invalidates both
//! buttons. An unknown token, such as one of an earlier process, only shows the approvals. Pitfall:
//! approval ids in buttons would not be secret.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rouse_core::ApprovalId;

/// Tokens of the two buttons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Buttons {
    pub(crate) allow: String,
    pub(crate) deny: String,
}

/// Buttons with fixed names, for systems that require them.
#[cfg(any(target_os = "macos", test))]
pub(super) mod fixed {
    pub(in crate::notifier) const ALLOW: &str = "allow";
    pub(in crate::notifier) const DENY: &str = "deny";
}

#[cfg(any(target_os = "macos", test))]
impl Buttons {
    /// Token of a fixed button name.
    pub(super) fn token_of(self, name: &str) -> Option<String> {
        match name {
            fixed::ALLOW => Some(self.allow),
            fixed::DENY => Some(self.deny),
            _ => None,
        }
    }
}

/// Meaning of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Decides this approval.
    Answers(ApprovalId, bool),
    /// Already used.
    Used,
    /// Unknown.
    Unknown,
}

/// Maximum remembered used tokens; desktops may report a press twice.
const MAX_USED: usize = 64;

/// Approvals by button token. Lost on exit; a click then still shows the approval.
#[derive(Debug, Default)]
pub(crate) struct ButtonTokens(Mutex<TokenTable>);

#[derive(Debug, Default)]
struct TokenTable {
    open: HashMap<String, (ApprovalId, bool)>,
    used: VecDeque<String>,
}

impl ButtonTokens {
    /// Issues new tokens for an approval and invalidates the old tokens.
    pub(crate) fn issue(&self, approval: &ApprovalId) -> Buttons {
        let token = || uuid::Uuid::new_v4().simple().to_string();
        let buttons = Buttons { allow: token(), deny: token() };
        let open = &mut self.table().open;
        open.retain(|_, (id, _)| id != approval);
        open.insert(buttons.allow.clone(), (approval.clone(), true));
        open.insert(buttons.deny.clone(), (approval.clone(), false));
        buttons
    }

    /// Resolves a token, once.
    pub(crate) fn take(&self, token: &str) -> Meaning {
        let mut table = self.table();
        let Some((approval, is_allowed)) = table.open.get(token).cloned() else {
            let was_used = table.used.iter().any(|used| used == token);
            return if was_used { Meaning::Used } else { Meaning::Unknown };
        };
        let spent: Vec<String> =
            table.open.extract_if(|_, (id, _)| *id == approval).map(|(token, _)| token).collect();
        table.used.extend(spent);
        let too_many = table.used.len().saturating_sub(MAX_USED);
        table.used.drain(..too_many);
        Meaning::Answers(approval, is_allowed)
    }

    fn table(&self) -> MutexGuard<'_, TokenTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_resolves_once_and_invalidates_pair() {
        let (tokens, id) = (ButtonTokens::default(), ApprovalId::new("a"));
        let buttons = tokens.issue(&id);
        assert_eq!(tokens.take("allow"), Meaning::Unknown, "a guess");
        assert_eq!(tokens.take(id.as_str()), Meaning::Unknown, "the id is not a token");
        assert_eq!(tokens.take(&buttons.deny), Meaning::Answers(id, false));
        assert_eq!(tokens.take(&buttons.deny), Meaning::Used);
        assert_eq!(tokens.take(&buttons.allow), Meaning::Used, "both buttons are spent");
    }

    #[test]
    fn reissued_approval_gets_new_tokens() {
        let (tokens, id) = (ButtonTokens::default(), ApprovalId::new("a"));
        let (first, second) = (tokens.issue(&id), tokens.issue(&id));
        assert_eq!(tokens.take(&first.allow), Meaning::Unknown);
        assert_eq!(tokens.take(&second.allow), Meaning::Answers(id, true));
    }

    #[test]
    fn token_of_earlier_process_is_unknown() {
        let id = ApprovalId::new("a");
        let old = ButtonTokens::default().issue(&id);
        assert_eq!(ButtonTokens::default().take(&old.allow), Meaning::Unknown);
    }

    #[test]
    fn used_tokens_are_bounded() {
        let tokens = ButtonTokens::default();
        for number in 0..1_000 {
            let id = ApprovalId::new(number.to_string());
            let token = tokens.issue(&id).allow;
            assert_eq!(tokens.take(&token), Meaning::Answers(id, true));
        }
        assert_eq!(tokens.table().used.len(), MAX_USED);
        assert!(tokens.table().open.is_empty());
    }

    #[test]
    fn fixed_names_map_to_tokens() {
        let tokens = ButtonTokens::default();
        let buttons = tokens.issue(&ApprovalId::new("a"));
        assert_eq!(buttons.clone().token_of(fixed::ALLOW), Some(buttons.allow.clone()));
        assert_eq!(buttons.clone().token_of(fixed::DENY), Some(buttons.deny.clone()));
        assert_eq!(buttons.token_of("com.apple.UNNotificationDismissActionIdentifier"), None);
    }
}
