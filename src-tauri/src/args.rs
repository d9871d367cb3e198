//! Command line of the app, also forwarded from further instances.

use crate::link::Link;
use crate::ui_route::UiRoute;

/// Start options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StartOptions {
    /// Start without a window.
    pub(crate) hidden: bool,
    /// Page to show.
    pub(crate) open: Option<UiRoute>,
    /// Token of a pressed notification button.
    pub(crate) press: Option<String>,
}

/// Parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AppArguments {
    /// Start the app.
    Start(StartOptions),
    /// Print a text, as output or error.
    Print(String, PrintTarget),
}

/// Output or error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrintTarget {
    Error,
    Output,
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

impl AppArguments {
    /// Parses the arguments after the program name.
    pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Self {
        let mut options = StartOptions::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "-h" | "--help" => return Self::Print(HELP.to_owned(), PrintTarget::Output),
                "-V" | "--version" => {
                    return Self::Print(
                        format!("rouse-desktop {}\n", env!("CARGO_PKG_VERSION")),
                        PrintTarget::Output,
                    );
                }
                "--hidden" => options.hidden = true,
                "--open" => match args.next().as_deref().and_then(UiRoute::parse) {
                    Some(route) => options.open = Some(route),
                    None => return Self::error("--open needs a path such as /jobs"),
                },
                link if link.starts_with("rouse:") => match Link::parse(link) {
                    Some(Link::Show(route)) => options.open = Some(route),
                    Some(Link::Press(token)) => options.press = Some(token),
                    None => return Self::error("this link cannot be shown"),
                },
                other => return Self::error(&format!("unknown argument {other}")),
            }
        }
        Self::Start(options)
    }

    fn error(message: &str) -> Self {
        Self::Print(format!("rouse-desktop: {message}\nTry --help.\n"), PrintTarget::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> AppArguments {
        AppArguments::parse(line.split_whitespace().map(str::to_owned))
    }

    fn start(hidden: bool, open: Option<&str>) -> AppArguments {
        AppArguments::Start(StartOptions {
            hidden,
            open: open.and_then(UiRoute::parse),
            press: None,
        })
    }

    #[test]
    fn start_options_parse() {
        assert_eq!(parse(""), start(false, None));
        assert_eq!(parse("--hidden"), start(true, None));
        assert_eq!(parse("--open /runs/1"), start(false, Some("/runs/1")));
        assert_eq!(parse("rouse://runs/1"), start(false, Some("/runs/1")));
    }

    #[test]
    fn pressed_button_opens_no_page() {
        let press = Some("1f2e".to_owned());
        let pressed = AppArguments::Start(StartOptions { press, ..StartOptions::default() });
        assert_eq!(parse("rouse://answer/1f2e"), pressed);
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        for line in [
            "--open",
            "--open https://evil.example",
            "rouse://a\u{7}b",
            "rouse://answer/a/b",
            "--nonsense",
            "file.txt",
        ] {
            assert!(matches!(parse(line), AppArguments::Print(_, PrintTarget::Error)), "{line}");
        }
        assert!(matches!(parse("--version"), AppArguments::Print(_, PrintTarget::Output)));
    }
}
