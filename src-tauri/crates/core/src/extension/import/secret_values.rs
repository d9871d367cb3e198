//! Detection of secrets in the values of a definition, for imports and for the check of every definition.
//!
//! Owns the rules: names such as `API_KEY`, shapes of known keys, long random text, and passwords in URLs. An error on
//! the safe side costs a question; a missed key would stand in the definition and on its page. Pitfall: paths and
//! pinned hashes, which are long and random and no secrets.

use crate::redaction::handles;

/// Parts of words that name a secret.
const SECRET_PARTS: [&str; 8] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "AUTHORIZATION",
];

/// Whole words that name a secret.
const SECRET_WORDS: [&str; 12] =
    ["KEY", "KEYS", "PASS", "PAT", "COOKIE", "AUTH", "PW", "PWD", "PIN", "DSN", "WEBHOOK", "LOGIN"];

/// Last words of a name that names something beside a secret.
const NEUTRAL_ENDINGS: [&str; 14] = [
    "URL", "URI", "ENDPOINT", "FILE", "PATH", "DIR", "NAME", "LIMIT", "ID", "TYPE", "MODE", "ENV",
    "VAR", "LENGTH",
];

/// Beginnings of known keys.
const KEY_PREFIXES: [&str; 22] = [
    "sk-",
    "sk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "hf_",
    "sbp_",
    "pypi-",
    "dop_v1_",
    "shpat_",
    "lin_api_",
    "ntn_",
    "gsk_",
];

/// The minimum characters of a known key.
const MIN_KEY: usize = 20;

/// The minimum characters of random text.
const MIN_RANDOM: usize = 20;

/// The minimum digits, and the minimum letters, of random text.
const MIN_OF_EACH: usize = 3;

/// The minimum characters of a secret in an argument.
const MIN_ARGUMENT: usize = 6;

/// The maximum characters of a name in an argument.
const MAX_NAME: usize = 64;

/// Whether the value of the variable, header or setting `name` holds a secret. A handle is none.
pub(in crate::extension) fn holds_plain_secret(name: &str, value: &str) -> bool {
    let (mut beside, mut end) = (String::new(), 0);
    for handle in handles(value) {
        beside.push_str(&value[end..handle.at.start]);
        end = handle.at.end;
    }
    beside.push_str(&value[end..]);
    let has_handle = end > 0;
    if has_handle { holds_key_or_password(&beside) } else { is_secret_value(name, value) }
}

/// Whether the value of the variable or header `name` is treated as a secret.
fn is_secret_value(name: &str, value: &str) -> bool {
    let is_named = names_secret(name) && !is_ordinary(name, value);
    is_named || holds_password(value) || (!is_path(value) && holds_key(value))
}

/// The position of the first argument that holds a secret.
pub(in crate::extension) fn secret_argument(arguments: &[String]) -> Option<usize> {
    let is_value_of_secret = |at: usize| {
        let flag = at.checked_sub(1).map(|before| arguments[before].as_str());
        let flag = flag.filter(|flag| flag.starts_with('-') && !flag.contains('='));
        flag.is_some_and(|flag| is_secret_pair(flag, &arguments[at]))
    };
    (0..arguments.len()).find(|at| is_value_of_secret(*at) || holds_secret(&arguments[*at]))
}

/// Whether an address holds a secret.
pub(in crate::extension) fn is_secret_address(url: &str) -> bool {
    holds_key_or_password(url)
}

/// Whether a text without a name of its own holds a secret: an argument or a command.
pub(in crate::extension) fn holds_secret(text: &str) -> bool {
    let is_pair = ['=', ':'].into_iter().any(|separator| {
        text.split_once(separator).is_some_and(|(name, value)| is_secret_pair(name, value))
    });
    let flag = text.split_once('=').filter(|_| text.starts_with('-'));
    let has_path = is_path(text) || flag.is_some_and(|(_, value)| is_path(value));
    is_pair || holds_password(text) || (!has_path && holds_key(text))
}

/// Whether a text holds a key, or a URL with a password.
pub(super) fn holds_key_or_password(text: &str) -> bool {
    holds_key(text) || holds_password(text)
}

/// Whether a text holds a known key or long random text.
fn holds_key(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_known = |word: &str| {
        let has_digits = word.bytes().filter(u8::is_ascii_digit).count() >= 2;
        let is_long = word.len() >= MIN_KEY && has_digits;
        is_long && KEY_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
    };
    if text.split(|c: char| !is_word(c)).any(is_known) {
        return true;
    }
    let is_break = |c: char| !c.is_ascii_alphanumeric();
    let mut before = "";
    for chunk in text.split_inclusive(is_break) {
        let run = chunk.trim_end_matches(is_break);
        let is_pin = before == "sha256:" || (before.ends_with(['@', '#']) && is_commit(run));
        if !is_pin && is_random(run) {
            return true;
        }
        before = chunk;
    }
    false
}

/// Whether the text is the hash of a commit.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a text begins like a path.
pub(super) fn is_path(text: &str) -> bool {
    is_absolute_path(text) || ["~/", "./", "../", ".\\"].iter().any(|start| text.starts_with(start))
}

