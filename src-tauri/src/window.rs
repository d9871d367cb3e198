//! The main window: made when it is first needed, thrown away when it is closed.
//!
//! Owns the window's life and the walls around its page: the page can go nowhere but to itself, and opens no windows.
//! Wishes to show it come from the tray, clicks, links and second starts at any moment and from any thread; they pass one
//! after the other through a channel, so two of them never make two windows. Nothing of Rouse lives in the window: the
//! webview's memory is given back as soon as it is closed, and the tray, the engine and notifications go on.
//!
//! One could get it wrong by making the window on the main thread (it waits for itself on Windows), or by showing it
//! before its page is there (a white flash).

use std::sync::atomic::Ordering;

use tauri::webview::{NewWindowResponse, PageLoadEvent};
use tauri::{
    App, AppHandle, Emitter as _, Manager as _, Url, UserAttentionType, WebviewUrl, WebviewWindow,
    WebviewWindowBuilder,
};
use tauri_plugin_window_state::{AppHandleExt as _, StateFlags};
use tokio::sync::mpsc;

use crate::Shell;
use crate::place::Place;

/// The one window's label; the capability file names it too.
pub(crate) const MAIN: &str = "main";
/// Asks the page to show another place.
const NAVIGATE: &str = "rouse://navigate";
const SIZE: (f64, f64) = (1080.0, 720.0);
const LEAST_SIZE: (f64, f64) = (720.0, 520.0);

/// Everything is remembered but whether it was visible: that is for the start to say.
pub(crate) fn remembered() -> StateFlags {
    StateFlags::all() & !StateFlags::VISIBLE & !StateFlags::DECORATIONS
}

/// A wish to see the window: at a place, or as it was left.
pub(crate) type Wish = Option<Place>;

/// Fulfils wishes until the app ends.
pub(crate) async fn fulfil(app: AppHandle, mut wishes: mpsc::UnboundedReceiver<Wish>) {
    while let Some(wish) = wishes.recv().await {
        if let Err(error) = show(&app, wish.as_ref()) {
            tracing::error!(%error, "the window could not be shown");
        }
    }
}

fn show(app: &AppHandle, place: Option<&Place>) -> tauri::Result<()> {
    let Some(window) = app.get_webview_window(MAIN) else { return make(app, place) };
    if let Some(place) = place {
        lead(app, &window, place)?;
    }
    bring_up(&window)
}

/// The page follows words from now on; until it says so, a word would reach nobody.
#[tauri::command]
pub(crate) fn page_listens(app: AppHandle) {
    app.state::<Shell>().page_is_there.store(true, Ordering::Release);
}

/// Takes the page to `place`: by a word to the page, or, while it does not listen yet, by loading it there.
fn lead(app: &AppHandle, window: &WebviewWindow, place: &Place) -> tauri::Result<()> {
    if app.state::<Shell>().page_is_there.load(Ordering::Acquire) {
        return app.emit_to(MAIN, NAVIGATE, place.as_str());
    }
    let mut url = window.url()?;
    let (path, query) = place
        .as_str()
        .split_once('?')
        .map_or((place.as_str(), None), |(path, query)| (path, Some(query)));
    url.set_path(path);
    url.set_query(query);
    window.navigate(url)
}

fn make(app: &AppHandle, place: Option<&Place>) -> tauri::Result<()> {
    let path = place.map_or("", |place| place.as_str().trim_start_matches('/'));
    app.state::<Shell>().page_is_there.store(false, Ordering::Release);
    become_a_windowed_app(app);
    WebviewWindowBuilder::new(app, MAIN, WebviewUrl::App(path.into()))
        .title("Rouse")
        .inner_size(SIZE.0, SIZE.1)
        .min_inner_size(LEAST_SIZE.0, LEAST_SIZE.1)
        .center()
        .visible(false)
        .zoom_hotkeys_enabled(true)
        .disable_drag_drop_handler()
        .on_navigation(|url| {
            let stays = is_ours(url);
            if !stays {
                tracing::warn!(scheme = url.scheme(), "the page may not leave Rouse");
            }
            stays
        })
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .on_document_title_changed(|window, title| {
            report(window.set_title(&title), "the window's title was not set");
        })
        .on_page_load(|window, load| match load.event() {
            // A page that is loaded again does not listen yet.
            PageLoadEvent::Started => {
                window.state::<Shell>().page_is_there.store(false, Ordering::Release);
            }
            PageLoadEvent::Finished => {
                report(appear(&window), "the window could not be shown");
            }
        })
        .build()
        .map(drop)
}

/// The page is there: a new window comes up; one that was only loaded again stays where it is.
fn appear(window: &WebviewWindow) -> tauri::Result<()> {
    if window.is_visible()? { Ok(()) } else { bring_up(window) }
}

fn bring_up(window: &WebviewWindow) -> tauri::Result<()> {
    window.show()?;
    window.unminimize()?;
    window.set_focus()?;
    if may_stay_behind() {
        window.request_user_attention(Some(UserAttentionType::Informational))?;
    }
    Ok(())
}

/// On Wayland no app can bring itself to the front; the task bar can at least show that it calls.
fn may_stay_behind() -> bool {
    cfg!(target_os = "linux") && std::env::var_os("WAYLAND_DISPLAY").is_some()
}

/// The window has gone. Its place and size are written down, and people are told once that Rouse is still there.
pub(crate) fn closed(app: &AppHandle) {
    become_a_tray_app(app);
    report(app.save_window_state(remembered()), "the window's size was not remembered");
    app.state::<Shell>().explain_closing();
}

/// Whether `url` is a page of this app.
fn is_ours(url: &Url) -> bool {
    match url.scheme() {
        "tauri" => url.host_str() == Some("localhost"),
        "http" | "https" => {
            cfg!(windows) && url.host_str() == Some("tauri.localhost") && url.port().is_none()
        }
        _ => false,
    }
}

fn report<E: std::fmt::Display>(outcome: Result<(), E>, what: &str) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "{what}");
    }
}

#[cfg(target_os = "macos")]
fn become_a_windowed_app(app: &AppHandle) {
    report(app.set_activation_policy(tauri::ActivationPolicy::Regular), "the Dock was not told");
}

#[cfg(target_os = "macos")]
fn become_a_tray_app(app: &AppHandle) {
    report(app.set_activation_policy(tauri::ActivationPolicy::Accessory), "the Dock was not told");
}

/// The app as it begins: in the tray, and not in the Dock until it opens a window.
#[cfg(target_os = "macos")]
pub(crate) fn in_the_tray(mut app: App) -> App {
    app.set_activation_policy(tauri::ActivationPolicy::Accessory);
    app
}

#[cfg(not(target_os = "macos"))]
pub(crate) const fn in_the_tray(app: App) -> App {
    app
}

#[cfg(not(target_os = "macos"))]
const fn become_a_windowed_app(_: &AppHandle) {}

#[cfg(not(target_os = "macos"))]
const fn become_a_tray_app(_: &AppHandle) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_stays_where_it_is() {
        let ours = |url: &str| is_ours(&Url::parse(url).unwrap());
        assert!(ours("tauri://localhost/runs/1"));
        for foreign in [
            "https://example.org/",
            "tauri://example.org/",
            "file:///etc/passwd",
            "data:text/html,x",
            "javascript:alert(1)",
            "about:blank",
            "http://127.0.0.1:7420/",
            "https://tauri.localhost:8080/",
        ] {
            assert!(!ours(foreign), "{foreign}");
        }
    }
}
