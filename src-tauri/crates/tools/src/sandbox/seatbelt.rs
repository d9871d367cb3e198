//! The profile by which macOS confines a command, as text.
//!
//! Everything is refused but what is named, and of two rules that fit the later one counts: so the refusals of what is
//! hidden and of the network stand at the end, and after them only the private home and the way to the proxy. `git`, `python3` and `make` of
//! `/usr/bin` look up the developer folder and run what is there (xcode-select(1)), so that can be read. It is text that is tested
//! wherever Rouse is built. One could get it wrong by writing a path into it, which a folder's name could then leave.

use rouse_core::job::FolderAccess;

/// The paths come as parameters, so that no name of a folder can be read as a rule.
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

/// What is hidden, the private home that may lie in it, and the end of every network.
const LAST_RULES: &str = r#"(deny file-read* file-write* (subpath (param "HIDDEN")))
(allow file-read* file-write* (subpath (param "HOME")))
(deny network*)
"#;

/// The parameter that names a granted folder.
pub(super) fn folder(at: usize) -> String {
    format!("FOLDER{at}")
}

/// The profile of a command that may use granted folders like this, and whose only way into a network is the proxy at this
/// port of this computer, if any.
pub(super) fn profile(granted: &[FolderAccess], proxy_port: Option<u16>) -> String {
    let mut text = RULES.to_owned();
    for (at, access) in granted.iter().enumerate() {
        let write = if *access == FolderAccess::Write { " file-write*" } else { "" };
        let folder = folder(at);
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

    fn rules(text: &str) -> Vec<String> {
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

    fn place(rules: &[String], of: &str) -> usize {
        rules.iter().position(|rule| rule.starts_with(of)).expect(of)
    }

    #[test]
    fn everything_is_refused_but_what_is_named() {
        let rules = rules(&profile(&[], None));
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
        let hidden = place(&rules, "(deny file-read* file-write* (subpath (param \"HIDDEN\")))");
        assert_eq!(writes[2], r#"(allow file-read* file-write* (subpath (param "HOME")))"#);
        let home = place(&rules, writes[2]);
        let last_allowed = rules[..home].iter().rposition(|rule| rule.starts_with("(allow"));
        assert!(hidden < home && Some(hidden) > last_allowed, "the later rule counts");
    }

    #[test]
    fn granted_folder_is_writable_only_when_granted_for_writing() {
        let rules = rules(&profile(&[FolderAccess::Read, FolderAccess::Write], None));
        let read = place(&rules, r#"(allow file-read* (subpath (param "FOLDER0")))"#);
        let write = place(&rules, r#"(allow file-read* file-write* (subpath (param "FOLDER1")))"#);
        assert!(read < write && write < place(&rules, "(deny file-read*"));
    }

    #[test]
    fn the_proxy_is_the_only_way_into_a_network() {
        let (without, with) = (rules(&profile(&[], None)), rules(&profile(&[], Some(49_152))));
        assert!(!without.iter().any(|rule| rule.starts_with("(allow network")));
        let (last, before) = with.split_last().expect("rules");
        assert_eq!(last, r#"(allow network-outbound (remote ip "localhost:49152"))"#);
        assert_eq!(before, without);
    }
}
