//! The Seatbelt profile of macOS, as text.
//!
//! Denies by default. The later rule has precedence, so the denials of hidden folders and the network come last, followed by the
//! private home and the proxy's port alone. The developer folder is readable because `git`, `python3` and `make` of `/usr/bin` run
//! from there (xcode-select(1)). Compiled for tests on every system. Pitfall: a path in the text, which a folder's name could break out
//! of.

use rouse_core::job::FolderAccess;

/// Paths are parameters, so that no folder's name is parsed as a rule.
const RULES: &str = r#"(version 1)
(deny default)
(import "system.sb")
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System") (subpath "/opt")
  (subpath "/Library/Apple") (subpath "/Library/Developer") (subpath "/Library/Frameworks")
  (subpath "/private/etc/ssl") (literal "/private/etc/passwd") (literal "/private/etc/group")
  (literal "/private/etc/hosts") (literal "/private/etc/services") (literal "/private/etc/protocols")
  (literal "/private/etc/localtime") (literal "/private/etc/shells")
  (subpath "/private/var/db/timezone") (subpath "/private/var/select")
  (literal "/private/var/db/xcode_select_link") (subpath "/Applications/Xcode.app/Contents") (literal "/"))
(allow file-read* (literal (param "PROGRAM")))
(allow file-read* file-write* (subpath (param "WORKSPACE")) (subpath (param "TEMPORARY")))
(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero"))
(allow file-read* (literal "/dev/random") (literal "/dev/urandom"))
"#;

/// Hidden folders, the private home that may lie in a hidden folder, and the network.
const LAST_RULES: &str = r#"(deny file-read* file-write* (subpath (param "HIDDEN")))
(allow file-read* file-write* (subpath (param "HOME")))
(deny network*)
"#;

/// The name of a granted folder's parameter.
pub(super) fn folder_parameter(index: usize) -> String {
    format!("FOLDER{index}")
}

/// Builds the profile of a command with this access to granted folders, and with the proxy's port as the only network.
pub(super) fn profile(granted: &[FolderAccess], proxy_port: Option<u16>) -> String {
    let mut text = RULES.to_owned();
    for (index, access) in granted.iter().enumerate() {
        let write = if *access == FolderAccess::Write { " file-write*" } else { "" };
        let folder = folder_parameter(index);
        text.push_str(&format!("(allow file-read*{write} (subpath (param \"{folder}\")))\n"));
    }
    text.push_str(LAST_RULES);
    if let Some(port) = proxy_port {
        text.push_str(&format!("(allow network-outbound (remote ip \"localhost:{port}\"))\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_rules(text: &str) -> Vec<String> {
        let (mut depth, mut rules, mut rule) = (0_usize, Vec::new(), String::new());
        for character in text.chars() {
            rule.push(character);
            match character {
                '(' => depth += 1,
                ')' => depth = depth.checked_sub(1).expect("as many opened as closed"),
                _ => {}
            }
            if depth == 0 && !rule.trim().is_empty() {
                rules.push(std::mem::take(&mut rule).trim().to_owned());
            }
        }
        assert_eq!(depth, 0);
        rules
    }

    fn position(rules: &[String], start: &str) -> usize {
        rules.iter().position(|rule| rule.starts_with(start)).expect(start)
    }

    #[test]
    fn profile_denies_all_but_the_named_paths() {
        let rules = parse_rules(&profile(&[], None));
        assert_eq!(rules[..2], ["(version 1)", "(deny default)"]);
        assert_eq!(rules.last().expect("rules"), "(deny network*)");
        let allows = rules.iter().filter(|rule| rule.starts_with("(allow"));
        let writes: Vec<_> = allows.filter(|rule| rule.contains("write")).collect();
        assert_eq!(writes.len(), 3);
        assert!(
            writes[0].ends_with(r#"(subpath (param "WORKSPACE")) (subpath (param "TEMPORARY")))"#)
        );
        assert!(
            writes[1].ends_with(r#"file-write-data (literal "/dev/null") (literal "/dev/zero"))"#)
        );
        let hidden = position(&rules, "(deny file-read* file-write* (subpath (param \"HIDDEN\")))");
        assert_eq!(writes[2], r#"(allow file-read* file-write* (subpath (param "HOME")))"#);
        let home = position(&rules, writes[2]);
        let last_allowed = rules[..home].iter().rposition(|rule| rule.starts_with("(allow"));
        assert!(hidden < home && Some(hidden) > last_allowed, "the later rule has precedence");
    }

    #[test]
    fn granted_folder_is_writable_only_by_a_write_grant() {
        let rules = parse_rules(&profile(&[FolderAccess::Read, FolderAccess::Write], None));
        let read = position(&rules, r#"(allow file-read* (subpath (param "FOLDER0")))"#);
        let write =
            position(&rules, r#"(allow file-read* file-write* (subpath (param "FOLDER1")))"#);
        assert!(read < write && write < position(&rules, "(deny file-read*"));
    }

    #[test]
    fn proxy_port_is_the_only_network() {
        let without = parse_rules(&profile(&[], None));
        let with = parse_rules(&profile(&[], Some(49_152)));
        assert!(!without.iter().any(|rule| rule.starts_with("(allow network")));
        let (last, before) = with.split_last().expect("rules");
        assert_eq!(last, r#"(allow network-outbound (remote ip "localhost:49152"))"#);
        assert_eq!(before, without);
    }
}
