//! What the command line asks of the app. The same words reach the first instance when a second one is started.

use crate::link::Link;
use crate::place::Place;

/// The wishes of one start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StartOptions {
    /// Start without a window; the tray is enough.
    pub(crate) hidden: bool,
    /// The page to show.
    pub(crate) open: Option<Place>,
    /// The word of a notification's button that was pressed.
    pub(crate) press: Option<String>,
}

/// What a command line turns out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandLine {
    /// A start of the app.
    Start(StartOptions),
    /// Words to print instead, and whether they are a complaint.
    Print(String, Complaint),
}

/// Whether printed words answer a question or complain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Complaint {
    Yes,
    No,
}

const HELP: &str = "\
Rouse wakes agents on time. This is the desktop app; `rouse` is the command line.

Usage: rouse-desktop [OPTIONS] [LINK]

Arguments:
  [LINK]         A rouse:// link to show

Options:
      --hidden       Start in the tray, without a window
      --open <PATH>  Show a page, such as /jobs or /runs/<id>
  -h, --help         Print this
  -V, --version      Print the version
";

impl CommandLine {
    /// Reads the arguments after the program's name.
    pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Self {
        let mut options = StartOptions::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "-h" | "--help" => return Self::Print(HELP.to_owned(), Complaint::No),
                "-V" | "--version" => {
                    return Self::Print(
                        format!("rouse-desktop {}\n", env!("CARGO_PKG_VERSION")),
                        Complaint::No,
                    );
                }
                "--hidden" => options.hidden = true,
                "--open" => match args.next().as_deref().and_then(Place::parse) {
                    Some(place) => options.open = Some(place),
                    None => return Self::complain("--open needs a path such as /jobs"),
                },
                link if link.starts_with("rouse:") => match Link::parse(link) {
                    Some(Link::Show(place)) => options.open = Some(place),
                    Some(Link::Press(word)) => options.press = Some(word),
                    None => return Self::complain("this link cannot be shown"),
                },
                other => return Self::complain(&format!("unknown argument {other}")),
            }
        }
        Self::Start(options)
    }

    fn complain(what: &str) -> Self {
        Self::Print(format!("rouse-desktop: {what}\nTry --help.\n"), Complaint::Yes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> CommandLine {
        CommandLine::parse(line.split_whitespace().map(str::to_owned))
    }

    fn start(hidden: bool, open: Option<&str>) -> CommandLine {
        CommandLine::Start(StartOptions { hidden, open: open.and_then(Place::parse), press: None })
    }

    #[test]
    fn starts() {
        assert_eq!(parse(""), start(false, None));
        assert_eq!(parse("--hidden"), start(true, None));
        assert_eq!(parse("--open /runs/1"), start(false, Some("/runs/1")));
        assert_eq!(parse("rouse://runs/1"), start(false, Some("/runs/1")));
    }

    #[test]
    fn a_button_that_was_pressed_is_no_page() {
        let press = Some("1f2e".to_owned());
        let pressed = CommandLine::Start(StartOptions { press, ..StartOptions::default() });
        assert_eq!(parse("rouse://answer/1f2e"), pressed);
    }

    #[test]
    fn complaints() {
        for line in [
            "--open",
            "--open https://evil.example",
            "rouse://a\u{7}b",
            "rouse://answer/a/b",
            "--nonsense",
            "file.txt",
        ] {
            assert!(matches!(parse(line), CommandLine::Print(_, Complaint::Yes)), "{line}");
        }
        assert!(matches!(parse("--version"), CommandLine::Print(_, Complaint::No)));
    }
}
