//! Programs that load their server at each start: `npx`, `uvx`, `docker` and others.
//!
//! Owns the notes about them, with the command that installs the package instead. Pitfall: `cmd /c npx …` on Windows,
//! where the second argument is the program.

use std::collections::BTreeMap;

use super::names::shown;
use super::secret_values::{is_absolute_path, is_commit, is_path};
use crate::extension::name::ExtensionName;
use crate::extension::package::{ExactPackage, PackageRegistry, PackageSpecError};
use crate::text::{escape_line, quote_word};

/// The maximum bytes of a command in a note.
const MAX_COMMAND: usize = 300;

/// A program that loads a package and runs it.
struct PackageLauncher {
    program: &'static str,
    registry: PackageRegistry,
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

/// A package that a launcher loads.
struct LoadedPackage<'a> {
    package: &'a str,
    /// The program, if a flag names the package.
    program: Option<&'a str>,
    /// The arguments of the server.
    arguments: &'a [String],
}

static LAUNCHERS: [PackageLauncher; 8] = [
    npm_launcher("npx", &[], NPM_PACKAGE),
    npm_launcher("npm", &["exec"], NPM_PACKAGE),
    npm_launcher("bunx", &[], NPM_PACKAGE),
    npm_launcher("pnpm", &["dlx"], &["--package"]),
    npm_launcher("yarn", &["dlx"], NPM_PACKAGE),
    pypi_launcher("uvx", &[], &["--from"]),
    pypi_launcher("uv", &["tool", "run"], &["--from"]),
    pypi_launcher("pipx", &["run"], &["--spec"]),
];

const fn npm_launcher(
    program: &'static str,
    verbs: &'static [&'static str],
    package_flags: &'static [&'static str],
) -> PackageLauncher {
    let registry = PackageRegistry::Npm;
    PackageLauncher { program, registry, verbs, package_flags, value_flags: NPM_VALUES }
}

const fn pypi_launcher(
    program: &'static str,
    verbs: &'static [&'static str],
    package_flags: &'static [&'static str],
) -> PackageLauncher {
    let registry = PackageRegistry::Pypi;
    PackageLauncher { program, registry, verbs, package_flags, value_flags: UV_VALUES }
}

/// The notes about a program that loads its server. `name` and `environment` are those of the proposed server.
pub(super) fn launcher_notes(
    name: &ExtensionName,
    command: &str,
    arguments: &[String],
    environment: &BTreeMap<String, String>,
) -> Vec<String> {
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
        let loaded = (launcher.program == program && has_verbs).then(|| launcher.loaded(rest))?;
        loaded.filter(|loaded| !is_path(loaded.package)).map(|loaded| (launcher, loaded))
    });
    let Some((launcher, loaded)) = found else { return Vec::new() };
    let mut notes = Vec::new();
    if !is_pinned(loaded.package) {
        notes.push(format!(
            "The version of {} is not pinned: each start may run other code. Write an exact version.",
            shown(loaded.package)
        ));
    }
    let remedy = launcher.install_sentence(name, &loaded, environment);
    notes.push(format!(
        "{program} loads the package over the network, which a confined server has only with --host. {}",
        remedy.as_deref().unwrap_or("Or install the package, and write the path of its program.")
    ));
    notes
}

