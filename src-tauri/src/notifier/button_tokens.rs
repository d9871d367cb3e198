//! Tokens of notification buttons.
//!
//! A button press arrives over D-Bus or a `rouse://` link, and any program can send either. So a
//! token is random, known only to the system that shows the notification, and valid for one press,
//! which invalidates both buttons. An unknown token, such as one of an earlier process, only shows
//! the approvals. Pitfall: using approval ids as tokens; they are not secret.

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

/// Decision of a pressed button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PressedDecision {
    pub(crate) approval: ApprovalId,
    /// Computer of the approval; none for this one.
    pub(crate) computer: Option<String>,
    pub(crate) is_allowed: bool,
}

/// Result of resolving a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenResolution {
    /// Decides this approval.
    Decision(PressedDecision),
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
    open: HashMap<String, PressedDecision>,
    used: VecDeque<String>,
}

impl ButtonTokens {
    /// Issues new tokens for an approval and invalidates the old tokens.
    pub(crate) fn issue(&self, approval: &ApprovalId, computer: Option<&str>) -> Buttons {
        let token = || uuid::Uuid::new_v4().simple().to_string();
        let buttons = Buttons { allow: token(), deny: token() };
        let computer = computer.map(str::to_owned);
        let decision = |is_allowed| {
            let (approval, computer) = (approval.clone(), computer.clone());
            PressedDecision { approval, computer, is_allowed }
        };
        let open = &mut self.table().open;
        open.retain(|_, decision| decision.approval != *approval);
        open.insert(buttons.allow.clone(), decision(true));
        open.insert(buttons.deny.clone(), decision(false));
        buttons
    }

    /// Resolves a token, once.
    pub(crate) fn take(&self, token: &str) -> TokenResolution {
        let mut table = self.table();
        let Some(decision) = table.open.get(token).cloned() else {
            let was_used = table.used.iter().any(|used| used == token);
            return if was_used { TokenResolution::Used } else { TokenResolution::Unknown };
        };
        let is_spent = |open: &PressedDecision| open.approval == decision.approval;
        let spent = table.open.extract_if(|_, open| is_spent(open)).map(|(token, _)| token);
        let spent: Vec<String> = spent.collect();
        table.used.extend(spent);
        let too_many = table.used.len().saturating_sub(MAX_USED);
        table.used.drain(..too_many);
        TokenResolution::Decision(decision)
    }

    fn table(&self) -> MutexGuard<'_, TokenTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(id: &ApprovalId, is_allowed: bool) -> TokenResolution {
        let (approval, computer) = (id.clone(), None);
        TokenResolution::Decision(PressedDecision { approval, computer, is_allowed })
    }

    #[test]
    fn token_resolves_once_and_invalidates_pair() {
        let (tokens, id) = (ButtonTokens::default(), ApprovalId::new("a"));
        let buttons = tokens.issue(&id, None);
        assert_eq!(tokens.take("allow"), TokenResolution::Unknown, "a guess");
        assert_eq!(tokens.take(id.as_str()), TokenResolution::Unknown, "the id is not a token");
        assert_eq!(tokens.take(&buttons.deny), decision(&id, false));
        assert_eq!(tokens.take(&buttons.deny), TokenResolution::Used);
        assert_eq!(tokens.take(&buttons.allow), TokenResolution::Used, "both buttons are spent");
    }

    #[test]
    fn reissued_approval_gets_new_tokens() {
        let (tokens, id) = (ButtonTokens::default(), ApprovalId::new("a"));
        let (first, second) = (tokens.issue(&id, None), tokens.issue(&id, None));
        assert_eq!(tokens.take(&first.allow), TokenResolution::Unknown);
        assert_eq!(tokens.take(&second.allow), decision(&id, true));
    }

    #[test]
    fn token_names_the_computer_of_its_approval() {
        let (tokens, id) = (ButtonTokens::default(), ApprovalId::new("a"));
        let buttons = tokens.issue(&id, Some("box"));
        let TokenResolution::Decision(decision) = tokens.take(&buttons.allow) else {
            panic!("a known token")
        };
        assert_eq!(decision.computer.as_deref(), Some("box"));
    }

    #[test]
    fn token_of_earlier_process_is_unknown() {
        let id = ApprovalId::new("a");
        let old = ButtonTokens::default().issue(&id, None);
        assert_eq!(ButtonTokens::default().take(&old.allow), TokenResolution::Unknown);
    }

    #[test]
    fn used_tokens_are_bounded() {
        let tokens = ButtonTokens::default();
        for number in 0..1_000 {
            let id = ApprovalId::new(number.to_string());
            let token = tokens.issue(&id, None).allow;
            assert_eq!(tokens.take(&token), decision(&id, true));
        }
        assert_eq!(tokens.table().used.len(), MAX_USED);
        assert!(tokens.table().open.is_empty());
    }

    #[test]
    fn fixed_names_map_to_tokens() {
        let tokens = ButtonTokens::default();
        let buttons = tokens.issue(&ApprovalId::new("a"), None);
        assert_eq!(buttons.clone().token_of(fixed::ALLOW), Some(buttons.allow.clone()));
        assert_eq!(buttons.clone().token_of(fixed::DENY), Some(buttons.deny.clone()));
        assert_eq!(buttons.token_of("com.apple.UNNotificationDismissActionIdentifier"), None);
    }
}
