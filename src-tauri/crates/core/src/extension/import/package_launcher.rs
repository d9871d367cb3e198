//! Programs that load their server at each start: `npx`, `uvx`, `docker` and others.
//!
//! Owns the notes about them. Pitfall: `cmd /c npx …` on Windows, where the second argument is the program.

use super::names::shown;
use super::secret_values::{is_commit, is_path};

/// A program that loads a package and runs it.
struct PackageLauncher {
    program: &'static str,
    /// The words before the package.
    verbs: &'static [&'static str],
    /// Flags whose value is the package.
    package_flags: &'static [&'static str],
    /// Other flags with a value.
    value_flags: &'static [&'static str],
}

const NPM_PACKAGE: &[&str] = &["-p", "--package"];
const NPM_VALUES: &[&str] = &["-c", "--call", "--registry", "--cache"];
const UV_VALUES: &[&str] =
    &["-p", "--python", "--with", "--index", "--index-url", "--extra-index-url", "--env-file"];

const LAUNCHERS: [PackageLauncher; 8] = [
    launcher("npx", &[], NPM_PACKAGE, NPM_VALUES),
    launcher("npm", &["exec"], NPM_PACKAGE, NPM_VALUES),
    launcher("bunx", &[], NPM_PACKAGE, NPM_VALUES),
    launcher("pnpm", &["dlx"], &["--package"], NPM_VALUES),
    launcher("yarn", &["dlx"], NPM_PACKAGE, NPM_VALUES),
    launcher("uvx", &[], &["--from"], UV_VALUES),
    launcher("uv", &["tool", "run"], &["--from"], UV_VALUES),
    launcher("pipx", &["run"], &["--spec"], UV_VALUES),
];

const fn launcher(
    program: &'static str,
    verbs: &'static [&'static str],
    package_flags: &'static [&'static str],
    value_flags: &'static [&'static str],
) -> PackageLauncher {
    PackageLauncher { program, verbs, package_flags, value_flags }
}

/// The notes about a program that loads its server.
pub(super) fn launcher_notes(command: &str, arguments: &[String]) -> Vec<String> {
    let (mut program, mut arguments) = (program_name(command), arguments);
    if program == "cmd"
        && let [flag, inner, rest @ ..] = arguments
        && flag.eq_ignore_ascii_case("/c")
    {
        (program, arguments) = (program_name(inner), rest);
    }
    if ["docker", "podman", "nerdctl"].contains(&program.as_str()) {
        return vec![format!(
            "{program} starts the server outside the sandbox, so the server needs your own rights: --own-rights."
        )];
    }
    let found = LAUNCHERS.iter().find_map(|launcher| {
        let has_verbs = arguments.len() >= launcher.verbs.len()
            && arguments.iter().zip(launcher.verbs).all(|(word, verb)| word == verb);
        let rest = arguments.get(launcher.verbs.len()..).unwrap_or_default();
        (launcher.program == program && has_verbs).then(|| launcher.package(rest)).flatten()
    });
    let Some(package) = found.filter(|package| !is_path(package)) else { return Vec::new() };
    let mut notes = Vec::new();
    if !is_pinned(package) {
        notes.push(format!(
            "The version of {} is not pinned: each start may run other code. Write an exact version.",
            shown(package)
        ));
    }
    notes.push(format!(
        "{program} loads the package over the network, which a confined server has only with --host. Or install the package, and write the path of its program."
    ));
    notes
}

impl PackageLauncher {
    fn package<'a>(&self, arguments: &'a [String]) -> Option<&'a str> {
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if let Some((flag, package)) = word.split_once('=')
                && self.package_flags.contains(&flag)
            {
                return Some(package);
            }
            if self.package_flags.contains(&word) {
                return words.next();
            }
            if self.value_flags.contains(&word) {
                words.next();
            } else if !word.starts_with('-') {
                return Some(word);
            }
        }
        None
    }
}

/// The name of a program without folder and ending, in small letters.
fn program_name(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    let endings = [".exe", ".cmd", ".bat", ".ps1"];
    let bare = endings.iter().find_map(|ending| name.strip_suffix(ending)).map(str::to_owned);
    bare.unwrap_or(name)
}

/// Whether a package has an exact version.
fn is_pinned(package: &str) -> bool {
    let is_exact = |version: &str, dots: usize| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
        version.starts_with(|c: char| c.is_ascii_digit())
            && version.chars().all(is_allowed)
            && version.matches('.').count() >= dots
            && !version.contains(".x")
    };
    if let Some((_, version)) = package.rsplit_once("==") {
        return is_exact(version, 0);
    }
    match package.rsplit_once('@') {
        // The `@` of a scope begins the package.
        Some((name, version)) if !name.is_empty() => is_commit(version) || is_exact(version, 2),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(command: &str, words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        launcher_notes(command, &words)
    }

    #[test]
    fn package_without_a_version_has_a_note() {
        for (command, words, package) in [
            ("npx", &["-y", "@scope/files", "/tmp"][..], "@scope/files"),
            ("/usr/bin/npx", &["-y", "files@latest"], "files@latest"),
            ("npx", &["--registry", "x", "files@^1.2.3"], "files@^1.2.3"),
            ("npx", &["-p", "files@1.x.0", "files-mcp"], "files@1.x.0"),
            ("npx.cmd", &["--package=files", "x"], "files"),
            ("cmd", &["/C", "npx", "-y", "files@2"], "files@2"),
            ("uvx", &["--python", "3.12", "mcp-time"], "mcp-time"),
            ("uv", &["tool", "run", "--from", "git+https://a.example/x", "y"], "git+https"),
            ("pnpm", &["dlx", "files"], "files"),
        ] {
            let notes = notes(command, words);
            assert_eq!(notes.len(), 2, "{words:?}: {notes:?}");
            let begin = format!("The version of {package}");
            assert!(notes[0].starts_with(&begin), "{words:?}: {notes:?}");
        }
    }

    #[test]
    fn exact_version_has_no_note_about_versions() {
        for (command, words) in [
            ("npx", &["-y", "@scope/files@2025.11.25"][..]),
            ("npx", &["files@1.2.3-beta.1"]),
            ("uvx", &["mcp-time==1.2"]),
            ("uvx", &["--from", "x[cli]==1.2.3", "x"]),
            ("uvx", &["git+https://a.example/x@0123456789abcdef0123456789abcdef01234567"]),
        ] {
            let notes = notes(command, words);
            assert!(notes.len() == 1 && notes[0].contains("over the network"), "{notes:?}");
        }
    }

    #[test]
    fn other_programs_have_no_note() {
        for (command, words) in [
            ("node", &["server.js"][..]),
            ("npx", &["./server"]),
            ("npx", &[]),
            ("npm", &["start"]),
            ("uv", &["run", "server.py"]),
            ("cmd", &["/c"]),
        ] {
            assert_eq!(notes(command, words), Vec::<String>::new(), "{words:?}");
        }
    }

    #[test]
    fn container_needs_own_rights() {
        for command in ["docker", "/usr/local/bin/docker", "C:\\bin\\Docker.exe", "podman"] {
            let notes = notes(command, &["run", "-i", "--rm", "image"]);
            assert!(notes.len() == 1 && notes[0].contains("--own-rights"), "{notes:?}");
        }
    }
}