/// Whether a text is an absolute path of any system.
pub(super) fn is_absolute_path(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has_drive = bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.get(1) == Some(&b':')
        && matches!(bytes.get(2), Some(b'\\' | b'/'));
    text.starts_with('/') || text.starts_with("\\\\") || has_drive
}

/// Whether a name stands for a secret.
fn names_secret(name: &str) -> bool {
    let words = words_of(name);
    let is_neutral = words.last().is_some_and(|last| NEUTRAL_ENDINGS.contains(&last.as_str()));
    let is_secret = |word: &String| {
        SECRET_WORDS.contains(&word.as_str()) || SECRET_PARTS.iter().any(|part| word.contains(part))
    };
    !is_neutral && words.iter().any(is_secret)
}

/// The words of `API_KEY`, `x-api-key` and `apiKey`, in capitals.
fn words_of(name: &str) -> Vec<String> {
    let mut separated = String::new();
    let mut is_after_small = false;
    for character in name.chars() {
        if is_after_small && character.is_uppercase() {
            separated.push('_');
        }
        separated.extend(character.to_uppercase());
        is_after_small = character.is_lowercase();
    }
    let words = separated.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Whether a value is no secret although its name says so: empty, a switch, a count, or the path of a key file.
fn is_ordinary(name: &str, value: &str) -> bool {
    let is_switch = ["", "true", "false"].contains(&value.trim().to_lowercase().as_str());
    let words = words_of(name);
    let is_count = words.iter().any(|word| word == "TOKENS" || word == "KEYS")
        && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_key_file = words.iter().any(|word| word.contains("CREDENTIAL")) && is_path(value);
    is_switch || is_count || is_key_file
}

/// Whether `name` and `value` of an argument are a secret. A placeholder is none.
fn is_secret_pair(name: &str, value: &str) -> bool {
    let value = value.trim();
    let is_value = value.len() >= MIN_ARGUMENT
        && !value.starts_with('-')
        && !value.contains("${")
        && !is_path(value);
    let is_name = name.len() <= MAX_NAME && !name.trim().contains(char::is_whitespace);
    is_value && is_name && names_secret(name) && !is_ordinary(name, value)
}

/// Whether a URL holds a password: before the host, or in its query.
fn holds_password(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else { return false };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let user = rest[..end].rsplit_once('@').map(|(user, _)| user);
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    let has_password = password.is_some_and(|password| !password.is_empty());
    let query = rest.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    has_password || pairs.any(|(name, value)| is_secret_pair(name, value))
}

/// Whether a run of letters and digits is long and mixed.
fn is_random(run: &str) -> bool {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    run.len() >= MIN_RANDOM && digits >= MIN_OF_EACH && run.len() - digits >= MIN_OF_EACH
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: &str = "q7Zk2pX9vB4mT1sR8wN6";

    #[test]
    fn values_are_judged_by_name_and_shape() {
        for (name, value, is_secret) in [
            ("API_KEY", "hunter2", true),
            ("apiKey", "hunter2", true),
            ("X-Api-Key", "hunter2", true),
            ("Authorization", "Bearer hunter2", true),
            ("DB_PASSWORD", "1234", true),
            ("DSN", "Server=x;User=me", true),
            ("SLACK_WEBHOOK", "https://hooks.example/T0/B0", true),
            ("DB_PWD", "1234", true),
            ("PROJECT", RANDOM, true),
            ("PROJECT", "ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaa11", true),
            ("DATABASE_URL", "postgres://me:pw@db.example/x", true),
            ("SITE", "https://a.example/?api_key=hunter2", true),
            ("MAX_TOKENS", "4096", false),
            ("USE_KEYS", "true", false),
            ("TOKEN", "", false),
            ("TOKEN_URL", "https://a.example/token", false),
            ("KEY_FILE", "/home/me/key.pem", false),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json", false),
            ("DATABASE_URL", "postgres://me@db.example/x", false),
            ("MONKEY", "banana", false),
            ("STORE", "/nix/store/q7Zk2pX9vB4mT1sR8wN6-node", false),
            ("LOG", "debug", false),
        ] {
            assert_eq!(is_secret_value(name, value), is_secret, "{name}={value}");
        }
    }

    #[test]
    fn secret_in_arguments_is_found() {
        let found = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            secret_argument(&words)
        };
        assert_eq!(found(&["-y", "pkg", "--api-key", "hunter2"]), Some(3));
        assert_eq!(found(&["--token=hunter2"]), Some(0));
        assert_eq!(found(&["run", "-e", "API_KEY=hunter2", "image"]), Some(2));
        assert_eq!(found(&["--header", "Authorization: Bearer hunter2=="]), Some(1));
        assert_eq!(found(&[RANDOM]), Some(0));
        for words in [
            &["run", "-e", "API_KEY", "image"][..],
            &["--header", "Authorization:${AUTH}"],
            &["--key", "--verbose"],
            &["--key", "/home/me/key.pem"],
            &["image@sha256:q7Zk2pX9vB4mT1sR8wN6q7Zk2pX9vB4mT1sR8wN6"],
            &["git+https://a.example/x@0123456789abcdef0123456789abcdef01234567"],
            &["-y", "@scope/server-with-a-long-name@2025.11.25"],
        ] {
            assert_eq!(found(words), None, "{words:?}");
        }
    }
}
