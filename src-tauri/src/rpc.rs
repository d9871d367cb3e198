//! The commands that the page may call: the gateway's methods through one door, and the few things only a desktop app
//! can do.
//!
//! Refuses to know any method: names and parameters go through as they are, and the gateway answers. A command needs an
//! entry in `permissions/shell.toml` and in the capability, or the page cannot call it.

use serde::Serialize;
use serde_json::{Value, json};
use tauri::{State, Url};

use crate::Shell;
use crate::backend::Engine;
use crate::tray::Command;

/// Calls one method of the gateway. The answer has the shape of a JSON-RPC response, so the page reads both hosts alike.
#[tauri::command]
pub(crate) async fn rpc(
    method: String,
    params: Value,
    shell: State<'_, Shell>,
) -> Result<Value, String> {
    Ok(match shell.engine.call(&method, params).await {
        Ok(result) => json!({ "result": result }),
        Err(error) => json!({ "error": error }),
    })
}

/// What this desktop can do, and where the engine is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShellInfo {
    /// Whether there is a tray icon. Without one the window, a second start and notifications are the ways in.
    tray: bool,
    /// Whether the engine is in this process, elsewhere, or not there yet.
    engine: EnginePlace,
}

/// Where the engine is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum EnginePlace {
    Starting,
    Here,
    Elsewhere,
    Failed,
}

/// What this desktop can do; it changes with the event `rouse://shell`.
#[tauri::command]
pub(crate) fn shell_info(shell: State<'_, Shell>) -> ShellInfo {
    let engine = match shell.engine.engine() {
        Engine::Starting => EnginePlace::Starting,
        Engine::Failed(_) => EnginePlace::Failed,
        Engine::Ready(backend) if backend.is_ours() => EnginePlace::Here,
        Engine::Ready(_) => EnginePlace::Elsewhere,
    };
    ShellInfo { tray: shell.tray.is_up(), engine }
}

/// Quits the app, as the tray does: where there is none, the page has to offer it.
#[tauri::command]
pub(crate) fn quit(shell: State<'_, Shell>) {
    shell.obey(Command::Quit);
}

/// Opens a web page in the person's browser. Only `https`: anything else could start a program.
#[tauri::command]
pub(crate) async fn open_external(url: String) -> Result<(), String> {
    let url = web_page(&url).ok_or("Only https addresses can be opened.")?;
    tauri_plugin_opener::open_url(url.as_str(), None::<&str>).map_err(|error| {
        tracing::warn!(%error, "an address was not opened");
        "The browser could not be opened.".to_owned()
    })
}

/// The address, if it is a plain web page.
fn web_page(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let plain = url.scheme() == "https"
        && url.host_str().is_some()
        && url.username().is_empty()
        && url.password().is_none();
    plain.then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_pages_are_opened() {
        assert!(web_page("https://ollama.com/download").is_some());
        for other in [
            "http://example.org",
            "file:///etc/passwd",
            "rouse://runs/1",
            "mailto:a@example.org",
            "https://user@example.org",
            "javascript:alert(1)",
            "example.org",
            "--help",
            "",
        ] {
            assert!(web_page(other).is_none(), "{other}");
        }
    }
}
