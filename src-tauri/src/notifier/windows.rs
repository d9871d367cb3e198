//! Windows toasts.
//!
//! notify-rust 4.19 is not used:
//!
//! - Its handle reports only the first event, so clicks in the Action Center are lost, and each
//! toast blocks a thread.
//!
//! - It sets neither tag nor group, so toasts cannot be replaced or withdrawn.
//!
//! - Programs without a Start menu entry notify as PowerShell.
//!
//! So clicks are not events: toast and buttons carry `rouse://` links, which start Rouse or reach
//! the running instance, from the screen and the Action Center, across restarts. Name and program
//! are written to the user's registry at each start and remain after manual deletion. `crate::link`
//! defines what a link can do.
//!
//! Pitfall: `Activated` events are guaranteed only for toasts on the screen.

use std::path::Path;

use rouse_host::NotifyError;
use windows::Data::Xml::Dom::XmlDocument;
use windows::UI::Notifications::{
    NotificationSetting, ToastNotification, ToastNotificationManager, ToastNotifier,
};
use windows::core::HSTRING;
use windows_registry::{CURRENT_USER, Key};

use super::toast::{APP_NAME, Clicks, Subject, Toast, write_icon};
use super::toast_xml::xml;
use crate::link::SCHEME;

/// Application id, as in `tauri.conf.json` and the Start menu entry.
const APP_ID: &str = "app.rouse.desktop";
/// Group, required beside a tag.
const GROUP: &str = "rouse";
/// COM activator placeholder; the Action Center keeps toasts only of apps with one.
const NO_ACTIVATOR: &str = "{6B0B9C53-6E5C-4E0B-9A5D-2F3C0E1B7A94}";

/// Notifications of this desktop.
pub(super) struct SystemNotifications;

impl SystemNotifications {
    /// Clicks arrive as links on the command line, so `Clicks` is unused.
    pub(super) fn new(_: Clicks, home: &Path) -> Self {
        if let Err(error) = register_app(home) {
            tracing::warn!(%error, "failed to register the app; notifications may lack a name, and clicks may fail");
        }
        Self
    }

    pub(super) async fn show(&self, toast: Toast) -> Result<(), NotifyError> {
        tokio::task::spawn_blocking(move || show_toast(&toast)).await.unwrap_or_else(|error| {
            Err(NotifyError::Later(format!("Could not show the notification: {error}")))
        })
    }

    pub(super) fn withdraw(&self, subject: &Subject) {
        let tag = HSTRING::from(subject.name());
        tauri::async_runtime::spawn_blocking(move || {
            if let Err(error) = remove_toast(&tag) {
                tracing::debug!(%error, "the notification was already gone");
            }
        });
    }
}

/// Shows a toast, replacing an older toast with the same tag.
fn show_toast(toast: &Toast) -> Result<(), NotifyError> {
    let later = |error: windows::core::Error| {
        NotifyError::Later(format!("Windows rejected the notification: {error}"))
    };
    let notifier = notifier().map_err(later)?;
    if is_disabled(&notifier) {
        return Err(NotifyError::Never(
            "Windows blocks notifications of Rouse. Allow them in Settings, System, Notifications."
                .to_owned(),
        ));
    }
    build_toast(toast).and_then(|notification| notifier.Show(&notification)).map_err(later)
}

fn notifier() -> windows::core::Result<ToastNotifier> {
    ToastNotificationManager::CreateToastNotifierWithId(&HSTRING::from(APP_ID))
}

/// An app has no setting before the first toast.
fn is_disabled(notifier: &ToastNotifier) -> bool {
    notifier.Setting().is_ok_and(|setting| setting != NotificationSetting::Enabled)
}

fn build_toast(toast: &Toast) -> windows::core::Result<ToastNotification> {
    let document = XmlDocument::new()?;
    document.LoadXml(&HSTRING::from(xml(toast)))?;
    let notification = ToastNotification::CreateToastNotification(&document)?;
    notification.SetTag(&HSTRING::from(toast.subject.name()))?;
    notification.SetGroup(&HSTRING::from(GROUP))?;
    Ok(notification)
}

fn remove_toast(tag: &HSTRING) -> windows::core::Result<()> {
    ToastNotificationManager::History()?.RemoveGroupedTagWithId(
        tag,
        &HSTRING::from(GROUP),
        &HSTRING::from(APP_ID),
    )
}

/// Registers the name of toasts and the program of links.
fn register_app(home: &Path) -> std::io::Result<()> {
    let program = std::env::current_exe()?;
    let picture = write_icon(home)?;
    register_in(&CURRENT_USER.create(r"Software\Classes")?, &program, &picture)?;
    Ok(())
}

fn register_in(classes: &Key, program: &Path, picture: &Path) -> windows_registry::Result<()> {
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
    fn app_registration_sets_name_and_program() {
        let path = format!(r"Software\Rouse tests\{}", std::process::id());
        let classes = CURRENT_USER.create(&path).unwrap();
        let program = Path::new(r"C:\Program Files\Rouse\rouse-desktop.exe");
        // Twice, because a moved program overwrites the entry.
        register_in(&classes, Path::new(r"C:\old.exe"), Path::new(r"C:\icon.png")).unwrap();
        register_in(&classes, program, Path::new(r"C:\icon.png")).unwrap();
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
