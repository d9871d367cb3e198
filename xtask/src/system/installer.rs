//! Package managers: detection, queries and installation.
//!
//! Owns their command lines and the parsing of their output. Never upgrades or removes packages. Pitfall: a query per
//! package; a single query covers all packages.

use std::process::{Command, Stdio};

use super::Requirement;
use crate::error::{ChoreError, ErrorContext};
use crate::process;

/// A package installer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Installer {
    Apt,
    Dnf,
    Pacman,
    Brew,
}

impl Installer {
    /// The package manager of this system.
    pub(crate) fn detect() -> Option<Self> {
        // Homebrew on Linux builds libraries that do not fit the system's WebKit.
        let known: &[Self] = if cfg!(target_os = "macos") {
            &[Self::Brew]
        } else {
            &[Self::Apt, Self::Dnf, Self::Pacman]
        };
        known
            .iter()
            .copied()
            .find(|installer| process::find_program(&[installer.program()]).is_some())
    }

    /// Homebrew refuses to run as root.
    pub(crate) fn needs_root(self) -> bool {
        self != Self::Brew
    }

    /// The requirements that neither a program in `PATH` nor an installed package meets.
    pub(crate) fn missing(
        self,
        requirements: &[Requirement],
    ) -> Result<Vec<Requirement>, ChoreError> {
        let unmet: Vec<Requirement> = requirements
            .iter()
            .copied()
            .filter(|requirement| process::find_program(requirement.programs()).is_none())
            .collect();
        let packages: Vec<&str> =
            unmet.iter().flat_map(|requirement| requirement.packages(self)).copied().collect();
        if packages.is_empty() {
            return Ok(Vec::new());
        }
        let mut query = self.query(&packages);
        let output =
            query.output().with_context(|| format!("query {}", process::display(&query)))?;
        let missing_packages =
            self.missing_packages(&packages, &String::from_utf8_lossy(&output.stdout));
        Ok(unmet
            .into_iter()
            .filter(|requirement| {
                requirement.packages(self).iter().any(|package| missing_packages.contains(package))
            })
            .collect())
    }

    /// The commands that install these packages, in order.
    pub(crate) fn install_commands(self, packages: &[&str], is_root: bool) -> Vec<Command> {
        let lines: &[&[&str]] = match self {
            Self::Apt => &[
                &["apt-get", "update"],
                &["apt-get", "install", "--yes", "--no-install-recommends"],
            ],
            Self::Dnf => &[&["dnf", "install", "--assumeyes"]],
            Self::Pacman => &[&["pacman", "--sync", "--needed", "--noconfirm"]],
            Self::Brew => &[&["brew", "install"]],
        };
        let sudo = self.needs_root() && !is_root;
        let mut commands: Vec<Command> =
            lines.iter().map(|line| command_line(line, sudo)).collect();
        if let Some(last) = commands.last_mut() {
            last.args(packages);
        }
        commands
    }

    fn program(self) -> &'static str {
        match self {
            Self::Apt => "apt-get",
            Self::Dnf => "dnf",
            Self::Pacman => "pacman",
            Self::Brew => "brew",
        }
    }

    /// Queries the local database only, without network or lock.
    fn query(self, packages: &[&str]) -> Command {
        let line: &[&str] = match self {
            Self::Apt => {
                &["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\\n"]
            }
            Self::Dnf => &["rpm", "--query", "--queryformat", "%{NAME} installed\\n"],
            Self::Pacman => &["pacman", "--deptest"],
            Self::Brew => &["brew", "list", "--versions"],
        };
        let mut command = Command::new(line[0]);
        command
            .args(&line[1..])
            .args(packages)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// The packages that the output does not confirm.
    fn missing_packages<'a>(self, packages: &[&'a str], answer: &str) -> Vec<&'a str> {
        let is_installed = |package: &str| match self {
            Self::Apt | Self::Dnf => {
                answer.lines().any(|line| line.split_once(' ') == Some((package, "installed")))
            }
            // Pacman prints missing packages and accepts substitutes.
            Self::Brew => answer.lines().any(|line| line.split(' ').next() == Some(package)),
            Self::Pacman => !answer.lines().any(|line| line.trim() == package),
        };
        packages.iter().copied().filter(|package| !is_installed(package)).collect()
    }
}

/// `DEBIAN_FRONTEND` is an argument because sudo drops the environment.
fn command_line(line: &[&str], sudo: bool) -> Command {
    let prefix: &[&str] = if sudo { &["sudo", "env"] } else { &["env"] };
    let words = [prefix, &["DEBIAN_FRONTEND=noninteractive"], line].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apt_accepts_only_installed_packages() {
        let answer = "xvfb installed\nlibxdo-dev config-files\ngone not-installed\n";
        assert_eq!(
            Installer::Apt.missing_packages(&["xvfb", "libxdo-dev", "gone", "unknown"], answer),
            ["libxdo-dev", "gone", "unknown"]
        );
    }

    #[test]
    fn dnf_accepts_packages_listed_by_rpm() {
        let answer = "gcc installed\npackage make is not installed\n";
        assert_eq!(Installer::Dnf.missing_packages(&["gcc", "make"], answer), ["make"]);
    }

    #[test]
    fn pacman_lists_missing_packages() {
        assert_eq!(Installer::Pacman.missing_packages(&["gtk3", "dbus"], "gtk3\n"), ["gtk3"]);
        assert!(Installer::Pacman.missing_packages(&["gtk3"], "").is_empty());
    }

    #[test]
    fn brew_lists_installed_packages() {
        assert_eq!(
            Installer::Brew.missing_packages(&["node", "no"], "node 26.1.0 25.0.0\n"),
            ["no"]
        );
    }

    #[test]
    fn sudo_is_used_only_without_root() {
        let lines = |is_root| {
            Installer::Apt
                .install_commands(&["xvfb"], is_root)
                .iter()
                .map(process::display)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lines(false),
            [
                "sudo env DEBIAN_FRONTEND=noninteractive apt-get update",
                "sudo env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends xvfb",
            ]
        );
        assert!(lines(true).iter().all(|line| line.starts_with("env ")));
        let brew = Installer::Brew.install_commands(&["node"], false);
        assert_eq!(
            process::display(&brew[0]),
            "env DEBIAN_FRONTEND=noninteractive brew install node"
        );
    }
}
