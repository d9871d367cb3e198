//! The pairing of a private chat: the start link and the form of its code.
//!
//! Never makes, stores or compares a code: the host does, and a code is valid once for ten minutes.
//! Pitfall: showing the link to other people; the first private chat that sends the code asks to be paired.

/// The length of a code: 128 random bits in base64url.
const CODE_LENGTH: usize = 22;

/// The longest username of a bot.
const MAX_USERNAME: usize = 32;

/// The link that opens the chat with the bot and sends the code. None if the code or the username has an invalid form.
#[must_use]
pub fn pairing_link(bot: &str, code: &str) -> Option<String> {
    let bot = bot.trim_start_matches('@');
    let is_username = (1..=MAX_USERNAME).contains(&bot.len())
        && bot.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_username && is_pairing_code(code)).then(|| format!("https://t.me/{bot}?start={code}"))
}

/// Whether a text has the form of a code.
#[must_use]
pub fn is_pairing_code(code: &str) -> bool {
    let is_base64url = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    code.len() == CODE_LENGTH && code.chars().all(is_base64url)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "abcdefghijklmnopqrst-_";

    #[test]
    fn link_has_bot_and_code() {
        let link = "https://t.me/anna_rouse_bot?start=abcdefghijklmnopqrst-_";
        assert_eq!(pairing_link("anna_rouse_bot", CODE).as_deref(), Some(link));
        assert_eq!(pairing_link("@anna_rouse_bot", CODE).as_deref(), Some(link));
    }

    #[test]
    fn invalid_code_or_bot_has_no_link() {
        for code in ["", "abc", "abcdefghijklmnopqrst-=", "abcdefghijklmnopqrst-_x", "äääääääääää"]
        {
            assert!(!is_pairing_code(code), "{code}");
            assert_eq!(pairing_link("anna_rouse_bot", code), None, "{code}");
        }
        for bot in ["", "a/b", "a?start=x", "a".repeat(33).as_str()] {
            assert_eq!(pairing_link(bot, CODE), None, "{bot}");
        }
    }
}
