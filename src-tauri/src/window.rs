//! Main window: created on demand, destroyed on close.
//!
//! Owns the window and its navigation rules: the page stays within the app and opens no windows.
//! Show requests from any thread pass through one channel, so that only one window is created.
//! Never holds state: the webview's memory is freed on close, and engine and tray keep running.
//!
//! Pitfall: creating the window on the main thread deadlocks on Windows; showing it before the page
//! is loaded flashes white.

use std::sync::atomic::{AtomicBool, Ordering};

use tauri::webview::{NewWindowResponse, PageLoadEvent};
use tauri::{
    App, AppHandle, Emitter as _, Manager as _, Url, UserAttentionType, WebviewUrl, WebviewWindow,
    WebviewWindowBuilder,
};
use tauri_plugin_window_state::{AppHandleExt as _, StateFlags};
use tokio::sync::mpsc;

use crate::ui_route::UiRoute;

/// Window label, also used in the capability file.
pub(crate) const MAIN: &str = "main";
/// Tauri event that navigates the page.
const NAVIGATE: &str = "rouse://navigate";
const SIZE: (f64, f64) = (1080.0, 720.0);
const MIN_SIZE: (f64, f64) = (720.0, 520.0);

/// Remembered state: all but visibility and decorations.
pub(crate) fn saved_state_flags() -> StateFlags {
    StateFlags::all() & !StateFlags::VISIBLE & !StateFlags::DECORATIONS
}

/// Whether the page handles navigation events. Managed by Tauri.
#[derive(Default)]
pub(crate) struct PageReadiness(AtomicBool);

/// Request to show the window, at a route or unchanged.
pub(crate) type WindowRequest = Option<UiRoute>;

/// Handles show requests until the app exits.
pub(crate) async fn handle_requests(
    app: AppHandle,
    mut requests: mpsc::UnboundedReceiver<WindowRequest>,
) {
    while let Some(request) = requests.recv().await {
        if let Err(error) = show(&app, request.as_ref()) {
            tracing::error!(%error, "failed to show the window");
        }
    }
}

fn show(app: &AppHandle, route: Option<&UiRoute>) -> tauri::Result<()> {
    let Some(window) = app.get_webview_window(MAIN) else { return create(app, route) };
    if let Some(route) = route {
        navigate(app, &window, route)?;
    }
    raise(&window)
}

/// The page handles navigation events from now on.
#[tauri::command]
pub(crate) fn page_listens(app: AppHandle) {
    app.state::<PageReadiness>().0.store(true, Ordering::Release);
}

/// Lets the next navigation load a new page, without the data of this one.
pub(crate) fn load_next_page(app: &AppHandle) {
    app.state::<PageReadiness>().0.store(false, Ordering::Release);
}

/// Navigates the page by an event, or by loading the URL while the page does not listen.
fn navigate(app: &AppHandle, window: &WebviewWindow, route: &UiRoute) -> tauri::Result<()> {
    if app.state::<PageReadiness>().0.load(Ordering::Acquire) {
        return app.emit_to(MAIN, NAVIGATE, route.as_str());
    }
    let mut url = window.url()?;
    let (path, query) = route
        .as_str()
        .split_once('?')
        .map_or((route.as_str(), None), |(path, query)| (path, Some(query)));
    url.set_path(path);
    url.set_query(query);
    window.navigate(url)
}

fn create(app: &AppHandle, route: Option<&UiRoute>) -> tauri::Result<()> {
    let path = route.map_or("", |route| route.as_str().trim_start_matches('/'));
    app.state::<PageReadiness>().0.store(false, Ordering::Release);
    show_in_dock(app);
    WebviewWindowBuilder::new(app, MAIN, WebviewUrl::App(path.into()))
        .title("Rouse")
        .inner_size(SIZE.0, SIZE.1)
        .min_inner_size(MIN_SIZE.0, MIN_SIZE.1)
        .center()
        .visible(false)
        .zoom_hotkeys_enabled(true)
        .disable_drag_drop_handler()
        .on_navigation(|url| {
            let is_allowed = is_app_url(url);
            if !is_allowed {
                tracing::warn!(scheme = url.scheme(), "navigation outside Rouse blocked");
            }
            is_allowed
        })
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .on_document_title_changed(|window, title| {
            report(window.set_title(&title), "failed to set the window title");
        })
        .on_page_load(|window, load| match load.event() {
            // A reloading page does not listen yet.
            PageLoadEvent::Started => {
                window.state::<PageReadiness>().0.store(false, Ordering::Release);
            }
            PageLoadEvent::Finished => {
                report(show_when_loaded(&window), "failed to show the window");
            }
        })
        .build()
        .map(drop)
}

/// Shows a new window once its page is loaded; a reload changes nothing.
fn show_when_loaded(window: &WebviewWindow) -> tauri::Result<()> {
    if window.is_visible()? { Ok(()) } else { raise(window) }
}

fn raise(window: &WebviewWindow) -> tauri::Result<()> {
    window.show()?;
    window.unminimize()?;
    window.set_focus()?;
    if cannot_raise_itself() {
        window.request_user_attention(Some(UserAttentionType::Informational))?;
    }
    Ok(())
}

/// On Wayland an app cannot raise itself, but can request attention.
fn cannot_raise_itself() -> bool {
    cfg!(target_os = "linux") && std::env::var_os("WAYLAND_DISPLAY").is_some()
}

/// Saves the window state of the closed window.
pub(crate) fn closed(app: &AppHandle) {
    hide_from_dock(app);
    report(app.save_window_state(saved_state_flags()), "failed to save the window state");
}

/// True if `url` is a page of this app.
fn is_app_url(url: &Url) -> bool {
    match url.scheme() {
        "tauri" => url.host_str() == Some("localhost"),
        "http" | "https" => {
            cfg!(windows) && url.host_str() == Some("tauri.localhost") && url.port().is_none()
        }
        _ => false,
    }
}

fn report<E: std::fmt::Display>(outcome: Result<(), E>, message: &str) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "{message}");
    }
}

#[cfg(target_os = "macos")]
fn show_in_dock(app: &AppHandle) {
    report(
        app.set_activation_policy(tauri::ActivationPolicy::Regular),
        "failed to set the activation policy",
    );
}

#[cfg(target_os = "macos")]
fn hide_from_dock(app: &AppHandle) {
    report(
        app.set_activation_policy(tauri::ActivationPolicy::Accessory),
        "failed to set the activation policy",
    );
}

/// Starts the app in the tray, without a Dock icon.
#[cfg(target_os = "macos")]
pub(crate) fn start_in_tray(mut app: App) -> App {
    app.set_activation_policy(tauri::ActivationPolicy::Accessory);
    app
}

#[cfg(not(target_os = "macos"))]
pub(crate) const fn start_in_tray(app: App) -> App {
    app
}

#[cfg(not(target_os = "macos"))]
const fn show_in_dock(_: &AppHandle) {}

#[cfg(not(target_os = "macos"))]
const fn hide_from_dock(_: &AppHandle) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_url_is_blocked() {
        let ours = |url: &str| is_app_url(&Url::parse(url).unwrap());
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
