//! What Rouse needs from the system, and what each package manager calls it.
//!
//! Owns the table of names. Refuses versions: the build says itself when something is too old. One could get it wrong by
//! adding a need without the names of all managers; the table has no default, so that does not compile.

use super::Installer;

/// Something the system has to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
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
}

/// Names under which systems install a Chromium.
pub(crate) const BROWSERS: &[&str] =
    &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

impl Need {
    /// For `rouse serve` and the command line alone.
    pub(crate) const HEADLESS: &[Self] = &[Self::Node, Self::Compiler, Self::PkgConfig];

    /// For the app with its window and tray.
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

    /// For the tests, beyond what the app needs.
    pub(crate) const TESTS: &[Self] = &[
        Self::Browser,
        Self::VirtualScreen,
        Self::ScreenKey,
        Self::PrivateBus,
        Self::Accessibility,
        Self::Fonts,
    ];

    /// Why it is needed, for the person who is asked to install it.
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
            Self::PrivateBus => "gives the desktop tests a bus of their own",
            Self::Accessibility => "answers the window's accessibility calls",
            Self::Fonts => "lets pages have text",
        }
    }

    /// The packages that bring it. None: the system itself does, or the person has to.
    pub(crate) fn packages(self, installer: Installer) -> &'static [&'static str] {
        // Debian and Ubuntu carry a Node that is often too old, and macOS brings everything but Node.
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
        };
        match installer {
            Installer::Apt => apt,
            Installer::Dnf => dnf,
            Installer::Pacman => pacman,
            Installer::Brew if self == Self::Node => &["node"],
            Installer::Brew => &[],
        }
    }

    /// Programs of which any one on `PATH` shows that the need is met, however it was installed.
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
    fn every_need_but_node_has_a_package_on_every_linux() {
        for need in Need::APP.iter().chain(Need::TESTS).filter(|need| **need != Need::Node) {
            for installer in [Installer::Apt, Installer::Dnf, Installer::Pacman] {
                assert!(
                    !need.packages(installer).is_empty(),
                    "{need:?} has no package for {installer:?}"
                );
            }
        }
    }

    #[test]
    fn macos_is_asked_for_node_only() {
        let names: Vec<_> = Need::APP
            .iter()
            .chain(Need::TESTS)
            .flat_map(|need| need.packages(Installer::Brew))
            .collect();
        assert_eq!(names, [&"node"]);
    }

    #[test]
    fn debian_gets_the_packages_that_tauri_asks_for() {
        let names: Vec<_> =
            Need::APP.iter().flat_map(|need| need.packages(Installer::Apt)).collect();
        for wanted in [
            "libwebkit2gtk-4.1-dev",
            "libgtk-3-dev",
            "libayatana-appindicator3-dev",
            "librsvg2-dev",
            "libxdo-dev",
        ] {
            assert!(names.contains(&&wanted), "{wanted}");
        }
    }

    #[test]
    fn a_machine_without_a_screen_needs_no_web_view() {
        let headless: BTreeSet<_> =
            Need::HEADLESS.iter().flat_map(|need| need.packages(Installer::Apt)).collect();
        assert_eq!(headless, BTreeSet::from([&"build-essential", &"pkg-config"]));
    }
}
