//! The machine under Rouse: which system packages a chore needs, which are missing, and how to get them.
//!
//! Owns the question to the person and the one call of the package installer. Refuses to install anything it has not named
//! first, and to ask for a password without saying so. One could get it wrong by calling the package manager when
//! nothing is missing: that costs seconds on every start.

mod installer;
mod need;
mod node;
mod windows;

use std::io::{IsTerminal, Write};

use crate::failure::{Doing, Failure};
use crate::process;
use crate::progress::Done;

pub(crate) use installer::Installer;
pub(crate) use need::Need;
pub(crate) use node::check_node;

/// Whether a missing package may be installed without a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Ask when a person sits at a terminal.
    Ask,
    /// Asked and answered: `--yes`.
    Given,
}

/// Sees to it that the needs of a chore are there, installing what is missing.
pub(crate) fn ensure(needs: &[Need], consent: Consent) -> Result<Done, Failure> {
    if cfg!(windows) {
        return windows::ensure_webview(needs);
    }
    let Some(installer) = Installer::of_this_system() else {
        return Ok(say_by_hand(needs));
    };
    let missing = installer.missing(needs)?;
    if missing.is_empty() {
        return Ok(Done::AlreadyFresh);
    }
    install(installer, &missing, consent)?;
    Ok(Done::Made)
}

/// A browser that the end-to-end tests can drive, if there is one.
pub(crate) fn browser() -> Option<std::path::PathBuf> {
    let installed = [
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    ];
    process::on_path(need::BROWSERS).or_else(|| {
        installed.iter().map(Into::into).find(|file: &std::path::PathBuf| file.is_file())
    })
}

/// True when a window can be shown here.
pub(crate) fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Names what is missing, asks where a person can answer, and calls the package installer.
fn install(installer: Installer, missing: &[Need], consent: Consent) -> Result<(), Failure> {
    println!("      Missing on this system:");
    for need in missing {
        println!("        {:32} {}", need.packages(installer).join(" "), need.purpose());
    }
    let packages: Vec<&str> =
        missing.iter().flat_map(|need| need.packages(installer)).copied().collect();
    let calls = installer.install_calls(&packages, is_root());
    println!("      They will be installed with:");
    for call in &calls {
        println!("        {}", process::shown(call));
    }
    if installer.wants_root() && !is_root() {
        println!("      sudo may ask for your password.");
    }
    if consent == Consent::Ask && !agreed()? {
        return Err(Failure::new(
            "nothing was installed. Install the packages above and start again.",
        ));
    }
    calls.into_iter().try_for_each(process::run)
}

/// Asks; where nobody can answer, the call of the chore was the answer.
fn agreed() -> Result<bool, Failure> {
    let watched = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !watched || std::env::var_os("CI").is_some() {
        return Ok(true);
    }
    print!("      Install them now? [Y/n] ");
    std::io::stdout().flush().doing(|| "write to the terminal".into())?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).doing(|| "read your answer".into())?;
    Ok(is_yes(&answer))
}

/// Return alone is a yes.
fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

/// macOS brings what Rouse needs; any other system without a known package manager gets the list.
fn say_by_hand(needs: &[Need]) -> Done {
    if cfg!(target_os = "macos") {
        return Done::AlreadyFresh;
    }
    println!(
        "      Neither apt, dnf nor pacman is here. If the build fails, install what these are called on your system:"
    );
    for need in needs {
        println!("        {:32} {}", need.packages(Installer::Apt).join(" "), need.purpose());
    }
    Done::Made
}

fn is_root() -> bool {
    process::answer("id", &["-u"]).is_some_and(|id| id.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_a_clear_no_is_a_no_and_nonsense_is_not_a_yes() {
        for yes in ["", "\n", "y\n", "Yes\n"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["n\n", "no", "later"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
