//! Hosts and folders that a message names, offered as grants when the job is saved.
//!
//! Recognises URLs, domains, and paths from the root or the home. Grants nothing; never reads the disk.
//! Pitfall: file names such as `notes.md` look like domains, so only common domain endings count.

use super::document::Job;
use super::folder::{FolderAccess, FolderGrant};
use super::payload::Payload;

/// The named hosts and folders without a grant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedGrants {
    /// Hosts, with a port if named.
    pub hosts: Vec<String>,
    /// Folders or files, as written.
    pub folders: Vec<FolderGrant>,
}

/// Domain endings that count without a URL. File endings such as `md` and `sh` are left out.
const DOMAINS: &[&str] = &[
    "ai", "app", "at", "be", "biz", "blog", "ca", "ch", "cloud", "cn", "co", "com", "de", "dev",
    "dk", "edu", "es", "eu", "fi", "fr", "gov", "ie", "in", "info", "int", "io", "it", "jp", "lan",
    "local", "me", "mil", "news", "nl", "no", "online", "org", "net", "nz", "pt", "se", "shop",
    "site", "tech", "tv", "uk", "us", "wiki", "xyz",
];

/// Maximum offered grants of each kind: more than a person reads.
const MOST: usize = 10;

impl Job {
    /// The hosts and folders that a person named in the message and has not granted.
    #[must_use]
    pub fn named_grants(&self) -> NamedGrants {
        let Payload::AgentTurn(turn) = &self.payload else { return NamedGrants::default() };
        if !self.is_message_by_person() {
            return NamedGrants::default();
        }
        let mut named = named_in(&turn.message);
        named.hosts.retain(|host| !self.policies.hosts.contains(host));
        let is_granted =
            |folder: &FolderGrant| self.policies.folders.iter().any(|grant| grant.covers(folder));
        named.folders.retain(|folder| !is_granted(folder));
        named.hosts.truncate(MOST);
        named.folders.truncate(MOST);
        named
    }
}

/// The hosts and folders that a text names.
fn named_in(text: &str) -> NamedGrants {
    let mut named = NamedGrants::default();
    for word in words(text) {
        if let Some(host) = host(&word).filter(|host| !named.hosts.contains(host)) {
            named.hosts.push(host);
        }
        if let Some(folder) = folder(&word).filter(|folder| !named.folders.contains(folder)) {
            named.folders.push(folder);
        }
    }
    named
}

/// The words of a text without surrounding punctuation. A quoted path is a single word.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(['"', '`', '“', '\'']) {
        let quote = rest[at..].chars().next().unwrap_or_default();
        let (before, quoted) = (&rest[..at], &rest[at + quote.len_utf8()..]);
        words.extend(before.split_whitespace().map(trimmed));
        let end = if quote == '“' { '”' } else { quote };
        rest = quoted;
        if let Some(length) = quoted.find(end).filter(|_| quoted.starts_with(['~', '/'])) {
            words.push(quoted[..length].to_owned());
            rest = &quoted[length + end.len_utf8()..];
        }
    }
    words.extend(rest.split_whitespace().map(trimmed));
    words
}

fn trimmed(word: &str) -> String {
    let is_around =
        |c: char| matches!(c, '(' | ')' | '[' | ']' | '<' | '>' | '"' | '\'' | '`' | '“' | '”');
    let word = word.trim_start_matches(is_around);
    let ends = |c: char| is_around(c) || matches!(c, '.' | ',' | ';' | ':' | '!' | '?');
    word.trim_end_matches(ends).to_owned()
}

fn host(word: &str) -> Option<String> {
    let after = ["https://", "http://"].iter().find_map(|scheme| word.strip_prefix(scheme));
    let end = |c: char| matches!(c, '/' | '?' | '#' | ',' | ')' | ']' | '>' | '"');
    let authority = after.unwrap_or(word).split(end).next().unwrap_or_default();
    if authority.contains('@') || (after.is_none() && word.starts_with(['/', '~', '.'])) {
        return None;
    }
    let host = authority.to_ascii_lowercase();
    let (name, port) = host.split_once(':').unwrap_or((&host, "1"));
    let is_label =
        |label: &str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    let labels: Vec<&str> = name.split('.').collect();
    let is_known = labels.len() > 1 && labels.last().is_some_and(|last| DOMAINS.contains(last));
    let is_name = labels.iter().all(|label| is_label(label)) && port.parse::<u16>().is_ok();
    (is_name && (after.is_some() || is_known)).then_some(host)
}

/// A path from the home, or a path of at least two parts from the root: a lone `/` is no path.
fn folder(word: &str) -> Option<FolderGrant> {
    let is_deep =
        word.strip_prefix('/').is_some_and(|rest| rest.trim_end_matches('/').contains('/'));
    let is_path = word.starts_with("~/") && word.len() > 2 || is_deep && !word.starts_with("//");
    if !is_path || word.contains(['*', '?']) {
        return None;
    }
    let grant: FolderGrant = word.parse().ok()?;
    Some(FolderGrant { access: FolderAccess::Read, ..grant })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Vec<String> {
        named_in(text).hosts
    }

    fn folders(text: &str) -> Vec<String> {
        named_in(text).folders.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn urls_and_domains_are_named_hosts() {
        for (text, expected) in [
            (
                "Look at https://Example.com/a?b and http://nas:8080/x.",
                &["example.com", "nas:8080"][..],
            ),
            ("Read news.ycombinator.com, then tell me.", &["news.ycombinator.com"]),
            ("(see example.org)", &["example.org"]),
            ("Sum up notes.md, main.rs, a.sh and v1.2.3, e.g. today", &[]),
            ("Write to me@example.com", &[]),
            ("and/or ./x.com ~/x.com", &[]),
        ] {
            assert_eq!(hosts(text), expected, "{text}");
        }
    }

    #[test]
    fn paths_are_named_folders() {
        for (text, expected) in [
            ("Compare it with ~/Notes.", &["~/Notes"][..]),
            ("Read `~/My Notes/` and \"/srv/data/in\"", &["~/My Notes", "/srv/data/in"]),
            ("It's in /var/log, isn't it?", &["/var/log"]),
            ("yes / no, and/or, /tmp, ~, //x/y, ~/*.md", &[]),
        ] {
            assert_eq!(folders(text), expected, "{text}");
        }
    }
}
