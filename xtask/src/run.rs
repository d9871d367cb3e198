//! `cargo xtask run`: from a fresh clone to a running Rouse.
//!
//! Owns the order: system packages, UI packages, UI, Rouse, start. Refuses to build what this machine cannot show:
//! without a display it builds and starts `rouse serve`, which needs no WebKit and prints the address of the same UI.
//! One could get it wrong by starting Rouse as a child: Ctrl+C would then end the chore before Rouse has shut down.

use std::process::{Command, ExitCode};

use crate::failure::Failure;
use crate::progress::{Done, Steps};
use crate::system::{self, Consent, Need};
use crate::{house, process, ui};

/// What the person asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    consent: Consent,
    /// Handed to Rouse as they are.
    for_rouse: Vec<String>,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self { consent: Consent::Ask, for_rouse: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--yes" | "-y" => options.consent = Consent::Given,
                "--" => options.for_rouse = rest.by_ref().cloned().collect(),
                other => return Err(Failure::new(format!("`run` knows no argument `{other}`"))),
            }
        }
        Ok(options)
    }
}

/// How Rouse can be shown on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Face {
    /// Tray icon and window.
    App,
    /// `rouse serve`, with the UI in a browser.
    Server,
}

impl Face {
    fn of_this_machine() -> Self {
        if system::has_display() { Self::App } else { Self::Server }
    }

    fn needs(self) -> &'static [Need] {
        match self {
            Self::App => Need::APP,
            Self::Server => Need::HEADLESS,
        }
    }

    /// What is built: the command belongs to both faces, for the manual is about it.
    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::App => &["rouse-desktop", "rouse-cli"],
            Self::Server => &["rouse-cli"],
        }
    }

    fn build(self) -> Command {
        let packages = self.packages().iter().flat_map(|package| ["--package", *package]);
        process::cargo(std::iter::once("build").chain(packages))
    }

    fn start(self) -> Command {
        match self {
            Self::App => Command::new(house::program("rouse-desktop")),
            Self::Server => {
                let mut command = Command::new(house::program("rouse"));
                command.arg("serve");
                command
            }
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let face = Face::of_this_machine();
    if face == Face::Server {
        println!(
            "No display here: Rouse will serve its UI to a browser instead of opening a window."
        );
    }
    let mut steps = Steps::of(5);
    steps.step("System packages", || {
        let done = system::ensure(face.needs(), options.consent)?;
        system::check_node()?;
        Ok(done)
    })?;
    steps.step("UI packages", ui::install)?;
    steps.step("UI", ui::build)?;
    steps.step("Rouse (the first build takes some minutes)", || {
        process::run(face.build())?;
        Ok(Done::Made)
    })?;
    let mut rouse = face.start();
    rouse.args(&options.for_rouse);
    steps.begin(&format!("Starting {}", process::shown(&rouse)));
    process::hand_over(&mut rouse)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, Failure> {
        Options::parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_after_the_dashes_go_to_rouse() {
        let options = parse(&["--yes", "--", "--hidden", "--yes"]).expect("understood");
        assert_eq!(
            options,
            Options { consent: Consent::Given, for_rouse: vec!["--hidden".into(), "--yes".into()] }
        );
        assert_eq!(parse(&[]).expect("understood").consent, Consent::Ask);
        assert!(parse(&["--hidden"]).is_err());
    }

    #[test]
    fn the_command_is_built_beside_the_app() {
        let built = |face: Face| process::shown(&face.build());
        let (app, server) = (built(Face::App), built(Face::Server));
        assert!(app.contains("rouse-desktop") && app.contains("rouse-cli"), "{app}");
        assert!(server.contains("rouse-cli") && !server.contains("rouse-desktop"), "{server}");
    }

    #[test]
    fn a_server_is_built_without_the_web_view() {
        assert!(Face::App.needs().contains(&Need::WebView));
        assert!(!Face::Server.needs().contains(&Need::WebView));
        assert!(process::shown(&Face::Server.start()).ends_with(" serve"));
    }
}
