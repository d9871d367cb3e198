//! The package managers: which one is here, what it has installed, how it installs more.
//!
//! Owns their command lines and the reading of their answers. Refuses to refresh, upgrade or remove anything that was
//! not asked for. One could get it wrong by asking once for each package: one question answers for all of them.

use std::process::{Command, Stdio};

use super::Need;
use crate::failure::{Doing, Failure};
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
    /// The one this system lives by.
    pub(crate) fn of_this_system() -> Option<Self> {
        // Homebrew exists on Linux too, but what it builds there is not what WebKit of the system links with.
        let known: &[Self] = if cfg!(target_os = "macos") {
            &[Self::Brew]
        } else {
            &[Self::Apt, Self::Dnf, Self::Pacman]
        };
        known.iter().copied().find(|installer| process::on_path(&[installer.program()]).is_some())
    }

    /// Homebrew refuses to run as root.
    pub(crate) fn wants_root(self) -> bool {
        self != Self::Brew
    }

    /// The needs that neither a program on `PATH` nor an installed package meets.
    pub(crate) fn missing(self, needs: &[Need]) -> Result<Vec<Need>, Failure> {
        let unproven: Vec<Need> = needs
            .iter()
            .copied()
            .filter(|need| process::on_path(need.programs()).is_none())
            .collect();
        let packages: Vec<&str> =
            unproven.iter().flat_map(|need| need.packages(self)).copied().collect();
        if packages.is_empty() {
            return Ok(Vec::new());
        }
        let mut question = self.question(&packages);
        let output = question.output().doing(|| format!("ask {}", process::shown(&question)))?;
        let absent = self.absent(&packages, &String::from_utf8_lossy(&output.stdout));
        Ok(unproven
            .into_iter()
            .filter(|need| need.packages(self).iter().any(|package| absent.contains(package)))
            .collect())
    }

    /// The commands that install these packages, in order.
    pub(crate) fn install_calls(self, packages: &[&str], is_root: bool) -> Vec<Command> {
        let lines: &[&[&str]] = match self {
            Self::Apt => &[
                &["apt-get", "update"],
                &["apt-get", "install", "--yes", "--no-install-recommends"],
            ],
            Self::Dnf => &[&["dnf", "install", "--assumeyes"]],
            Self::Pacman => &[&["pacman", "--sync", "--needed", "--noconfirm"]],
            Self::Brew => &[&["brew", "install"]],
        };
        let sudo = self.wants_root() && !is_root;
        let mut calls: Vec<Command> = lines.iter().map(|line| call(line, sudo)).collect();
        if let Some(last) = calls.last_mut() {
            last.args(packages);
        }
        calls
    }

    fn program(self) -> &'static str {
        match self {
            Self::Apt => "apt-get",
            Self::Dnf => "dnf",
            Self::Pacman => "pacman",
            Self::Brew => "brew",
        }
    }

    /// Asks the local database only; no network, no lock.
    fn question(self, packages: &[&str]) -> Command {
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

    /// Which of the packages the answer does not vouch for.
    fn absent<'a>(self, packages: &[&'a str], answer: &str) -> Vec<&'a str> {
        let vouched = |package: &str| match self {
            Self::Apt | Self::Dnf => {
                answer.lines().any(|line| line.split_once(' ') == Some((package, "installed")))
            }
            // Pacman names what is missing, and counts packages that stand in for others.
            Self::Brew => answer.lines().any(|line| line.split(' ').next() == Some(package)),
            Self::Pacman => !answer.lines().any(|line| line.trim() == package),
        };
        packages.iter().copied().filter(|package| !vouched(package)).collect()
    }
}

/// `DEBIAN_FRONTEND` travels as an argument because sudo drops the environment.
fn call(line: &[&str], sudo: bool) -> Command {
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
    fn apt_vouches_only_for_fully_installed_packages() {
        let answer = "xvfb installed\nlibxdo-dev config-files\ngone not-installed\n";
        assert_eq!(
            Installer::Apt.absent(&["xvfb", "libxdo-dev", "gone", "unknown"], answer),
            ["libxdo-dev", "gone", "unknown"]
        );
    }

    #[test]
    fn dnf_vouches_for_what_rpm_lists() {
        let answer = "gcc installed\npackage make is not installed\n";
        assert_eq!(Installer::Dnf.absent(&["gcc", "make"], answer), ["make"]);
    }

    #[test]
    fn pacman_lists_what_is_missing() {
        assert_eq!(Installer::Pacman.absent(&["gtk3", "dbus"], "gtk3\n"), ["gtk3"]);
        assert!(Installer::Pacman.absent(&["gtk3"], "").is_empty());
    }

    #[test]
    fn brew_lists_what_it_has() {
        assert_eq!(Installer::Brew.absent(&["node", "no"], "node 26.1.0 25.0.0\n"), ["no"]);
    }

    #[test]
    fn only_the_last_call_names_packages_and_only_strangers_use_sudo() {
        let lines = |is_root| {
            Installer::Apt
                .install_calls(&["xvfb"], is_root)
                .iter()
                .map(process::shown)
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
        let brew = Installer::Brew.install_calls(&["node"], false);
        assert_eq!(
            process::shown(&brew[0]),
            "env DEBIAN_FRONTEND=noninteractive brew install node"
        );
    }
}
