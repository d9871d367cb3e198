//! `cargo xtask run`: from a fresh clone to a running Rouse.
//!
//! Owns the order: system packages, UI packages, UI, Rouse, start. Without a display it builds and starts `rouse
//! serve`, which needs no WebKit and prints the address of the same UI. Pitfall: starting Rouse as a child; Ctrl+C
//! would end the chore before Rouse has shut down.

use std::process::{Command, ExitCode};

use crate::error::ChoreError;
use crate::progress::{ChoreOutcome, Steps};
use crate::system::{self, Consent, Requirement};
use crate::{paths, process, ui};

/// The options of `run`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunOptions {
    consent: Consent,
    /// The arguments for Rouse.
    rouse_arguments: Vec<String>,
}

impl RunOptions {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, ChoreError> {
        let mut options = Self { consent: Consent::Ask, rouse_arguments: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--yes" | "-y" => options.consent = Consent::Given,
                "--" => options.rouse_arguments = rest.by_ref().cloned().collect(),
                other => {
                    return Err(ChoreError::new(format!("unknown argument `{other}` of `run`")));
                }
            }
        }
        Ok(options)
    }
}

/// The form of Rouse on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LaunchTarget {
    /// Tray icon and window.
    App,
    /// `rouse serve`, with the UI in a browser.
    Server,
}

impl LaunchTarget {
    fn detect() -> Self {
        if system::has_display() { Self::App } else { Self::Server }
    }

    fn requirements(self) -> &'static [Requirement] {
        match self {
            Self::App => Requirement::APP,
            Self::Server => Requirement::HEADLESS,
        }
    }

    /// The built packages. Both targets include the CLI, which the manual describes.
    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::App => &["rouse-desktop", "rouse-cli"],
            Self::Server => &["rouse-cli"],
        }
    }

    fn build_command(self) -> Command {
        let packages = self.packages().iter().flat_map(|package| ["--package", *package]);
        process::cargo(std::iter::once("build").chain(packages))
    }

    fn start_command(self) -> Command {
        match self {
            Self::App => Command::new(paths::program("rouse-desktop")),
            Self::Server => {
                let mut command = Command::new(paths::program("rouse"));
                command.arg("serve");
                command
            }
        }
    }
}

pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, ChoreError> {
    let target = LaunchTarget::detect();
    if target == LaunchTarget::Server {
        println!("No display found: Rouse serves its UI to a browser instead of opening a window.");
    }
    let mut steps = Steps::of(5);
    steps.step("System packages", || {
        let done = system::ensure(target.requirements(), options.consent)?;
        system::check_node()?;
        Ok(done)
    })?;
    steps.step("UI packages", ui::install)?;
    steps.step("UI", ui::build)?;
    steps.step("Rouse (the first build takes several minutes)", || {
        process::run(target.build_command())?;
        Ok(ChoreOutcome::Done)
    })?;
    let mut rouse = target.start_command();
    rouse.args(&options.rouse_arguments);
    steps.begin(&format!("Starting {}", process::display(&rouse)));
    process::replace_process(&mut rouse)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<RunOptions, ChoreError> {
        RunOptions::parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_after_dashes_go_to_rouse() {
        let options = parse(&["--yes", "--", "--hidden", "--yes"]).expect("valid");
        assert_eq!(
            options,
            RunOptions {
                consent: Consent::Given,
                rouse_arguments: vec!["--hidden".into(), "--yes".into()]
            }
        );
        assert_eq!(parse(&[]).expect("valid").consent, Consent::Ask);
        assert!(parse(&["--hidden"]).is_err());
    }

    #[test]
    fn app_build_includes_the_cli() {
        let command = |target: LaunchTarget| process::display(&target.build_command());
        let (app, server) = (command(LaunchTarget::App), command(LaunchTarget::Server));
        assert!(app.contains("rouse-desktop") && app.contains("rouse-cli"), "{app}");
        assert!(server.contains("rouse-cli") && !server.contains("rouse-desktop"), "{server}");
    }

    #[test]
    fn server_build_needs_no_web_view() {
        assert!(LaunchTarget::App.requirements().contains(&Requirement::WebView));
        assert!(!LaunchTarget::Server.requirements().contains(&Requirement::WebView));
        assert!(process::display(&LaunchTarget::Server.start_command()).ends_with(" serve"));
    }
}
