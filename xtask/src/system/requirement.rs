//! System requirements of Rouse, with package names per package manager.
//!
//! Owns the table of names. Never checks versions: the build reports old packages. The table has no default, so a
//! requirement without all names does not compile.

use super::Installer;

/// A requirement from the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    Node,
    Compiler,
    PkgConfig,
    WebView,
    Gtk,
    TrayMenu,
    SvgLoader,
    OpenSsl,
    Keyboard,
    DBusHeaders,
    Browser,
    VirtualScreen,
    ScreenKey,
    PrivateBus,
    Accessibility,
    Fonts,
    Python,
    Postgres,
    SshServer,
}

/// Program names of Chromium.
pub(crate) const BROWSERS: &[&str] =
    &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

impl Requirement {
    /// For `rouse serve` and the CLI.
    pub(crate) const HEADLESS: &[Self] = &[Self::Node, Self::Compiler, Self::PkgConfig];

    /// For the app with window and tray.
    pub(crate) const APP: &[Self] = &[
        Self::Node,
        Self::Compiler,
        Self::PkgConfig,
        Self::WebView,
        Self::Gtk,
        Self::TrayMenu,
        Self::SvgLoader,
        Self::OpenSsl,
        Self::Keyboard,
        Self::DBusHeaders,
    ];

    /// For the tests, in addition to the app.
    pub(crate) const TESTS: &[Self] = &[
        Self::Browser,
        Self::VirtualScreen,
        Self::ScreenKey,
        Self::PrivateBus,
        Self::Accessibility,
        Self::Fonts,
        Self::Python,
        Self::Postgres,
        Self::SshServer,
    ];

    /// The reason, for the confirmation prompt.
    pub(crate) fn purpose(self) -> &'static str {
        match self {
            Self::Node => "builds the UI",
            Self::Compiler => "compiles the parts written in C",
            Self::PkgConfig => "finds the libraries below",
            Self::WebView => "shows the window",
            Self::Gtk => "frames the window",
            Self::TrayMenu => "shows the tray menu",
            Self::SvgLoader => "draws icons",
            Self::OpenSsl => "encrypts connections of the web view",
            Self::Keyboard => "sends the keys of Edit menu entries",
            Self::DBusHeaders => "talks to the desktop",
            Self::Browser => "runs the end-to-end tests of the UI",
            Self::VirtualScreen => "gives the desktop tests a screen",
            Self::ScreenKey => "opens that screen",
            Self::PrivateBus => "gives the desktop tests a private bus",
            Self::Accessibility => "answers the window's accessibility calls",
            Self::Fonts => "renders the text of pages",
            Self::Python => "runs MCP servers in the tests",
            Self::Postgres => "holds the queue of a test",
            Self::SshServer => "is another computer in the tests",
        }
    }

    /// The packages; empty if the system or the person provides it.
    pub(crate) fn packages(self, installer: Installer) -> &'static [&'static str] {
        // Node in Debian and Ubuntu is often too old, and macOS lacks only Node.
        let [apt, dnf, pacman]: [&'static [&'static str]; 3] = match self {
            Self::Node => [&[], &["nodejs", "nodejs-npm"], &["nodejs", "npm"]],
            Self::Compiler => [&["build-essential"], &["gcc", "gcc-c++", "make"], &["base-devel"]],
            Self::PkgConfig => [&["pkg-config"], &["pkgconf-pkg-config"], &["pkgconf"]],
            Self::WebView => {
                [&["libwebkit2gtk-4.1-dev"], &["webkit2gtk4.1-devel"], &["webkit2gtk-4.1"]]
            }
            Self::Gtk => [&["libgtk-3-dev"], &["gtk3-devel"], &["gtk3"]],
            Self::TrayMenu => [
                &["libayatana-appindicator3-dev"],
                &["libappindicator-gtk3-devel"],
                &["libayatana-appindicator"],
            ],
            Self::SvgLoader => [&["librsvg2-dev"], &["librsvg2-devel"], &["librsvg"]],
            Self::OpenSsl => [&["libssl-dev"], &["openssl-devel"], &["openssl"]],
            Self::Keyboard => [&["libxdo-dev"], &["libxdo-devel"], &["xdotool"]],
            Self::DBusHeaders => [&["libdbus-1-dev"], &["dbus-devel"], &["dbus"]],
            Self::Browser => [&["chromium"], &["chromium"], &["chromium"]],
            Self::VirtualScreen => [&["xvfb"], &["xorg-x11-server-Xvfb"], &["xorg-server-xvfb"]],
            Self::ScreenKey => [&["xauth"], &["xorg-x11-xauth"], &["xorg-xauth"]],
            Self::PrivateBus => [&["dbus"], &["dbus-daemon"], &["dbus"]],
            Self::Accessibility => [&["at-spi2-core"], &["at-spi2-core"], &["at-spi2-core"]],
            Self::Fonts => [&["fonts-dejavu-core"], &["dejavu-sans-fonts"], &["ttf-dejavu"]],
            Self::Python => [&["python3-venv"], &["python3"], &["python"]],
            Self::Postgres => [&["postgresql"], &["postgresql-server"], &["postgresql"]],
            Self::SshServer => [&["openssh-server"], &["openssh-server"], &["openssh"]],
        };
        match installer {
            Installer::Apt => apt,
            Installer::Dnf => dnf,
            Installer::Pacman => pacman,
            Installer::Brew if self == Self::Node => &["node"],
            Installer::Brew => &[],
        }
    }

    /// Programs in `PATH` that prove the requirement, however installed.
    pub(crate) fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Node => &["node"],
            Self::PkgConfig => &["pkg-config"],
            Self::Browser => BROWSERS,
            Self::VirtualScreen => &["Xvfb"],
            Self::ScreenKey => &["xauth"],
            Self::PrivateBus => &["dbus-run-session"],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_requirement_has_linux_packages() {
        for requirement in Requirement::APP
            .iter()
            .chain(Requirement::TESTS)
            .filter(|requirement| **requirement != Requirement::Node)
        {
            for installer in [Installer::Apt, Installer::Dnf, Installer::Pacman] {
                assert!(
                    !requirement.packages(installer).is_empty(),
                    "{requirement:?} has no package for {installer:?}"
                );
            }
        }
    }

    #[test]
    fn macos_requires_only_node() {
        let names: Vec<_> = Requirement::APP
            .iter()
            .chain(Requirement::TESTS)
            .flat_map(|requirement| requirement.packages(Installer::Brew))
            .collect();
        assert_eq!(names, [&"node"]);
    }

    #[test]
    fn debian_packages_include_those_of_tauri() {
        let names: Vec<_> = Requirement::APP
            .iter()
            .flat_map(|requirement| requirement.packages(Installer::Apt))
            .collect();
        for package in [
            "libwebkit2gtk-4.1-dev",
            "libgtk-3-dev",
            "libayatana-appindicator3-dev",
            "librsvg2-dev",
            "libxdo-dev",
        ] {
            assert!(names.contains(&&package), "{package}");
        }
    }

    #[test]
    fn headless_requires_no_web_view() {
        let headless: BTreeSet<_> = Requirement::HEADLESS
            .iter()
            .flat_map(|requirement| requirement.packages(Installer::Apt))
            .collect();
        assert_eq!(headless, BTreeSet::from([&"build-essential", &"pkg-config"]));
    }
}
