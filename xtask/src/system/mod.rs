//! System packages: requirements of a chore, missing packages and their installation.
//!
//! Owns the confirmation prompt and the call of the package manager. Never installs a package without naming it
//! first, and never prompts for a password without notice. Pitfall: calling the package manager when nothing is
//! missing costs seconds on every start.

mod installer;
mod requirement;
mod node;
mod windows;

use std::io::{IsTerminal, Write};

use crate::error::{ChoreError, ErrorContext};
use crate::process;
use crate::progress::ChoreOutcome;

pub(crate) use installer::Installer;
pub(crate) use node::check_node;
pub(crate) use requirement::Requirement;

/// Whether packages may be installed without confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Ask on an interactive terminal.
    Ask,
    /// Confirmed by `--yes`.
    Given,
}

/// Ensures the requirements, installing missing packages.
pub(crate) fn ensure(
    requirements: &[Requirement],
    consent: Consent,
) -> Result<ChoreOutcome, ChoreError> {
    if cfg!(windows) {
        return windows::ensure_webview(requirements);
    }
    let Some(installer) = Installer::detect() else {
        return Ok(print_manual_steps(requirements));
    };
    let missing = installer.missing(requirements)?;
    if missing.is_empty() {
        return Ok(ChoreOutcome::UpToDate);
    }
    install(installer, &missing, consent)?;
    Ok(ChoreOutcome::Done)
}

/// A browser for the end-to-end tests, if installed.
pub(crate) fn browser() -> Option<std::path::PathBuf> {
    let installed = [
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    ];
    process::find_program(requirement::BROWSERS).or_else(|| {
        installed.iter().map(Into::into).find(|file: &std::path::PathBuf| file.is_file())
    })
}

/// Whether windows can be shown.
pub(crate) fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Lists missing packages, asks for confirmation, and calls the package manager.
fn install(
    installer: Installer,
    missing: &[Requirement],
    consent: Consent,
) -> Result<(), ChoreError> {
    println!("      Missing on this system:");
    for requirement in missing {
        println!(
            "        {:32} {}",
            requirement.packages(installer).join(" "),
            requirement.purpose()
        );
    }
    let packages: Vec<&str> =
        missing.iter().flat_map(|requirement| requirement.packages(installer)).copied().collect();
    let commands = installer.install_commands(&packages, is_root());
    println!("      Install commands:");
    for command in &commands {
        println!("        {}", process::display(command));
    }
    if installer.needs_root() && !is_root() {
        println!("      sudo may ask for your password.");
    }
    if consent == Consent::Ask && !confirm_install()? {
        return Err(ChoreError::new(
            "nothing was installed; install the packages above and start again",
        ));
    }
    commands.into_iter().try_for_each(process::run)
}

/// Asks for confirmation. A non-interactive call counts as confirmed.
fn confirm_install() -> Result<bool, ChoreError> {
    let is_interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !is_interactive || std::env::var_os("CI").is_some() {
        return Ok(true);
    }
    print!("      Install them now? [Y/n] ");
    std::io::stdout().flush().with_context(|| "write to the terminal".into())?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).with_context(|| "read your answer".into())?;
    Ok(is_yes(&answer))
}

/// An empty answer means yes.
fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

/// macOS meets the requirements; other systems without a known package manager get a list.
fn print_manual_steps(requirements: &[Requirement]) -> ChoreOutcome {
    if cfg!(target_os = "macos") {
        return ChoreOutcome::UpToDate;
    }
    println!(
        "      Neither apt, dnf nor pacman was found. If the build fails, install the equivalents of:"
    );
    for requirement in requirements {
        println!(
            "        {:32} {}",
            requirement.packages(Installer::Apt).join(" "),
            requirement.purpose()
        );
    }
    ChoreOutcome::Done
}

fn is_root() -> bool {
    process::try_output("id", &["-u"]).is_some_and(|id| id.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn confirmation_needs_yes_or_return() {
        for yes in ["", "\n", "y\n", "Yes\n"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["n\n", "no", "later"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
