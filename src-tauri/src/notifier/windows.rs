//! Notifications on Windows, by the system's own interface.
//!
//! notify-rust 4.19 is not used here, for what it cannot do:
//! - Its handle reports the first event only. A toast that left the screen unanswered has spent it, so a click in the
//!   Action Center is lost; and waiting takes a blocked thread for each toast.
//! - It gives a toast neither tag nor group, without which nothing can be replaced or withdrawn.
//! - A program that no installer put into the Start menu would notify in the name of PowerShell.
//!
//! So a click does not come back as an event at all: the toast and each of its buttons carry a `rouse://` link, Windows
//! starts Rouse with it whether one runs or not, and a second start hands its link to the first. It works from the screen
//! and from the Action Center, in this life of the app and the next. Windows has to know the name behind the toast and the
//! program behind the link; both are written into the person's own part of the registry at each start, and stay there when
//! the program is deleted by hand. What a link can do, whoever made it, stands in `crate::link`.
//!
//! One could get it wrong by waiting for `Activated` instead: Windows promises that event only for toasts on the screen.

use std::path::Path;

use rouse_host::NotifyError;
use windows::Data::Xml::Dom::XmlDocument;
use windows::UI::Notifications::{
    NotificationSetting, ToastNotification, ToastNotificationManager, ToastNotifier,
};
use windows::core::HSTRING;
use windows_registry::{CURRENT_USER, Key};

use super::toast_xml::xml;
use super::{APP_NAME, Clicks, Subject, Toast, write_picture};
use crate::link::SCHEME;

/// The app's identifier, as in `tauri.conf.json`; the installer gives it to the entry in the Start menu.
const APP_ID: &str = "app.rouse.desktop";
/// Windows asks for a group wherever it takes a tag.
const GROUP: &str = "rouse";
/// Stands for a program that Windows could call, and names none. The Action Center keeps the toasts of apps that have it.
const NO_ACTIVATOR: &str = "{6B0B9C53-6E5C-4E0B-9A5D-2F3C0E1B7A94}";

/// The notifications on this desktop.
pub(super) struct Notifications;

impl Notifications {
    /// Clicks arrive as links on the command line, so nothing is sent by `Clicks`.
    pub(super) fn new(_: Clicks, home: &Path) -> Self {
        if let Err(error) = introduce(home) {
            tracing::warn!(%error, "notifications come without a name, or their clicks lead nowhere");
        }
        Self
    }

    pub(super) async fn show(&self, toast: Toast) -> Result<(), NotifyError> {
        tokio::task::spawn_blocking(move || put_up(&toast)).await.unwrap_or_else(|error| {
            Err(NotifyError::Later(format!("The notification was not shown: {error}")))
        })
    }

    pub(super) fn withdraw(&self, subject: &Subject) {
        let tag = HSTRING::from(subject.name());
        tauri::async_runtime::spawn_blocking(move || {
            if let Err(error) = take_away(&tag) {
                tracing::debug!(%error, "nothing to take away");
            }
        });
    }
}

/// Shows `toast` in place of an earlier one with its tag.
fn put_up(toast: &Toast) -> Result<(), NotifyError> {
    let later = |error: windows::core::Error| {
        NotifyError::Later(format!("Windows did not take the notification: {error}"))
    };
    let notifier = notifier().map_err(later)?;
    if is_switched_off(&notifier) {
        return Err(NotifyError::Never(
            "Windows does not let Rouse notify you. Allow it in Settings, System, Notifications."
                .to_owned(),
        ));
    }
    made(toast).and_then(|made| notifier.Show(&made)).map_err(later)
}

fn notifier() -> windows::core::Result<ToastNotifier> {
    ToastNotificationManager::CreateToastNotifierWithId(&HSTRING::from(APP_ID))
}

/// Windows knows no setting of an app before its first toast.
fn is_switched_off(notifier: &ToastNotifier) -> bool {
    notifier.Setting().is_ok_and(|setting| setting != NotificationSetting::Enabled)
}

fn made(toast: &Toast) -> windows::core::Result<ToastNotification> {
    let document = XmlDocument::new()?;
    document.LoadXml(&HSTRING::from(xml(toast)))?;
    let made = ToastNotification::CreateToastNotification(&document)?;
    made.SetTag(&HSTRING::from(toast.subject.name()))?;
    made.SetGroup(&HSTRING::from(GROUP))?;
    Ok(made)
}

fn take_away(tag: &HSTRING) -> windows::core::Result<()> {
    ToastNotificationManager::History()?.RemoveGroupedTagWithId(
        tag,
        &HSTRING::from(GROUP),
        &HSTRING::from(APP_ID),
    )
}

/// Tells Windows the name behind our toasts and the program behind our links.
fn introduce(home: &Path) -> std::io::Result<()> {
    let program = std::env::current_exe()?;
    let picture = write_picture(home)?;
    introduce_in(&CURRENT_USER.create(r"Software\Classes")?, &program, &picture)?;
    Ok(())
}

fn introduce_in(classes: &Key, program: &Path, picture: &Path) -> windows_registry::Result<()> {
    let app = classes.create(format!(r"AppUserModelId\{APP_ID}"))?;
    app.set_string("DisplayName", APP_NAME)?;
    app.set_string("IconUri", picture.to_string_lossy())?;
    app.set_string("CustomActivator", NO_ACTIVATOR)?;
    let links = classes.create(SCHEME)?;
    links.set_string("", "URL:Rouse")?;
    links.set_string("URL Protocol", "")?;
    let command = links.create(r"shell\open\command")?;
    command.set_string("", format!(r#""{}" "%1""#, program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_learns_the_name_and_the_program() {
        let path = format!(r"Software\Rouse tests\{}", std::process::id());
        let classes = CURRENT_USER.create(&path).unwrap();
        let program = Path::new(r"C:\Program Files\Rouse\rouse-desktop.exe");
        // Twice: a program that has moved writes over what was there.
        introduce_in(&classes, Path::new(r"C:\old.exe"), Path::new(r"C:\icon.png")).unwrap();
        introduce_in(&classes, program, Path::new(r"C:\icon.png")).unwrap();
        let read = |key: &str, name: &str| classes.open(key).unwrap().get_string(name).unwrap();
        let app = r"AppUserModelId\app.rouse.desktop";
        assert_eq!(read(app, "DisplayName"), "Rouse");
        assert_eq!(read(app, "IconUri"), r"C:\icon.png");
        assert_eq!(read("rouse", "URL Protocol"), "");
        assert_eq!(
            read(r"rouse\shell\open\command", ""),
            r#""C:\Program Files\Rouse\rouse-desktop.exe" "%1""#
        );
        CURRENT_USER.remove_tree(&path).unwrap();
    }
}