impl PackageLauncher {
    fn loaded<'a>(&self, arguments: &'a [String]) -> Option<LoadedPackage<'a>> {
        let mut named: Option<&str> = None;
        let mut at = 0;
        while let Some(word) = arguments.get(at).map(String::as_str) {
            at += 1;
            if let Some((flag, package)) = word.split_once('=')
                && self.package_flags.contains(&flag)
            {
                named = named.or(Some(package));
            } else if self.package_flags.contains(&word) {
                named = named.or(arguments.get(at).map(String::as_str));
                at += 1;
            } else if self.value_flags.contains(&word) {
                at += 1;
            } else if !word.starts_with('-') {
                let rest = &arguments[at..];
                let arguments = rest.strip_prefix(&["--".to_owned()]).unwrap_or(rest);
                return Some(LoadedPackage {
                    package: named.unwrap_or(word),
                    program: named.map(|_| word),
                    arguments,
                });
            }
        }
        named.map(|package| LoadedPackage { package, program: None, arguments: &[] })
    }

    /// How to install the package instead, as sentences that end with the command. None if Rouse cannot install it.
    fn install_sentence(
        &self,
        name: &ExtensionName,
        loaded: &LoadedPackage<'_>,
        environment: &BTreeMap<String, String>,
    ) -> Option<String> {
        let (exact, flag, separator) = match self.registry {
            PackageRegistry::Npm => (ExactPackage::from_npm(loaded.package), "--npm", "@"),
            PackageRegistry::Pypi => (ExactPackage::from_pypi(loaded.package), "--pypi", "=="),
        };
        let (package, version, hint) = match exact {
            Ok(ExactPackage { name, version }) => (name, version, None),
            Err(
                PackageSpecError::MissingVersion { name, hint }
                | PackageSpecError::NotExact { name, hint, .. },
            ) => (name, "VERSION".to_owned(), Some(hint)),
            Err(_) => return None,
        };
        let package = format!("{package}{separator}{version}");
        let mut words: Vec<&str> = vec!["rouse", "mcp", "add", name.as_str(), flag, &package];
        let short = command_line(&words);
        words.extend(loaded.program.into_iter().flat_map(|program| ["--program", program]));
        let pairs: Vec<String> =
            environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        words.extend(pairs.iter().flat_map(|pair| ["--env", pair.as_str()]));
        let arguments = loaded.arguments.iter().map(String::as_str);
        // `:write` at the end would grant more than the path.
        let is_folder = |path: &&str| is_absolute_path(path) && !path.ends_with(":write");
        let paths = arguments.clone().filter(is_folder);
        words.extend(paths.flat_map(|path| ["--folder", path]));
        if !loaded.arguments.is_empty() {
            words.push("--");
            words.extend(arguments);
        }
        let whole = command_line(&words);
        let command = if whole.len() <= MAX_COMMAND { whole } else { format!("{short} …") };
        let hint = hint.filter(|hint| hint.len() <= MAX_COMMAND);
        let hint = hint.map(|hint| format!("{hint} ")).unwrap_or_default();
        Some(format!("{hint}Install the package instead: {command}"))
    }
}

/// The words as a line of a shell, escaped for a page.
fn command_line(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| quote_word(word)).collect();
    escape_line(&words.join(" "))
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
        let environment = BTreeMap::from([("ZONE".to_owned(), "UTC +1".to_owned())]);
        launcher_notes(&"cal".parse().expect("a name"), command, &words, &environment)
    }

    #[test]
    fn note_ends_with_the_command_that_installs_the_package() {
        for (command, words, install) in [
            (
                "npx",
                &["-y", "@scope/files", "/srv/my notes", "--all"][..],
                "`npm view @scope/files version` prints the newest version. Install the package instead: rouse mcp add cal --npm @scope/files@VERSION --env 'ZONE=UTC +1' --folder '/srv/my notes' -- '/srv/my notes' --all",
            ),
            (
                "npx",
                &["-p", "files@1.2.3", "files-mcp"],
                "--host. Install the package instead: rouse mcp add cal --npm files@1.2.3 --program files-mcp --env 'ZONE=UTC +1'",
            ),
            (
                "npm",
                &["exec", "files@1.2.3", "--", "--all"],
                "rouse mcp add cal --npm files@1.2.3 --env 'ZONE=UTC +1' -- --all",
            ),
            (
                "uvx",
                &["mcp-time@latest"],
                "`pip index versions mcp-time` lists the versions. Install the package instead: rouse mcp add cal --pypi mcp-time==VERSION --env 'ZONE=UTC +1'",
            ),
            (
                "uvx",
                &["git+https://a.example/x"],
                "Or install the package, and write the path of its program.",
            ),
        ] {
            let notes = notes(command, words);
            let last = notes.last().expect("a note");
            assert!(last.ends_with(install), "{words:?}: {last}");
        }
    }

    #[test]
    fn long_and_hostile_arguments_stay_short_and_visible() {
        let long = notes("npx", &["files@1.2.3", &"x".repeat(5_000)]);
        let begin = "Install the package instead: rouse mcp add cal --npm files@1.2.3 …";
        assert!(long[0].ends_with(begin), "{long:?}");
        let hostile = notes("npx", &["files@1.2.3", "a\nInstalled.\u{202e}"]);
        assert!(hostile[0].ends_with("-- 'a⟨U+000A⟩Installed.⟨U+202E⟩'"), "{hostile:?}");
        let writing = notes("npx", &["files@1.2.3", "/home/me:write"]);
        assert!(!writing[0].contains("--folder"), "{writing:?}");
        let program = notes("npx", &["-p", "files@1.2.3", &"p".repeat(5_000)]);
        assert!(program[0].len() < 800, "{program:?}");
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
